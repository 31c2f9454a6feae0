import { expect, test } from "vitest";
import { clears, openTerminals } from "./start.ts";

const { start } = openTerminals({ intervalMs: 100 });

test.each([
  [40, 10],
  [80, 24],
  [120, 40],
  [200, 60],
])("every view at %i by %i", async (columns, rows) => {
  const terminal = start(columns, rows, { ticks: 20 });
  await terminal.shows("SELF%");
  const views: readonly (readonly [string, string])[] = [
    ["3", "TOTAL%"],
    ["b", "innermost"],
    ["4", "▏all"],
    ["b", "outermost"],
    ["2", "COMMAND"],
    ["t", "COMMAND"],
    ["1m", "CHANGE"],
    ["m", "no mark"],
    ["aa", "since c"],
    ["5", "/s"],
    ["j\r", "since the start"],
    ["\u001b1a", "SELF%"],
    ["j\r", "CALLERS"],
  ];
  for (const [keys, text] of views) {
    for (const key of keys) {
      terminal.type(key);
      // A lone Esc is told from a sequence by the time that follows it.
      await new Promise((resolve) => setTimeout(resolve, 60));
    }
    const lines = (await terminal.shows(text)).split("\n");
    expect(lines).toHaveLength(rows);
    expect(lines[0]).toContain("busy");
    expect(lines.at(-1)).toMatch(/^ \S/);
  }
  expect(clears(terminal.output)).toBe(0);
});

test("the hottest path opens in the tree, and the flame zooms in and out", async () => {
  const terminal = start(100, 30, { ticks: 12 });
  await terminal.shows("SELF%");
  terminal.type("3");
  await terminal.shows("outermost first");
  terminal.type("f");
  await terminal.shows("▶");
  terminal.type("d");
  await terminal.shows("CALLERS");
  terminal.type("\u001b");
  await terminal.shows("outermost first");
  terminal.type("4");
  await terminal.shows("▏all");
  terminal.type("jj");
  await terminal.shows("% total");
  terminal.type("\r");
  await terminal.until((text) => !text.includes("▏all"), "a zoomed flame");
  terminal.type("\u001b");
  await terminal.shows("▏all");
});

test("a process and all below it, and words that Tab completes", async () => {
  const terminal = start(100, 30);
  await terminal.shows("SELF%");
  terminal.type("2");
  await terminal.shows("COMMAND");
  terminal.type("ju");
  await terminal.shows("filter tree:");
  terminal.type("\u001b");
  await terminal.shows("COMMAND");
  terminal.type("/la\t");
  await terminal.shows("/lang:");
  terminal.type("pe\t\r");
  await terminal.shows("filter lang:perl");
  terminal.type("/\u0015");
  terminal.type("\u001b[A");
  await terminal.shows("/lang:perl");
});

test("three thousand refreshes leave no full clears and no memory behind", async () => {
  const memoryAt = [1000, 2000, 3000];
  const flags = ["--expose-gc"];
  const terminal = start(80, 24, { intervalMs: 2, ticks: 3000, memoryAt, flags });
  await terminal.shows("SELF%");
  const keys = setInterval(() => {
    for (const key of "2345134211") terminal.type(key);
  }, 1000);
  await terminal.until((text) => text.includes("that was all"), "the last one", 100_000);
  clearInterval(keys);
  expect(clears(terminal.output)).toBe(0);
  terminal.type("q");
  await terminal.exited;
  const used = JSON.parse(/MEMORY (\[.*\])/.exec(terminal.output)?.[1] ?? "[]") as number[];
  expect(used).toHaveLength(memoryAt.length);
  // Ten minutes of history are full after 600 refreshes. What fills once may do so late on a busy machine, while a leak
  // grows from each look to the next.
  const [filled = 0, middle = 0, end = 0] = used;
  expect(Math.min(middle / filled, end / middle)).toBeLessThan(1.03);
});
