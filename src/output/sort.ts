/** The order of functions in plain output: the one that `--sort` asks for. */
import type { FunctionRow } from "../model/aggregate.ts";

export const SORT_KEYS = ["self", "total", "name", "module", "pid"] as const;
export type SortKey = (typeof SORT_KEYS)[number];

type Compare = (a: FunctionRow, b: FunctionRow) => number;

const byText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
const bySelf: Compare = (a, b) => b.self - a.self || b.total - a.total;
const byName: Compare = (a, b) =>
  byText(a.function.name, b.function.name) || byText(a.function.module, b.function.module);

/** Numbers with the most first, texts and pids with the least. */
const COMPARE: Readonly<Record<SortKey, Compare>> = {
  self: bySelf,
  total: (a, b) => b.total - a.total || b.self - a.self,
  name: byName,
  module: (a, b) => byText(a.function.module, b.function.module) || bySelf(a, b),
  pid: (a, b) => (a.pids[0]?.pid ?? 0) - (b.pids[0]?.pid ?? 0) || bySelf(a, b),
};

/** The first `limit` rows (0: all) in that order; equal ones by name, so that order is stable. */
export function sortFunctions(
  rows: readonly FunctionRow[],
  key: SortKey,
  limit: number,
): FunctionRow[] {
  const compare = COMPARE[key];
  const sorted = rows.toSorted((a, b) => compare(a, b) || byName(a, b));
  return limit === 0 ? sorted : sorted.slice(0, limit);
}
