import fc from "fast-check";
import { expect, test } from "vitest";
import { aggregate } from "../../../src/model/aggregate.ts";
import { functionDetail } from "../../../src/model/detail.ts";
import { KERNEL_ONLY } from "../../../src/tick/functions.ts";
import { byRuntime, type Runtime } from "../../../src/tick/runtimes.ts";
import {
  type FunctionInfo,
  OUTCOMES,
  type Outcome,
  type Task,
  type Tick,
} from "../../../src/tick/tick.ts";
import {
  filterOf,
  functionInfo,
  makeTick,
  type Stack,
  type StackCount,
  StoreMaker,
  TickMaker,
  task,
} from "../../support/ticks.ts";

const RUNTIMES: readonly Runtime[] = ["perl", "dotnet", "native", "kernel"];
const NONE = byRuntime(() => 0);

/** The function of a number; the number is not its id. */
const functionOf = (number: number): FunctionInfo =>
  functionInfo({
    runtime: RUNTIMES[number % 4] ?? "native",
    name: `f${number}`,
    module: `m${number % 3}`,
  });

const taskOf = (pid: number, more: Partial<Task> = {}): Task => ({
  pid,
  tid: pid,
  comm: `c${pid}`,
  thread: "t",
  parentPid: 1,
  uid: 0,
  cgroup: "1",
  startTime: pid,
  ...more,
});

const tickOf = (counts: readonly StackCount[]): Tick => makeTick(counts, { intervalSeconds: 1 });

/** A stack of numbers of functions, leaf first; `!` folds a frame. */
const stackOf = (numbers: readonly (number | string)[], outcome: Outcome = "complete"): Stack => ({
  outcome,
  frames: numbers.map((one) => {
    const folded = typeof one === "string";
    const number = folded ? Number(one.slice(1)) : one;
    return { function: functionOf(number), ...(folded ? { folded } : {}), line: number + 10 };
  }),
});

const SHOW_ALL = { kernel: true, nativeFrames: true };
const rowOf = (all: ReturnType<typeof aggregate>, number: number) =>
  all.functions.find((row) => row.function.id === functionOf(number).id);

test("self is the leaf's, total counts recursion once", () => {
  const stack = stackOf([2, 6, 2, 2, 10]);
  const all = aggregate([tickOf([{ stack, task: taskOf(1), count: 3 }])], SHOW_ALL);
  expect(rowOf(all, 2)).toMatchObject({ self: 3, total: 3, line: 12 });
  expect(rowOf(all, 6)).toMatchObject({ self: 0, total: 3 });
  expect(rowOf(all, 10)?.pids).toEqual([{ pid: 1, count: 3 }]);
});

test("the line of a function is its busiest one, wherever it was counted", () => {
  const maker = new StoreMaker();
  const stacks = new TickMaker();
  const tick = (...lines: readonly (readonly [line: number, pid: number, count: number])[]): Tick =>
    makeTick(
      lines.map(([line, pid, count]) => ({
        stack: stacks.stack([`p:f@m:${line}`, "n:main@perl"]),
        task: task(pid, "perl"),
        count,
      })),
      {},
      maker,
    );
  const first = tick([3, 1, 4], [5, 1, 3], [5, 2, 3]);
  maker.renew();
  // The same frames have other numbers here.
  const later = tick([7, 1, 1], [3, 3, 3]);
  const lineIn = (...ticks: Tick[]): number | undefined =>
    aggregate(ticks, SHOW_ALL).functions.find((row) => row.function.name === "f")?.line;
  expect(lineIn(first)).toBe(5);
  expect(lineIn(later)).toBe(3);
  expect(lineIn(first, later)).toBe(3);
  expect(lineIn(later, first)).toBe(3);
  expect(lineIn(first)).toBe(5);
});

test("without kernel frames the first frame below them is the leaf", () => {
  const counts = [
    { stack: stackOf([3, 7, 2, 6]), task: taskOf(1), count: 2 },
    { stack: stackOf([3, 7]), task: taskOf(2), count: 5 },
  ];
  const all = aggregate([tickOf(counts)], { kernel: false, nativeFrames: true });
  expect(rowOf(all, 2)).toMatchObject({ self: 2 });
  expect(rowOf(all, 3)).toBeUndefined();
  // Samples that are kernel only stay, in a row that says so.
  const kernel = all.functions.find((row) => row.function.id === KERNEL_ONLY.id);
  expect(kernel).toMatchObject({ self: 5, function: { name: "[kernel]" } });
  expect(all.runtimes).toEqual({ ...NONE, native: 2, kernel: 5 });
});

test("folded frames are left out unless asked for, but never the last ones", () => {
  const counts = [
    { stack: stackOf(["!2", 0, "!6"]), task: taskOf(1), count: 1 },
    { stack: stackOf(["!2", "!6"]), task: taskOf(1), count: 4 },
  ];
  const folded = aggregate([tickOf(counts)], { kernel: true, nativeFrames: false });
  expect(rowOf(folded, 0)).toMatchObject({ self: 1 });
  expect(rowOf(folded, 2)).toMatchObject({ self: 4 });
  const native = aggregate([tickOf(counts)], SHOW_ALL);
  expect(rowOf(native, 2)).toMatchObject({ self: 5, total: 5 });
});

