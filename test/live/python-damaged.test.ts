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

/** The program as an interpreter of a kind. */
const liar = (flags: readonly string[] = []): string => {
  const as = ["python-liar", ...flags].join("").replace(/\W+/g, "-");
  return workload("python-liar.c", { as, flags: ["-rdynamic", ...flags] });
};

async function sampleLiars(
  programs: readonly string[],
  how: string,
): Promise<{ ticks: readonly Tick[]; counts: readonly StackCount[]; names: Set<string> }> {
  const started = programs.map((program) => start(program, [how]));
  const ticks = await during(started, (pids) => liveTicks({ seconds: 4, frequency: 499, pids }));
  expectPythonSums(ticks);
  const counts = stackCounts(...ticks);
  const names = counts.flatMap(({ stack }) => pythonFrames(stack).map((it) => it.function.name));
  return { ticks, counts, names: new Set(names) };
}

const sampleLiar = (how: string) => sampleLiars([liar()], how);

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

const told = (ticks: readonly Tick[]): string[] =>
  ticks.flatMap(({ notices }) => notices).filter((it) => it.startsWith("Python"));

test("what is newer than what was tried, and without the GIL: by what it says of itself", async (context) => {
  needsSampling(context);
  const newer = ["-DVERSION=0x031000f0", "-DDESCRIBES"];
  const programs = [liar(newer), liar(["-DVERSION=0x030f00f0", "-DDESCRIBES", "-DFREE"])];
  const { ticks, counts, names } = await sampleLiars(programs, "honest");
  expect([...names]).toEqual(["honest"]);
  const frames = counts.flatMap(({ stack }) => pythonFrames(stack));
  expect(new Set(frames.map(({ line, function: it }) => `${it.module}:${line}`))).toEqual(
    new Set(["liar.py:7"]),
  );
  expect(new Set(counts.map(({ task }) => task.pid)).size).toBe(2);
  expect(told(ticks)).toEqual([
    "Python 3.16 is newer than what was tried, 3.9 to 3.15: its layout was checked against itself",
  ]);
  expect(sumMetric(ticks, "UnwindPythonUntried")).toBeGreaterThan(0);
});

test("what cannot be read is told once, with its reason, and stays native", async (context) => {
  needsSampling(context);
  const programs = [
    liar(["-DVERSION=0x036300f0"]),
    liar(["-DVERSION=0x031000f0", "-DDESCRIBES", "-DLIES"]),
    liar(["-DVERSION=0xffffffff"]),
  ];
  const { ticks, counts, names } = await sampleLiars(programs, "honest");
  expect([...names]).toEqual([]);
  const shown = "only the interpreter's own functions are shown";
  const refused = (name: string, why: string) => `${name} cannot be read, because ${why}: ${shown}`;
  expect(told(ticks).toSorted()).toEqual([
    refused("Python 255.255", "polytop knows 3.9 to 3.15"),
    refused("Python 3.16", "what it says of its layout does not fit together"),
    refused("Python 3.99", "it does not describe its layout, as every Python from 3.13 on does"),
  ]);
  expect(sumMetric(ticks, "UnwindPythonErrVersion")).toBeGreaterThan(0);
  for (const { stack } of counts) expect(stack.frames.some(({ folded }) => folded)).toBe(false);
});
