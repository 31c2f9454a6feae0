/** Stacks of JavaScript programs against what they see themselves, for each construct and several versions of Node. */
import { describe, expect, test } from "vitest";
import type { Tick } from "../../src/tick/tick.ts";
import { liveTicks } from "../support/live-ticks.ts";
import {
  compareWithTruth,
  expectJavaScriptSums,
  isMissing,
  javascriptFrames,
  NODES,
  ownNode,
  startNode,
  withoutTurbofan,
} from "../support/node.ts";
import { needsSampling } from "../support/polytop.ts";
import { during, hasRun } from "../support/profile.ts";
import { stackCounts } from "../support/ticks.ts";

/** The ticks from the first one in which node's own file, of 100 MB, has been read; others may be met later, for a sample. */
const onceNodeIsRead = (ticks: readonly Tick[]): readonly Tick[] =>
  ticks.slice(
    ticks.findIndex(
      ({ samples, metrics }) => (metrics.UnwindNativeErrFilePending ?? 0) < samples / 100,
    ),
  );

describe.each(NODES)("$name", ({ get }) => {
  test("calls of every kind: as the program itself says", async (context) => {
    needsSampling(context);
    const node = get();
    if (isMissing(node)) return context.skip(node);
    const program = startNode(node, "kinds.cjs");
    const ticks = await during([program], async ([pid = 0]) => {
      await hasRun(pid, 0.5);
      return onceNodeIsRead(await liveTicks({ seconds: 4, frequency: 499, pids: [pid] }));
    });
    expectJavaScriptSums(ticks);
    const agreement = compareWithTruth(ticks, program.truth());
    const { same, inside, wrong, complete, samples } = agreement;
    expect(inside, JSON.stringify(agreement)).toBeGreaterThan(100);
    expect(same / inside, wrong.join("\n")).toBeGreaterThan(0.98);
    expect(complete / samples).toBeGreaterThan(0.99);
  });
});

describe.each([
  { compiler: "any compiler", options: [], least: 1.2 },
  { compiler: "Maglev", options: withoutTurbofan(process.version), least: 1.1 },
])("functions compiled into others by $compiler", ({ options, least }) => {
  test("have frames, with lines", async (context) => {
    needsSampling(context);
    const program = startNode(ownNode, "inlined.cjs", options);
    const ticks = await during([program], async ([pid = 0]) => {
      await hasRun(pid, 1);
      return onceNodeIsRead(await liveTicks({ seconds: 3, frequency: 499, pids: [pid] }));
    });
    const { same, merged, inside, wrong, lines, frames } = compareWithTruth(ticks, program.truth());
    expect(inside).toBeGreaterThan(100);
    expect((same - merged) / inside, wrong.join("\n")).toBeGreaterThan(0.98);
    expect(lines / frames).toBeGreaterThan(0.98);
    // Frames on the stack: the others were made of what V8 notes of its code.
    const walked = ticks.reduce((sum, { metrics }) => sum + (metrics.UnwindV8Frames ?? 0), 0);
    const shown = stackCounts(...ticks).map(
      ({ stack, count }) => count * javascriptFrames(stack).length,
    );
    expect(shown.reduce((sum, count) => sum + count, 0)).toBeGreaterThan(walked * least);
  });
});

test("the interpreter's own code is the function's, builtins are their own", async (context) => {
  needsSampling(context);
  const ticks = await during(
    [startNode(ownNode, "kinds.cjs", ["--jitless"])],
    async ([pid = 0]) => {
      await hasRun(pid, 0.5);
      return onceNodeIsRead(await liveTicks({ seconds: 4, frequency: 499, pids: [pid] }));
    },
  );
  const names = new Set<string>();
  let folded = 0;
  for (const { stack } of stackCounts(...ticks)) {
    // The interpreter is entered for the first function of a stack: it carries out none yet.
    if (javascriptFrames(stack).length === 0) continue;
    for (const { function: it, folded: isFolded } of stack.frames) {
      if (isFolded) folded++;
      else if (it.runtime === "native") names.add(it.name);
    }
  }
  expect(folded).toBeGreaterThan(0);
  expect([...names].filter((it) => /Handler$|InterpreterEntryTrampoline/.test(it))).toEqual([]);
  expect([...names].some((it) => it === "Builtins_ArrayMap")).toBe(true);
});

test("lines of interpreted functions are exact", async (context) => {
  needsSampling(context);
  const program = startNode(ownNode, "kinds.cjs", ["--jitless"]);
  const ticks = await during([program], async ([pid = 0]) => {
    await hasRun(pid, 0.5);
    return onceNodeIsRead(await liveTicks({ seconds: 4, frequency: 499, pids: [pid] }));
  });
  const { same, inside, wrong, lines, frames } = compareWithTruth(ticks, program.truth());
  expect(same / inside, wrong.join("\n")).toBeGreaterThan(0.98);
  expect(lines / frames).toBeGreaterThan(0.99);
  let samples = 0;
  let unnamed = 0;
  for (const { stack, count } of stackCounts(...ticks)) {
    samples += count;
    if (javascriptFrames(stack).some((it) => it.function.name.startsWith("["))) unnamed += count;
  }
  // What is called through a template of the engine's has no script: rare, and said.
  expect(unnamed / samples).toBeLessThan(0.005);
});
