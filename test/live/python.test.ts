/** Stacks of Python programs against what they see themselves, for each construct and several pythons. */
import { describe, expect, test } from "vitest";
import { liveTicks } from "../support/live-ticks.ts";
import { needsSampling } from "../support/polytop.ts";
import { during, hasRun, start } from "../support/profile.ts";
import {
  compareWithTruth,
  expectPythonSums,
  machinesPython,
  PYTHONS,
  type Python,
  pythonFrames,
  startPython,
} from "../support/python.ts";
import { type StackCount, stackCounts } from "../support/ticks.ts";
import { sumMetric } from "../support/walks.ts";

/** Samples calls of every kind, and compares what is found with what the program saw. */
async function sampleKinds(python: Python, options: readonly string[] = []) {
  const program = startPython(python, "kinds.py", options);
  const ticks = await during([program], async ([pid = 0]) => {
    await hasRun(pid, 0.5);
    return liveTicks({ seconds: 3, frequency: 499, pids: [pid] });
  });
  expectPythonSums(ticks);
  return { ticks, agreement: compareWithTruth(ticks, program.truth()) };
}

describe.each(PYTHONS)("$name", ({ get }) => {
  test("calls of every kind: as Python itself says", async (context) => {
    needsSampling(context);
    const python = get();
    if (typeof python === "string") return context.skip(python);
    const { ticks, agreement } = await sampleKinds(python);
    expect(agreement.inside, JSON.stringify(agreement)).toBeGreaterThan(100);
    const { same, inside, wrong } = agreement;
    expect(same / inside, wrong.join("\n")).toBeGreaterThan(0.99);
    expect(agreement.complete / agreement.samples).toBeGreaterThan(0.99);
    expect(sumMetric(ticks, "UnwindPythonUnpaired")).toBe(0);
  });
});

/** Names of the frames of interpreters.py, innermost first, in the thread that runs it and in the other one. */
const CALLS = ["spin", "second", "(module)", "enter", "first", "(module)", "enter", "main_of"];

describe.each(PYTHONS.filter(({ name }) => !name.includes("bullseye")))("$name", ({ get }) => {
  test("interpreters that call each other: all frames of all, in their order", async (context) => {
    needsSampling(context);
    const python = get();
    if (typeof python === "string") return context.skip(python);
    const program = startPython(python, "interpreters.py");
    const ticks = await during([program], async ([pid = 0]) => {
      await hasRun(pid, 0.7);
      return liveTicks({ seconds: 1, frequency: 499, pids: [pid] });
    });
    let inside = 0;
    let good = 0;
    for (const { stack, count } of stackCounts(...ticks)) {
      const names = pythonFrames(stack).map(({ function: it }) => it.name);
      if (names[0] !== "spin") continue;
      inside += count;
      const thread = names[1]?.at(-1);
      const calls = CALLS.map((it) => (/^(first|second)$/.test(it) ? `${it}_${thread}` : it));
      const isWhole = names.slice(0, calls.length).join() === calls.join();
      const last = thread === "a" ? "(module)" : "Thread._bootstrap";
      if (isWhole && names.at(-1) === last && stack.outcome === "complete") good += count;
    }
    expect(inside).toBeGreaterThan(50);
    expect(good / inside).toBeGreaterThan(0.99);
    expect(sumMetric(ticks, "UnwindPythonUnpaired")).toBe(0);
  });
});

/** Python 3.12 and later put generated code between functions with -X perf. */
const withTrampolines = PYTHONS.filter(({ get }) => {
  const python = get();
  return typeof python === "string" || Number(python.version.split(".")[1]) >= 12;
});

describe.each(withTrampolines)("$name", ({ get }) => {
  test("-X perf: the same", async (context) => {
    needsSampling(context);
    const python = get();
    if (typeof python === "string") return context.skip(python);
    const { agreement } = await sampleKinds(python, ["-X", "perf"]);
    const { same, inside, wrong } = agreement;
    expect(inside, JSON.stringify(agreement)).toBeGreaterThan(100);
    expect(same / inside, wrong.join("\n")).toBeGreaterThan(0.99);
    expect(agreement.complete / agreement.samples).toBeGreaterThan(0.98);
  });
});

test("what the interpreter does itself is the function's, what others do is their own", async (context) => {
  needsSampling(context);
  if (typeof machinesPython() === "string") return context.skip("python3 is not installed");
  const script = `import zlib
data = bytes(range(256)) * 4000
def squeezes(): zlib.compress(data, 6)
def joins(): "".join([str(i) for i in range(20000)])
while True: squeezes(); joins()`;
  const ticks = await during([start("/usr/bin/python3", ["-c", script])], ([pid = 0]) =>
    liveTicks({ seconds: 2, frequency: 499, pids: [pid] }),
  );
  const leaves = new Map<string, number>();
  for (const { stack, count } of stackCounts(...ticks)) {
    const shown = stack.frames.filter(
      ({ folded, function: it }) => !folded && it.runtime !== "kernel",
    );
    const python = pythonFrames(stack)[0]?.function.name ?? "";
    const { runtime, module = "" } = shown[0]?.function ?? {};
    const leaf = `${runtime} in ${python}: ${module}`;
    leaves.set(leaf, (leaves.get(leaf) ?? 0) + count);
  }
  const inSqueezes = [...leaves].filter(([it]) => it.startsWith("native in squeezes"));
  // What zlib calls of the C library's is little.
  const [most = ""] = inSqueezes.toSorted(([, a], [, b]) => b - a)[0] ?? [];
  expect(most).toMatch(/: libz\.so/);
  expect([...leaves.keys()].some((it) => it.startsWith("python in joins"))).toBe(true);
});

test("deeper than the limit: truncated, the inner frames are right", async (context) => {
  needsSampling(context);
  if (typeof machinesPython() === "string") return context.skip("python3 is not installed");
  const script = `import sys
sys.setrecursionlimit(9000)
def deep(n): return deep(n - 1) if n else sum(range(200000))
while True: deep(3000)`;
  const ticks = await during([start("/usr/bin/python3", ["-c", script])], ([pid = 0]) =>
    liveTicks({ seconds: 2, frequency: 499, pids: [pid] }),
  );
  const isDeep = ({ stack }: StackCount) => pythonFrames(stack).length > 700;
  const hasEnd = ({ stack }: StackCount) =>
    pythonFrames(stack).some((it) => it.function.name === "(module)");
  const stacks = stackCounts(...ticks).filter((it) => isDeep(it) && !hasEnd(it));
  expect(stacks.length).toBeGreaterThan(0);
  for (const { stack } of stacks) {
    expect(stack.outcome).toBe("truncated");
    expect(new Set(pythonFrames(stack).map((it) => it.function.name))).toEqual(new Set(["deep"]));
  }
  expectPythonSums(ticks);
});
