/** Async callers on a screen of 80×24: who awaits a helper, in its page and in the tree, and the scheduler in their place. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { writeRecording } from "../support/recordings.ts";
import { makeTick, TickMaker, task } from "../support/ticks.ts";
import { openTerminals } from "./start.ts";

const { start } = openTerminals({});
const folder = mkdtempSync(join(tmpdir(), "polytop-awaits-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const make = new TickMaker();
const SCHEDULER = ["-d:Box.MoveNext@Core", "-d:Dispatch@Core"];
const HELPER = "d:Shop+<Price>d__3.MoveNext@shop";

const stack = (endpoint: string) =>
  make.stack([HELPER, `~d:Shop.${endpoint}@shop`, "=d:[thread pool]", ...SCHEDULER]);

function recorded(): string {
  const path = join(folder, "recording");
  const counts = [
    { stack: stack("Orders"), task: task(7, "shop"), count: 60 },
    { stack: stack("Search"), task: task(7, "shop"), count: 40 },
  ];
  writeRecording(path, [makeTick(counts)]);
  return path;
}

test("the callers of a helper are the endpoints that await it", { timeout: 60_000 }, async () => {
  const terminal = start(80, 24, { recording: recorded() });
  const list = await terminal.shows("~Shop.Orders");
  expect(list).toContain("~Shop.Search");
  expect(list).toContain("[thread pool]");
  expect(list).not.toContain("Dispatch");
  terminal.type("\u001b[H\r");
  const page = await terminal.shows("CALLERS");
  expect(page).toMatch(/60\.0 % ~Shop\.Orders/);
  expect(page).toMatch(/40\.0 % ~Shop\.Search/);
  terminal.type("3");
  await terminal.shows("~Shop.Orders");
  terminal.type("A1");
  expect(await terminal.shows("no async")).toContain("Dispatch");
});
