/** Terminals and lines that are not as one would wish. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { recordExample } from "../support/example-machine.ts";
import { launcher } from "../support/polytop.ts";
import { openTerminals } from "./start.ts";
import { TestTerminal } from "./terminal.ts";

const { start, keep } = openTerminals({ ticks: 1 });

const folder = mkdtempSync(join(tmpdir(), "polytop-terminals-"));
let recording = "";
beforeAll(() => {
  recording = recordExample(folder);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Runs a line of a shell in a terminal to its end; returns all that came. */
async function shell(line: string): Promise<string> {
  const size = { columns: 100, rows: 30 };
  const args = ["-c", line, launcher, recording];
  const terminal = keep(new TestTerminal("/bin/sh", args, size));
  await terminal.exited;
  await terminal.lines();
  return terminal.output;
}

const ESCAPE = "\u001b";

test.each([
  ["TERM=dumb", 'TERM=dumb "$0" replay "$1" -n 1'],
  ["no terminal on stdin", '"$0" replay "$1" -n 1 </dev/null'],
  ["no terminal on stdout", '"$0" replay "$1" -n 1 | cat'],
])("%s: plain text, without an escape", async (_, line) => {
  const output = await shell(line);
  expect(output).toContain("# polytop");
  expect(output).toMatch(/SELF% +TOTAL% +LANG/);
  expect(output).not.toContain(ESCAPE);
});

test("an escape sequence that arrives in parts is one key", async () => {
  const terminal = start(80, 24);
  await terminal.shows("SELF%");
  terminal.type("jj");
  await terminal.until((text) => text.split("\n")[6]?.startsWith("▶") === true, "the third row");
  const selected = async (): Promise<number> =>
    (await terminal.lines()).findIndex((line) => line.startsWith("▶"));
  const before = await selected();
  for (const part of [ESCAPE, "[", "B"]) {
    terminal.type(part);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  await terminal.until(
    (text) => text.split("\n").findIndex((line) => line.startsWith("▶")) === before + 1,
    "the row below",
  );
});
