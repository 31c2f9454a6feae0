/** Stacks with frames of more than one interpreter. */
import { expect, test } from "vitest";
import type { Drained } from "../../../src/addon/drained.ts";
import { InterpretedStacks } from "../../../src/runtimes/interpreted-stacks.ts";
import type { NewFrames } from "../../../src/runtimes/new-frames.ts";
import type { Interleaver } from "../../../src/runtimes/reader.ts";

/** An interpreter whose frames stand above the native frame with a number, which is hidden for them. */
const above = (place: number, interpreter: number): Interleaver => ({
  interpreter,
  interleave(native, own, _outcome, into) {
    for (const number of native) {
      if (number === place) for (const frame of own) into.push(frame);
      into.pushNative(number, number === place);
    }
  },
});

/** Frames numbered from 0, of which these belong to interpreters, by number. */
function frames(length: number, interpreters: Readonly<Record<number, number>>): NewFrames {
  return { first: 0, length, interpreter: (at: number) => interpreters[at] ?? 0 } as NewFrames;
}

const FORGOTTEN: Pick<Drained, "forgottenFrames"> = { forgottenFrames: 0 };

function merge(interleavers: readonly Interleaver[], native: number[], interpreted: number[]) {
  const stacks = new InterpretedStacks(interleavers);
  stacks.ingest(FORGOTTEN, frames(40, { 20: 1, 21: 1, 30: 2, 31: 2, 38: 3 }));
  const kind = (interpreted.length << 8) | 1;
  const plain = [7, 1, 2, 0, 2];
  const both = [8, kind, native.length + interpreted.length, ...native, ...interpreted];
  return [...stacks.merge(Uint32Array.from([...plain, ...both]))].slice(plain.length);
}

test("frames of one interpreter", () => {
  expect(merge([above(4, 1)], [0, 2, 4, 6], [20, 21])).toEqual([8, 1, 6, 0, 2, 20, 21, 5, 6]);
});

test("frames of two, each above its own native frame", () => {
  const interleavers = [above(4, 1), above(2, 2)];
  expect(merge(interleavers, [0, 2, 4, 6], [20, 30, 31, 21])).toEqual([
    8, 1, 8, 0, 30, 31, 3, 20, 21, 5, 6,
  ]);
});

test("frames that are in their places already stay there", () => {
  expect(merge([above(4, 1)], [0, 38, 4, 6], [20])).toEqual([8, 1, 5, 0, 38, 20, 5, 6]);
});

test("stacks without any are given back as they came", () => {
  const stacks = Uint32Array.from([7, 1, 2, 0, 2]);
  expect(new InterpretedStacks([]).merge(stacks)).toBe(stacks);
});
