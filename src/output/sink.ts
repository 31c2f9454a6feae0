/** What plain outputs have in common. */
import type { CounterDefinition } from "../collector/source.ts";
import type { Tick } from "../collector/tick.ts";
import type { Filter } from "../model/filter.ts";
import type { SortKey } from "./sort.ts";

/** Makes text of refreshes. */
export interface Sink {
  /** What to print for a refresh; may be empty. */
  tick(tick: Tick): string;
  /** What to print when there is no more. */
  end(): string;
}

/** What is shown, and how. */
export interface SinkOptions {
  readonly filter: Filter | undefined;
  readonly sort: SortKey;
  /** How many functions, 0 for all. */
  readonly rows: number;
  readonly kernel: boolean;
  readonly nativeFrames: boolean;
  /** Counters that a tick can hold. */
  readonly counters: readonly CounterDefinition[];
}

// Names come from other processes: control characters, and marks that turn the direction of
// writing, could fake a line or drive the terminal that the text ends up in.
const UNSAFE = /[\p{Cc}\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

/** `text` on one line and without anything that a terminal would obey, such characters as `\xNN`. */
export function printable(text: string): string {
  return text.replace(UNSAFE, (character) => {
    const code = character.codePointAt(0) ?? 0;
    return code < 0x100
      ? `\\x${code.toString(16).padStart(2, "0")}`
      : `\\u${code.toString(16).padStart(4, "0")}`;
  });
}

/** One decimal, as a number. */
export const tenth = (value: number): number => Math.round(value * 10) / 10;

/** `part` of `whole` in percent with one decimal; 0 of nothing. */
export const percentage = (part: number, whole: number): number =>
  whole > 0 ? tenth((100 * part) / whole) : 0;
