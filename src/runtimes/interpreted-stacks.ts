/** Makes one list of those that the kernel side sends of a stack with frames of interpreters. */
import type { Drained } from "../addon/drained.ts";
import { SlidingColumn } from "../tick/sliding-column.ts";
import { MergedFrames } from "./merged-frames.ts";
import type { NewFrames } from "./new-frames.ts";
import type { Interleaver } from "./reader.ts";

/** Parts of the second word of a stack in `Drained.stacks`. */
const OUTCOME_MASK = 0xff;
const INTERPRETED_COUNT_SHIFT = 8;

function hasInterpreted(stacks: Uint32Array): boolean {
  const end = stacks.length - 2;
  for (let at = 0; at < end; at += 3 + (stacks[at + 2] ?? 0)) {
    if ((stacks[at + 1] ?? 0) > OUTCOME_MASK) return true;
  }
  return false;
}

export class InterpretedStacks {
  readonly #interleavers: ReadonlyMap<number, Interleaver>;
  /** The interpreters of their frames, by number; 0 for any other frame. */
  readonly #owners = new SlidingColumn();

  constructor(interleavers: readonly Interleaver[]) {
    this.#interleavers = new Map(interleavers.map((it) => [it.interpreter, it]));
  }

  /** Takes in new frames; forgets those that nothing refers to any more. */
  ingest({ forgottenFrames }: Pick<Drained, "forgottenFrames">, frames: NewFrames): void {
    this.#owners.forgetBelow(forgottenFrames);
    for (let index = 0; index < frames.length; index++) {
      const owner = frames.interpreter(index);
      if (owner !== 0) this.#owners.set(frames.first + index, owner);
    }
  }

  /** Returns new stacks with their lists merged; the words of each: number, outcome, frame count, frames. */
  merge(stacks: Uint32Array<ArrayBuffer>): Uint32Array<ArrayBuffer> {
    if (!hasInterpreted(stacks)) return stacks;
    const merged = new MergedFrames(stacks.length);
    for (let at = 0; at + 2 < stacks.length; ) {
      const kind = stacks[at + 1] ?? 0;
      const outcome = kind & OUTCOME_MASK;
      const listEnd = at + 3 + (stacks[at + 2] ?? 0);
      const nativeEnd = listEnd - (kind >>> INTERPRETED_COUNT_SHIFT);
      merged.push(stacks[at] ?? 0);
      merged.push(outcome);
      merged.push(0);
      const start = merged.length;
      if (nativeEnd === listEnd) {
        for (let frame = at + 3; frame < listEnd; frame++) merged.push(stacks[frame] ?? 0);
      } else {
        const native = stacks.subarray(at + 3, nativeEnd);
        this.#merge(native, stacks.subarray(nativeEnd, listEnd), outcome, merged);
      }
      merged.set(start - 1, merged.length - start);
      at = listEnd;
    }
    return merged.copy();
  }

  #merge(frames: Uint32Array, interpreted: Uint32Array, outcome: number, into: MergedFrames): void {
    const only = this.#interleavers.get(this.#onlyOwner(frames, interpreted));
    if (only) {
      only.interleave(frames, interpreted, outcome, into);
      return;
    }
    // Frames of some interpreters are in their places already.
    const native = frames.filter(this.#isNative);
    const lists: Uint32Array[] = [];
    if (native.length < frames.length) lists.push(frames);
    for (const [owner, interleaver] of this.#interleavers) {
      const own = interpreted.filter((number) => this.#owners.get(number) === owner);
      if (own.length === 0) continue;
      const list = new MergedFrames(native.length + own.length);
      interleaver.interleave(native, own, outcome, list);
      lists.push(list.copy());
    }
    for (const number of this.#combine(lists)) into.push(number);
  }

  readonly #isNative = (number: number): boolean => this.#owners.get(number) === 0;

  /** Makes one list of several that hold the same native frames in the same order. */
  #combine([first = new Uint32Array(), ...others]: readonly Uint32Array[]): Uint32Array {
    const [second, ...rest] = others;
    if (second === undefined) return first;
    const both: number[] = [];
    let at = 0;
    const takeUntilNative = (): number => {
      for (;;) {
        const number = second[at++];
        if (number === undefined) return 0;
        if (this.#isNative(number)) return number;
        both.push(number);
      }
    };
    for (const number of first) {
      // Of the numbers of a native frame the higher one says that it is hidden.
      both.push(this.#isNative(number) ? Math.max(number, takeUntilNative()) : number);
    }
    takeUntilNative();
    return this.#combine([Uint32Array.from(both), ...rest]);
  }

  /** The interpreter of a stack with frames of one, none of them in its place, as nearly all are; 0: it is another. */
  #onlyOwner(frames: Uint32Array, interpreted: Uint32Array): number {
    for (let at = 0; at < frames.length; at++) {
      if (this.#owners.get(frames[at] ?? 0) !== 0) return 0;
    }
    const owner = this.#owners.get(interpreted[0] ?? 0);
    for (let at = 1; at < interpreted.length; at++) {
      if (this.#owners.get(interpreted[at] ?? 0) !== owner) return 0;
    }
    return owner;
  }
}