test("processes keep apart who used a pid before, and know their runtimes", () => {
  const counts = [
    { stack: stackOf([3, 0]), task: taskOf(1), count: 1 },
    { stack: stackOf([2, 1]), task: taskOf(1, { startTime: 9, comm: "later" }), count: 2 },
    { stack: stackOf([2], "broken"), task: taskOf(5, { tid: 6 }), count: 4 },
  ];
  const all = aggregate([tickOf(counts)], SHOW_ALL);
  expect(all.processes).toMatchObject([
    { pid: 1, comm: "c1", samples: 1, complete: 1, runtimes: ["perl", "kernel"] },
    { pid: 1, comm: "later", samples: 2, complete: 2, runtimes: ["dotnet", "native"] },
    { pid: 5, samples: 4, complete: 0, runtimes: ["native"] },
  ]);
  expect(all.outcomes).toEqual({ complete: 3, guessed: 0, truncated: 0, broken: 4 });
  expect(all.health.native).toEqual({ samples: 6, complete: 2, guessed: 0 });
  // One pid is one entry, whoever had it.
  expect(rowOf(all, 2)?.pids).toEqual([
    { pid: 5, count: 4 },
    { pid: 1, count: 2 },
  ]);
});

test("a filter on processes chooses samples, one on functions chooses rows", () => {
  const counts = [
    { stack: stackOf([2, 0]), task: taskOf(1), count: 1 },
    { stack: stackOf([0]), task: taskOf(2), count: 6 },
  ];
  const byPid = aggregate([tickOf(counts)], { ...SHOW_ALL, filter: filterOf("pid:1") });
  expect(byPid.samples).toBe(1);
  const byName = aggregate([tickOf(counts)], { ...SHOW_ALL, filter: filterOf("f2") });
  expect(byName.samples).toBe(7);
  expect(byName.functions.map((row) => row.function.name)).toEqual(["f2"]);
});

test("at most 20 pids are listed, most samples first, and all are counted", () => {
  const counts = Array.from({ length: 30 }, (_, i) => ({
    stack: stackOf([0]),
    task: taskOf(i + 1),
    count: i + 1,
  }));
  const row = rowOf(aggregate([tickOf(counts)], SHOW_ALL), 0);
  expect(row?.pids).toHaveLength(20);
  expect(row?.pids[0]).toEqual({ pid: 30, count: 30 });
  expect(row?.processCount).toBe(30);
});

const anyCount = fc
  .record({
    frames: fc.array(
      fc.oneof(
        fc.integer({ min: 0, max: 11 }),
        fc.integer({ min: 0, max: 11 }).map((id) => `!${id}`),
      ),
      { maxLength: 12 },
    ),
    pid: fc.integer({ min: 1, max: 4 }),
    count: fc.integer({ min: 1, max: 9 }),
    outcome: fc.constantFrom(...OUTCOMES),
  })
  .map(({ frames, pid, count, outcome }) => ({
    stack: stackOf(frames, outcome),
    task: taskOf(pid),
    count,
  }));

test("whatever is hidden, the sum of self, of runtimes and of outcomes is the samples", () => {
  fc.assert(
    fc.property(fc.array(anyCount), fc.boolean(), fc.boolean(), (counts, kernel, nativeFrames) => {
      const tick = tickOf(counts);
      const all = aggregate([tick], { kernel, nativeFrames });
      const sum = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0);
      expect(sum(all.functions.map((row) => row.self))).toBe(tick.samples);
      expect(sum(Object.values(all.runtimes))).toBe(tick.samples);
      expect(sum(Object.values(all.outcomes))).toBe(tick.samples);
      expect(sum(all.processes.map((row) => row.samples))).toBe(tick.samples);
      for (const row of all.functions) {
        expect(row.total).toBeGreaterThanOrEqual(row.self);
        expect(sum(row.pids.map((one) => one.count))).toBe(row.total);
      }
    }),
    { numRuns: 200 },
  );
});

test("callers and callees of a function each add up to its total", () => {
  fc.assert(
    fc.property(fc.array(anyCount), fc.integer({ min: 0, max: 11 }), (counts, number) => {
      const tick = tickOf(counts);
      const detail = functionDetail([tick], functionOf(number).id, SHOW_ALL);
      const row = rowOf(aggregate([tick], SHOW_ALL), number);
      const sum = (list: readonly { count: number }[]) => list.reduce((a, b) => a + b.count, 0);
      expect(detail.total).toBe(row?.total ?? 0);
      expect(detail.self).toBe(row?.self ?? 0);
      expect(sum(detail.callers)).toBe(detail.total);
      expect(sum(detail.callees)).toBe(detail.total);
    }),
    { numRuns: 100 },
  );
});
