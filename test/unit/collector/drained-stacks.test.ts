/** Stacks of the sampler on their way into a store: found by number until they are forgotten, whatever the store does. */

import fc from "fast-check";
import { expect, test } from "vitest";
import { DrainedStacks } from "../../../src/collector/drained-stacks.ts";
import type { NamedFrames } from "../../../src/runtimes/frame-reader.ts";
import { FIRST_FUNCTION } from "../../../src/tick/functions.ts";
import type { Frame } from "../../../src/tick/store.ts";
import {
  type FrameDetail,
  type FunctionInfo,
  OUTCOMES,
  type Task,
  type Tick,
} from "../../../src/tick/tick.ts";
import { TickWriter } from "../../../src/tick/tick-writer.ts";
import { makeTick, stackCounts, task } from "../../support/ticks.ts";

const FUNCTIONS: readonly FunctionInfo[] = Array.from({ length: 12 }, (_, i) => ({
  id: FIRST_FUNCTION + i,
  runtime: "native",
  name: `function ${i}`,
  module: "program",
}));

const { counts: _counts, store: _store, ...header } = makeTick([]);
/** Each stack is counted in a thread of its own: equal stacks of one thread would be one count. */
const threadOf = (stack: number): Task => task(stack + 1, "worker");

/** Every seventh frame says more than its function. */
const detailOf = (number: number): FrameDetail | undefined =>
  number % 7 === 6 ? { line: number, note: `note ${number % 3}` } : undefined;
const functionOf = (number: number): FunctionInfo => FUNCTIONS[number % 12] as FunctionInfo;
const frameOf = (number: number): Frame => ({ function: functionOf(number), ...detailOf(number) });

/** Frames as their reader names them. */
const named = (first: number, count: number): NamedFrames => {
  const numbers = Array.from({ length: count }, (_, i) => first + i);
  const details = new Map<number, FrameDetail>();
  numbers.forEach((number, i) => {
    const detail = detailOf(number);
    if (detail) details.set(i, detail);
  });
  return { functions: Uint32Array.from(numbers, (number) => functionOf(number).id), details };
};

interface NewStack {
  readonly number: number;
  readonly outcome: number;
  readonly frames: readonly number[];
}

/** Stacks as a drain has them. */
const drainedWords = (stacks: readonly NewStack[]): Uint32Array<ArrayBuffer> =>
  Uint32Array.from(
    stacks.flatMap(({ number, outcome, frames }, at) => {
      const before = stacks[at - 1]?.frames.toReversed() ?? [];
      const differing = frames.toReversed().findIndex((frame, depth) => frame !== before[depth]);
      return [number, outcome, differing < 0 ? frames.length : differing, frames.length, ...frames];
    }),
  );

/** A sampler's store with stacks on their way into it. */
class Collecting {
  readonly writer = new TickWriter();
  readonly stacks: DrainedStacks;

  constructor(mergesFrames = false) {
    this.writer.addFunctions(FUNCTIONS);
    this.stacks = new DrainedStacks(this.writer, mergesFrames);
  }

  /** A tick of everything that was counted. */
  tick(): Tick {
    return this.writer.take(header);
  }

  /** The tick of these stacks, each once; throws if one is not known. */
  count(...numbers: number[]): Tick {
    for (const number of numbers) {
      const stack = this.stacks.stack(number);
      if (stack === undefined) throw new Error(`stack ${number} is not known`);
      this.writer.count(stack, this.writer.task(threadOf(number)), 1);
    }
    return this.tick();
  }

  /** Makes the next tick the first one of a new store. */
  renew(): void {
    for (let i = 0; i < 100_001; i++) this.writer.frame(FIRST_FUNCTION);
    this.tick();
  }
}

const refresh = fc.record({
  /** New frames, and new stacks by how far back in the live frames theirs are. */
  frames: fc.nat(6),
  stacks: fc.array(
    fc.record({
      outcome: fc.nat(OUTCOMES.length - 1),
      frames: fc.array(fc.nat(1000), { maxLength: 8 }),
    }),
    { maxLength: 6 },
  ),
  forgotten: fc.nat(8),
  /** Which of the live stacks are counted before some are forgotten. */
  counted: fc.nat(3),
  isRenewed: fc.nat(5).map((it) => it === 0),
});

