/** Counts that are kept as numbers amount to the same as those that are objects. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { type Aggregate, aggregate } from "../../src/model/aggregate.ts";
import { FrameTable, Segment } from "../../src/model/packed-ticks.ts";
import { SORT_KEYS, sortFunctions, topFunctions } from "../../src/model/sort.ts";
import { codeOf } from "../../src/tick/function-code.ts";
import { PlainCounts } from "../../src/tick/plain-counts.ts";
import { RUNTIMES } from "../../src/tick/runtimes.ts";
import {
  type FunctionInfo,
  OUTCOMES,
  type Stack,
  type Task,
  type Tick,
} from "../../src/tick/tick.ts";
import { filterOf, makeTick, task } from "../support/ticks.ts";

const FUNCTIONS: readonly FunctionInfo[] = Array.from({ length: 40 }, (_, id) => ({
  id,
  runtime: RUNTIMES[id % RUNTIMES.length] ?? "native",
  name: `function ${id % 13}`,
  module: `module ${id % 3}`,
}));
const PLAIN = FUNCTIONS.map((info) => ({ function: info }));
const CODES = Uint32Array.from(FUNCTIONS, codeOf);

const stackOf = (id: number, { frames, outcome }: Counts[number]): Stack => ({
  id,
  frames: frames.map((it) => PLAIN[it] ?? { function: FUNCTIONS[0] as FunctionInfo }),
  outcome: OUTCOMES[outcome] ?? "broken",
});

const count = fc.record({
  frames: fc.array(fc.nat(FUNCTIONS.length - 1), { maxLength: 12 }),
  outcome: fc.nat(OUTCOMES.length - 1),
  pid: fc.nat(3),
  count: fc.nat(5),
});

type Counts = readonly {
  readonly frames: readonly number[];
  readonly outcome: number;
  readonly pid: number;
  readonly count: number;
}[];

/** The tasks of all processes; a process may have two threads. */
const TASKS = [0, 1, 2, 3].flatMap((pid) =>
  [0, 1].map((thread) => task(pid, `process ${pid}`, { tid: 10 * pid + thread })),
);
const taskOf = (pid: number, id: number): number => 2 * pid + (id % 2);

const asObjects = (counts: Counts): Tick =>
  makeTick(
    counts.map((one, id) => ({
      stack: stackOf(id, one),
      task: TASKS[taskOf(one.pid, id)] as Task,
      count: one.count,
    })),
  );

/** Every fifth stack is an object among the numbers. */
function asNumbers(counts: Counts): Tick {
  const codes = counts.flatMap(({ frames }) => [7, ...frames.map((it) => CODES[it] ?? 0)]);
  const made = new PlainCounts(counts.length, TASKS, {
    codes: Uint32Array.from(codes),
    plain: PLAIN,
  });
  let start = 0;
  counts.forEach((one, id) => {
    const end = ++start + one.frames.length;
    made.put(id, taskOf(one.pid, id), one.count);
    if (id % 5 === 4) made.putDetailed(id, stackOf(id, one));
    else made.putPlain(id, id, one.outcome, start, end);
    start = end;
  });
  return { ...asObjects(counts), counts: made };
}

/** All that an aggregate says; its rows are in no order. */
const inOrder = (all: Aggregate) => ({
  ...all,
  functions: all.functions
    .map((row) => ({ ...row, pids: row.pids, processCount: row.processCount }))
    .sort(
      (a, b) => a.function.name.localeCompare(b.function.name) || a.function.id - b.function.id,
    ),
  processes: all.processes.toSorted((a, b) => a.pid - b.pid),
});

test("they are the same, one by one", () => {
  fc.assert(
    fc.property(fc.array(count, { maxLength: 20 }), (counts) => {
      const found = Array.from(asNumbers(counts).counts, ({ stack, ...more }) => ({
        ...more,
        stack: { id: stack.id, frames: stack.frames, outcome: stack.outcome },
      }));
      expect(found).toEqual([...asObjects(counts).counts]);
    }),
  );
});

test.each([
  ["everything", { kernel: true, nativeFrames: true }],
  ["without the kernel", { kernel: false, nativeFrames: false }],
  ["some processes", { kernel: true, nativeFrames: true, filter: filterOf("!pid:2") }],
  ["some functions", { kernel: true, nativeFrames: true, filter: filterOf("lang:perl") }],
])("they add up to the same: %s", (_, options) => {
  fc.assert(
    fc.property(fc.array(count, { maxLength: 20 }), (counts) => {
      const expected = aggregate([asObjects(counts)], options);
      const found = aggregate([asNumbers(counts)], options);
      expect(inOrder(found)).toEqual(inOrder(expected));
      for (const key of SORT_KEYS) {
        const sorted = sortFunctions(found.functions, key, false);
        for (const rows of [1, 2, 5])
          expect(topFunctions(found.functions, key, rows)).toEqual(sorted.slice(0, rows));
      }
    }),
  );
});

test("they are packed as the same", () => {
  fc.assert(
    fc.property(fc.array(count, { maxLength: 20 }), (counts) => {
      const segment = new Segment(0, new FrameTable());
      const packed = segment.add(asNumbers(counts));
      expect(segment.unpack(packed)).toEqual(asObjects(counts));
      segment.seal();
      expect(segment.unpack(packed)).toEqual(asObjects(counts));
    }),
  );
});
