/** What plain outputs have in common. */

import { type Aggregate, aggregate, type FunctionRow } from "../model/aggregate.ts";
import type { Choice } from "../model/selection.ts";
import { type SortKey, sortFunctions, topFunctions } from "../model/sort.ts";
import type { CounterDefinition } from "../tick/source.ts";
import type { Tick } from "../tick/tick.ts";

/** Makes text of refreshes. */
export interface Sink {
  /** What to print for a refresh; may be empty. */
  tick(tick: Tick): string;
  /** What to print when there is no more. */
  end(): string;
}

/** What is shown, and how. */
export interface SinkOptions extends Choice {
  readonly sort: SortKey;
  /** How many functions, 0 for all. */
  readonly rows: number;
  /** Counters that a tick can hold. */
  readonly counters: readonly CounterDefinition[];
  /** The version of polytop that sampled. */
  readonly version?: string;
  /** The release of the kernel of the machine that was sampled. */
  readonly kernelRelease?: string;
  /** How many of its stacks each function is shown with, where the format has room for them. */
  readonly stacks?: number;
}

/** What a refresh amounts to; functions that are not among the rows that were asked for may be left out. */
export function sumsOf(tick: Tick, options: SinkOptions): Aggregate {
  const { sort, rows } = options;
  const isRanked = rows > 0 && (sort === "self" || sort === "total");
  return aggregate([tick], {
    ...options,
    ...(isRanked ? { first: { by: sort, count: rows } } : {}),
  });
}

/** The rows that were asked for, in the order that was asked for. */
export function firstRows(
  functions: readonly FunctionRow[],
  { sort, rows }: SinkOptions,
): FunctionRow[] {
  return rows === 0 ? sortFunctions(functions, sort) : topFunctions(functions, sort, rows);
}

/** One decimal, as a number. */
export const tenth = (value: number): number => Math.round(value * 10) / 10;

/** `part` of `whole` in percent with one decimal; 0 of nothing. */
export const percentage = (part: number, whole: number): number =>
  whole > 0 ? tenth((100 * part) / whole) : 0;
