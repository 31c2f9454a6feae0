/** Makes one list of those that the kernel side sends of a stack with frames of interpreters. */
import type { Drained } from "../addon/drained.ts";
import { forgetBelow } from "./forget-below.ts";
import type { NewFrames } from "./new-frames.ts";
import type { Interleaver, MergedFrame } from "./reader.ts";

/** Parts of the second word of a stack in `Drained.stacks`. */
const OUTCOME_MASK = 0xff;
const INTERPRETED_COUNT_SHIFT = 8;

function hasInterpreted(stacks: Uint32Array): boolean {
  for (let at = 0; at + 2 < stacks.length; at += 3 + (stacks[at + 2] ?? 0)) {
    if ((stacks[at + 1] ?? 0) > OUTCOME_MASK) return true;
  }
  return false;
}

export class InterpretedStacks {
  readonly #interleavers: ReadonlyMap<number, Interleaver>;
  /** The interpreters of their frames, by number. */
  readonly #owners = new Map<number, number>();

  constructor(interleavers: readonly Interleaver[]) {
    this.#interleavers = new Map(interleavers.map((it) => [it.interpreter, it]));
  }

  /** Takes in new frames; forgets those that nothing refers to any more. */
  ingest({ forgottenFrames }: Pick<Drained, "forgottenFrames">, frames: NewFrames): void {
    forgetBelow(this.#owners, forgottenFrames);
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
      const native = stacks.subarray(at + 3, nativeEnd);
      const interpreted = stacks.subarray(nativeEnd, listEnd);
      const frames = interpreted.length === 0 ? native : this.#merge(native, interpreted, outcome);
      merged[end] = stacks[at] ?? 0;
      merged[end + 1] = outcome;
      merged[end + 2] = frames.length;
      merged.set(frames, end + 3);
      end += 3 + frames.length;
      at = listEnd;
    }
    return merged.slice(0, end);
  }

  #merge(frames: Uint32Array, interpreted: Uint32Array, outcome: number): number[] {
    // Frames of some interpreters are in their places already.
    const isNative = (number: number): boolean => !this.#owners.has(number);
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
    // The number after that of a native frame is the same frame, hidden.
    return combine(lists).map(({ number, folded }) => (folded ? number + 1 : number));
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
