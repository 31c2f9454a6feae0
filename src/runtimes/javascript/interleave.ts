/**
 * Puts the JavaScript frames of a stack between its native frames. Everything here is pure.
 *
 * Both are frames of one stack, and the kernel side says before which native frame those of V8 go. What carries out
 * bytecodes has no frame of its own: the native frame of the interpreter is the JavaScript frame that comes after it.
 */
import type { MergedFrame } from "../reader.ts";

/** A native frame; `evaluates`: it is code of V8's interpreter. */
export interface NativeFrame {
  readonly number: number;
  readonly evaluates: boolean;
}

/** One word of V8's part of a stack, see enum v8_kind; `place`: index of the native frame that those before go before. */
export interface JavaScriptWord {
  readonly number: number;
  readonly place?: number;
}

/** Merges the two lists of a stack, both leaf first. */
export function interleave(
  native: readonly NativeFrame[],
  words: readonly JavaScriptWord[],
): readonly MergedFrame[] {
  const frames: MergedFrame[] = [];
  let at = 0;
  const takeUntil = (place: number): void => {
    for (; at < place; at++) {
      const frame = native[at];
      if (frame === undefined) return;
      frames.push({ number: frame.number, native: true, folded: frame.evaluates });
    }
  };
  let waiting: number[] = [];
  const takeWaiting = (): void => {
    for (const number of waiting) frames.push({ number, native: false, folded: false });
    waiting = [];
  };
  for (const { number, place } of words) {
    if (place === undefined) {
      waiting.push(number);
      continue;
    }
    takeUntil(place);
    takeWaiting();
  }
  takeUntil(native.length);
  takeWaiting();
  return frames;
}