test("stacks are found by number until they are forgotten, however they came, in each store", () => {
  const starts = fc.record({ stack: fc.nat(1000), frame: fc.nat(1000) });
  fc.assert(
    fc.property(
      starts,
      fc.array(refresh, { maxLength: 12 }),
      fc.boolean(),
      (start, list, mergesFrames) => {
        const collecting = new Collecting(mergesFrames);
        const { stacks } = collecting;
        const live = new Map<number, { outcome: number; frames: number[] }>();
        let [firstFrame, nextFrame, nextStack] = [start.frame, start.frame, start.stack];
        for (const one of list) {
          stacks.registerFrames(nextFrame, named(nextFrame, one.frames + 1));
          nextFrame += one.frames + 1;
          const words = one.stacks.flatMap(({ outcome, frames }) => {
            const used = frames.map((it) => firstFrame + (it % (nextFrame - firstFrame)));
            live.set(nextStack, { outcome, frames: used });
            return [{ number: nextStack++, outcome, frames: used }];
          });
          stacks.registerStacks(drainedWords(words));
          const counted = [...live.keys()].filter((number) => number % 3 !== one.counted);
          const tick = collecting.count(...counted);
          expect(stackCounts(tick).map(({ stack }) => stack)).toEqual(
            counted.map((number) => ({
              outcome: OUTCOMES[live.get(number)?.outcome ?? 0],
              frames: (live.get(number)?.frames ?? []).map(frameOf),
            })),
          );
          for (const frame of new Set(counted.flatMap((it) => live.get(it)?.frames ?? []))) {
            const number = stacks.frameNumber(frame);
            expect(number).toBeGreaterThan(0);
            expect(tick.store.frame(number ?? 0)).toEqual(frameOf(frame));
          }
          if (one.isRenewed) collecting.renew();
          const numbers = [...live.keys()];
          const oldest = numbers[one.forgotten] ?? nextStack;
          for (const number of numbers) if (number < oldest) live.delete(number);
          const used = [...live.values()].flatMap(({ frames }) => frames);
          firstFrame = used.reduce((least, it) => Math.min(least, it), nextFrame - 1);
          stacks.forgetBelow(oldest, firstFrame);
          for (let number = start.stack; number < oldest; number++) {
            expect(stacks.stack(number)).toBeUndefined();
          }
          expect(stacks.stack(nextStack)).toBeUndefined();
          expect(stacks.frameNumber(firstFrame - 1)).toBeUndefined();
        }
      },
    ),
    { numRuns: 60 },
  );
});

test("a stack that is counted again is the same one, and what is never counted never comes", () => {
  const collecting = new Collecting();
  const { stacks } = collecting;
  stacks.registerFrames(0, named(0, 10));
  stacks.registerStacks(
    drainedWords([
      { number: 0, outcome: 0, frames: [6, 1] },
      { number: 1, outcome: 0, frames: [8, 9] },
    ]),
  );
  const first = collecting.count(0);
  const second = collecting.count(0);
  expect(second.store).toBe(first.store);
  expect(second.counts.stacks).toEqual(first.counts.stacks);
  expect(second.store.stackCount).toBe(1);
  expect(second.store.texts).toEqual(["note 0"]);
  expect([6, 1].map((frame) => stacks.frameNumber(frame))).not.toContain(undefined);
  expect([8, 9].map((frame) => stacks.frameNumber(frame))).toEqual([undefined, undefined]);
});

test("a new store has what is counted again, and nothing else", () => {
  const collecting = new Collecting();
  const { stacks } = collecting;
  stacks.registerFrames(0, named(0, 10));
  stacks.registerStacks(
    drainedWords([
      { number: 0, outcome: 0, frames: [6, 1] },
      { number: 1, outcome: 2, frames: [8, 9] },
    ]),
  );
  const before = collecting.count(0, 1);
  collecting.renew();
  expect(stacks.store).not.toBe(before.store);
  expect(stacks.frameNumber(6)).toBeUndefined();
  const after = collecting.count(1);
  expect(after.store).not.toBe(before.store);
  expect(after.store.stackCount).toBe(1);
  expect(after.store.tasks).toEqual([threadOf(1)]);
  expect(stackCounts(after)).toEqual(stackCounts(before).slice(1));
});

test("frames of a function that say nothing more are one, where nobody asks for their lines", () => {
  const frames = (mergesFrames: boolean): number => {
    const collecting = new Collecting(mergesFrames);
    // 0, 12 and 24 are of one function; 6 and 18 of another, and 6 says more.
    collecting.stacks.registerFrames(0, named(0, 25));
    collecting.stacks.registerStacks(
      drainedWords([
        { number: 0, outcome: 0, frames: [0, 6, 24] },
        { number: 1, outcome: 0, frames: [12, 6, 0] },
        { number: 2, outcome: 0, frames: [18] },
      ]),
    );
    const [first, second] = collecting.count(0, 1, 2).counts.stacks;
    expect(first === second).toBe(mergesFrames);
    return collecting.writer.store.frameCount;
  };
  expect(frames(false) - frames(true)).toBe(2);
});

test("a frame that is renamed is another one in what is counted from then on, also where the store is new", () => {
  for (const mergesFrames of [false, true]) {
    const collecting = new Collecting(mergesFrames);
    const { stacks } = collecting;
    stacks.registerFrames(0, named(0, 10));
    stacks.registerStacks(
      drainedWords([
        { number: 0, outcome: 0, frames: [6, 1] },
        { number: 1, outcome: 0, frames: [2, 3] },
        { number: 2, outcome: 0, frames: [1] },
      ]),
    );
    const framesOf = (tick: Tick): readonly Frame[][] =>
      stackCounts(tick).map(({ stack }) => [...stack.frames]);
    const before = framesOf(collecting.count(0, 1, 2));
    const other: Frame = { function: functionOf(5), note: "renamed" };
    stacks.rename(new Map([[1, { id: functionOf(5).id, detail: { note: "renamed" } }]]));
    const expected = [[frameOf(6), other], [frameOf(2), frameOf(3)], [other]];
    expect(before).not.toEqual(expected);
    expect(framesOf(collecting.count(0, 1, 2))).toEqual(expected);
    collecting.renew();
    expect(framesOf(collecting.count(0, 1, 2))).toEqual(expected);
    // A frame with a detail that came late is forgotten like the others.
    stacks.forgetBelow(2, 1);
    stacks.rename(new Map([[1, { id: functionOf(4).id }]]));
    expect(framesOf(collecting.count(2))).toEqual([[frameOf(4)]]);
  }
});
