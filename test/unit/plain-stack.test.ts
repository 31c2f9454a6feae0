/** Stacks that are kept as numbers amount to the same as those that are objects. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { codeOf, PlainStack } from "../../src/collector/plain-stack.ts";
import {
  type FunctionInfo,
  OUTCOMES,
  RUNTIMES,
  type Stack,
  type Tick,
} from "../../src/collector/tick.ts";
import { aggregate } from "../../src/model/aggregate.ts";
import { FrameTable, Segment } from "../../src/model/packed-ticks.ts";
import { SORT_KEYS, sortFunctions, topFunctions } from "../../src/model/sort.ts";
import { makeTick, task } from "../support/ticks.ts";

const FUNCTIONS: readonly FunctionInfo[] = Array.from({ length: 40 }, (_, id) => ({
  id,
  runtime: RUNTIMES[id % RUNTIMES.length] ?? "native",
  name: `function ${id % 13}`,
  module: `module ${id % 3}`,
}));
const PLAIN = FUNCTIONS.map((info) => ({ function: info }));
const CODES = Uint32Array.from(FUNCTIONS, codeOf);

const asObjects = (id: number, frames: readonly number[], outcome: number): Stack => ({
  id,
  frames: frames.map((it) => PLAIN[it] ?? { function: FUNCTIONS[0] as FunctionInfo }),
  outcome: OUTCOMES[outcome] ?? "broken",
});

const asNumbers = (id: number, frames: readonly number[], outcome: number): Stack => {
  const codes = Uint32Array.from([7, 7, 7, ...frames.map((it) => CODES[it] ?? 0), 7]);
  const place = { codes, start: 3, end: 3 + frames.length };
  return new PlainStack(id, OUTCOMES[outcome] ?? "broken", place, PLAIN);
};

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

const tickOf = (counts: Counts, make: typeof asObjects): Tick =>
  makeTick(
    counts.map((one, id) => ({
      stack: make(id, one.frames, one.outcome),
      task: task(one.pid, `process ${one.pid}`),
      count: one.count,
    })),
  );

test.each([
  ["everything", { kernel: true, nativeFrames: true }],
  ["without the kernel", { kernel: false, nativeFrames: false }],
])("they add up to the same: %s", (_, options) => {
  fc.assert(
    fc.property(fc.array(count, { maxLength: 20 }), (counts) => {
      const expected = aggregate([tickOf(counts, asObjects)], options);
      const found = aggregate([tickOf(counts, asNumbers)], options);
      const rows = (all: typeof found) =>
        all.functions.map((row) => ({ ...row, pids: row.pids, processCount: row.processCount }));
      expect(rows(found)).toEqual(rows(expected));
      expect({ ...found, functions: [] }).toEqual({ ...expected, functions: [] });
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
      const packed = segment.add(tickOf(counts, asNumbers));
      expect(segment.unpack(packed)).toEqual(tickOf(counts, asObjects));
      segment.seal();
      expect(segment.unpack(packed)).toEqual(tickOf(counts, asObjects));
    }),
  );
});
