/** Pythons that polytop was not made for, and memory that lies: counted reasons, never a wrong name. */
import { expect, test } from "vitest";
import type { Tick } from "../../src/tick/tick.ts";
import { liveTicks } from "../support/live-ticks.ts";
import { needsSampling } from "../support/polytop.ts";
import { during, start } from "../support/profile.ts";
import { expectPythonSums, pythonFrames } from "../support/python.ts";
import { type StackCount, stackCounts } from "../support/ticks.ts";
import { sumMetric } from "../support/walks.ts";
import { workload } from "../support/workloads.ts";

async function sampleLiar(
  how: string,
  flags: readonly string[] = [],
): Promise<{ ticks: readonly Tick[]; counts: readonly StackCount[]; names: Set<string> }> {
  const as = ["python-liar", ...flags].join("").replace(/\W+/g, "-");
  const program = workload("python-liar.c", { as, flags: ["-rdynamic", ...flags] });
  const ticks = await during([start(program, [how])], ([pid = 0]) =>
    liveTicks({ seconds: 4, frequency: 499, pids: [pid] }),
  );
  expectPythonSums(ticks);
  const counts = stackCounts(...ticks);
  const names = counts.flatMap(({ stack }) => pythonFrames(stack).map((it) => it.function.name));
  return { ticks, counts, names: new Set(names) };
}

test("made-up memory that looks like an interpreter's is one", async (context) => {
  needsSampling(context);
  const { counts, names } = await sampleLiar("honest");
  expect([...names]).toEqual(["honest"]);
  const [frame] = counts.flatMap(({ stack }) => pythonFrames(stack));
  expect(frame?.function.module).toBe("liar.py");
  expect(frame?.line).toBe(7);
});

test("a frame that is its own caller: truncated at the limit", async (context) => {
  needsSampling(context);
  const { ticks, counts, names } = await sampleLiar("cycle");
  expect([...names]).toEqual(["honest"]);
  expect(sumMetric(ticks, "UnwindPythonTruncated")).toBeGreaterThan(0);
  for (const { stack } of counts) expect(pythonFrames(stack).length).toBeLessThanOrEqual(800);
});

test("strings of 2 GB: the beginning, and that there is more", async (context) => {
  needsSampling(context);
  const { names } = await sampleLiar("long");
  expect([...names]).toEqual([`honest${"n".repeat(250)}…`]);
});

test("noise: a reason or the right name", async (context) => {
  needsSampling(context);
  const { names } = await sampleLiar("noise");
  expect(names).toContain("honest");
  for (const name of names) expect(name).toMatch(/^honest$|^\[python: /);
  expect(names.size).toBeGreaterThan(1);
});

test("a version that is not known is told once, and stays native", async (context) => {
  needsSampling(context);
  const { ticks, counts, names } = await sampleLiar("honest", ["-DVERSION=0x036300f0"]);
  expect([...names]).toEqual([]);
  const told = ticks.flatMap(({ notices }) => notices).filter((it) => it.startsWith("Python"));
  expect(told).toHaveLength(1);
  expect(told[0]).toContain("3.99 is not a version that polytop knows");
  expect(sumMetric(ticks, "UnwindPythonErrVersion")).toBeGreaterThan(0);
  for (const { stack } of counts) expect(stack.frames.some(({ folded }) => folded)).toBe(false);
});
