/** Makes one list of those that the kernel side sends of a stack with frames of interpreters. */
import type { Drained } from "../addon/drained.ts";
import { SlidingColumn } from "../tick/sliding-column.ts";
import type { NewFrames } from "./new-frames.ts";
import type { Interleaver, MergedFrame } from "./reader.ts";

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
    // A merged stack has no frame that is in no list: it is no longer than before.
    const merged = new Uint32Array(stacks.length);
    let end = 0;
    for (let at = 0; at + 2 < stacks.length; ) {
      const kind = stacks[at + 1] ?? 0;
      const outcome = kind & OUTCOME_MASK;
      const listEnd = at + 3 + (stacks[at + 2] ?? 0);
      const nativeEnd = listEnd - (kind >>> INTERPRETED_COUNT_SHIFT);
      merged[end] = stacks[at] ?? 0;
      merged[end + 1] = outcome;
      const count = end + 2;
      end += 3;
      if (nativeEnd === listEnd) {
        merged.set(stacks.subarray(at + 3, listEnd), end);
        end += listEnd - at - 3;
      } else {
        const native = stacks.subarray(at + 3, nativeEnd);
        const interpreted = stacks.subarray(nativeEnd, listEnd);
        // The number after that of a native frame is the same frame, hidden.
        for (const { number, folded } of this.#merge(native, interpreted, outcome)) {
          merged[end++] = folded ? number + 1 : number;
        }
      }
      merged[count] = end - count - 1;
      at = listEnd;
    }
    return merged.slice(0, end);
  }

  #merge(frames: Uint32Array, interpreted: Uint32Array, outcome: number): readonly MergedFrame[] {
    const only = this.#interleavers.get(this.#onlyOwner(frames, interpreted));
    if (only) return only.interleave(frames, interpreted, outcome);
    // Frames of some interpreters are in their places already.
    const isNative = (number: number): boolean => this.#owners.get(number) === 0;
    const native = frames.filter(isNative);
    const lists: (readonly MergedFrame[])[] = [];
    if (native.length < frames.length) {
      const inPlace = (number: number) => ({ number, native: isNative(number), folded: false });
      lists.push(Array.from(frames, inPlace));
    }
    for (const [owner, interleaver] of this.#interleavers) {
      const own = interpreted.filter((number) => this.#owners.get(number) === owner);
      if (own.length > 0) lists.push(interleaver.interleave(native, own, outcome));
    }
    return combine(lists);
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

/** Makes one list of several that hold the same native frames in the same order. */
function combine([
  first = [],
  ...others
]: readonly (readonly MergedFrame[])[]): readonly MergedFrame[] {
  const [second, ...rest] = others;
  if (second === undefined) return first;
  const both: MergedFrame[] = [];
  let at = 0;
  const takeUntilNative = (): MergedFrame | undefined => {
    for (;;) {
      const frame = second[at++];
      if (frame === undefined || frame.native) return frame;
      both.push(frame);
    }
  };
  for (const frame of first) {
    const other = frame.native ? takeUntilNative() : undefined;
    both.push({ ...frame, folded: frame.folded || (other?.folded ?? false) });
  }
  takeUntilNative();
  return combine([both, ...rest]);
}
