/**
 * Every view of one recording at four sizes, as text: what changes on the screen shows in a diff.
 * POLYTOP_GOLDEN=write writes the files of test/screen/golden anew.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { recordExample } from "../support/example-machine.ts";
import { root } from "../support/polytop.ts";
import { openTerminals } from "./start.ts";
import type { TestTerminal } from "./terminal.ts";

const { start } = openTerminals({});

const SIZES = [
  [40, 10],
  [80, 24],
  [120, 40],
  [200, 60],
] as const;

const CLEAR = "\u0015";

/** Views with the keys that lead there from the one before. */
const STEPS: readonly (readonly [name: string, keys: string])[] = [
  ["functions", ""],
  ["selected", "jj"],
  ["detail", "\r"],
  ["last-10-s", "1a"],
  ["marked", "m"],
  ["processes", "ma2"],
  ["threads", "t"],
  ["tree", "3"],
  ["hottest", "f"],
  ["bottom-up", "b"],
  ["flame", "b4"],
  ["zoomed", "jjj\r"],
  ["metrics", "5"],
  ["counter", "j\r"],
  ["help", "1?"],
  ["nothing", "1/nobody\r"],
  ["filter", `/${CLEAR}lang:p`],
  ["wrong", "x"],
  ["pid", `${CLEAR}\rp4`],
];

const isWriting = process.env.POLYTOP_GOLDEN === "write";
const folder = mkdtempSync(join(tmpdir(), "polytop-golden-"));
let recording = "";

beforeAll(() => {
  recording = recordExample(folder);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A picture that has come to rest. */
async function settled(terminal: TestTerminal): Promise<string> {
  for (let last = ""; ; ) {
    await new Promise((resolve) => setTimeout(resolve, 1500));
    const text = await terminal.text();
    if (text === last) return text;
    last = text;
  }
}

test.each(SIZES)("every view at %i by %i is as it was", async (columns, rows) => {
  const terminal = start(columns, rows, { recording, env: { TZ: "UTC" } });
  const files = `${root}test/screen/golden/${columns}x${rows}`;
  mkdirSync(files, { recursive: true });
  // What is typed before the first refresh would be typed into another picture.
  await terminal.until((text) => text.includes("complete"), "refreshes");
  for (const [name, keys] of STEPS) {
    for (const key of keys) terminal.type(key);
    const file = `${files}/${name}.txt`;
    if (isWriting) {
      writeFileSync(file, `${await settled(terminal)}\n`);
      continue;
    }
    const golden = readFileSync(file, "utf8").slice(0, -1);
    const seen = await terminal.until((text) => text === golden, name).catch(() => terminal.text());
    expect(seen, name).toBe(golden);
  }
});
