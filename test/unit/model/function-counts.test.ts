import fc from "fast-check";
import { expect, test } from "vitest";
import { aggregate } from "../../../src/model/aggregate.ts";
import type { Frame } from "../../../src/tick/store.ts";
import type { Tick } from "../../../src/tick/tick.ts";
import { functionInfo, makeTick, type StackCount, task } from "../../support/ticks.ts";

/** Some frame is shown in every stack, whatever is hidden. */
const OUTERMOST: Frame = {
  function: functionInfo({ runtime: "native", name: "counted1", module: "" }),
};

/** A frame of few functions, lines and kinds, so that stacks share outer frames and recur. */
const anyFrame: fc.Arbitrary<Frame> = fc
  .record({
    place: fc.integer({ min: 0, max: 4 }),
    line: fc.integer({ min: 0, max: 2 }),
    folded: fc.boolean(),
  })
  .map(({ place, line, folded }) => ({
    function: functionInfo({
      runtime: place === 0 ? "kernel" : "native",
      name: `counted${place}`,
      module: "",
    }),
    ...(line === 0 ? {} : { line }),
    ...(folded ? { folded } : {}),
  }));

const anyCounts: fc.Arbitrary<StackCount[]> = fc.array(
  fc.record({
    stack: fc.record({
      frames: fc.array(anyFrame, { maxLength: 9 }).map((frames) => [...frames, OUTERMOST]),
      outcome: fc.constant("complete" as const),
    }),
    task: fc.integer({ min: 1, max: 3 }).map((pid) => task(pid, "c")),
    count: fc.integer({ min: 1, max: 9 }),
  }),
  { maxLength: 40 },
);

interface Found {
  self: number;
  total: number;
  readonly lines: Map<number, number>;
  readonly pids: Map<number, number>;
}

const add = (sums: Map<number, number>, key: number, weight: number) =>
  sums.set(key, (sums.get(key) ?? 0) + weight);

/** The keys with the most. */
const busiest = (sums: Map<number, number>): number[] => {
  const most = Math.max(...sums.values());
  return [...sums].flatMap(([key, weight]) => (weight === most ? [key] : []));
};

/** What a walk over all frames of all stacks finds, by function. */
function walk(counts: readonly StackCount[], isShown: (frame: Frame) => boolean) {
  const found = new Map<number, Found>();
  for (const { stack, task: thread, count } of counts) {
    const frames = stack.frames.filter(isShown);
    const met = new Set<number>();
    for (const [depth, frame] of frames.entries()) {
      const { id } = frame.function;
      const row = found.get(id) ?? { self: 0, total: 0, lines: new Map(), pids: new Map() };
      found.set(id, row);
      if (depth === 0) row.self += count;
      if (met.has(id)) continue;
      met.add(id);
      row.total += count;
      add(row.pids, thread.pid, count);
      if (frame.line !== undefined) add(row.lines, frame.line, count);
    }
  }
  return found;
}

function expectSame(ticks: readonly Tick[], counts: readonly StackCount[], kernel: boolean): void {
  const isShown = ({ function: { runtime }, folded }: Frame) =>
    runtime === "kernel" ? kernel : !folded;
  const found = walk(counts, isShown);
  const { functions } = aggregate(ticks, { kernel, nativeFrames: false });
  expect(functions).toHaveLength(found.size);
  for (const [id, expected] of found) {
    const row = functions.find((it) => it.function.id === id);
    expect(row).toMatchObject({ self: expected.self, total: expected.total });
    const pids = [...expected.pids].map(([pid, count]) => ({ pid, count }));
    expect(row?.pids).toEqual(pids.sort((a, b) => b.count - a.count || a.pid - b.pid));
    if (expected.lines.size === 0) expect(row?.line).toBeUndefined();
    else expect(busiest(expected.lines)).toContain(row?.line);
  }
}

test("functions have what a walk over every frame of every stack finds, in one tick and in several", () => {
  fc.assert(
    fc.property(anyCounts, anyCounts, fc.boolean(), (counts, later, kernel) => {
      const first = makeTick(counts);
      expectSame([first], counts, kernel);
      expectSame([first, makeTick(later)], [...counts, ...later], kernel);
    }),
  );
});
