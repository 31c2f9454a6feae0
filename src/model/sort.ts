/** Sorts the lists. All orders are total, so that equal rows do not swap places. */

import type { Family } from "../tick/family.ts";
import type { FunctionRow, ProcessRow } from "./aggregate.ts";

/** The option `-s` and the key `s` choose from these. */
export type SortKey = "self" | "total" | "name" | "module" | "pid";

/** The key `s` goes through them in this order. */
export const SORT_KEYS: readonly SortKey[] = ["self", "total", "name", "module", "pid"];

/** The screen has more orders: while a moment is marked, and of how long threads wait. */
export type ViewSort = SortKey | "change" | "age";

/** Says whether an order is by an amount: then the most comes first. */
export const isByAmount = (key: ViewSort): boolean =>
  key === "self" || key === "total" || key === "change" || key === "age";

/** What is listed has these orders too. */
export interface MoreOrders {
  readonly isMarked: boolean;
  readonly isWaiting: boolean;
}

/** Returns the key before (-1) or after (1) another; after the last comes the first. */
export function nextSortKey(key: ViewSort, step: 1 | -1, has: MoreOrders): ViewSort {
  const [self, ...others] = SORT_KEYS;
  const keys: readonly (ViewSort | undefined)[] = [
    ...(has.isMarked ? ["change" as const] : []),
    self,
    ...(has.isWaiting ? ["age" as const] : []),
    ...others,
  ];
  return keys[(keys.indexOf(key) + step + keys.length) % keys.length] ?? "self";
}

type Compare<T> = (a: T, b: T) => number;

const byText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

const firstPid = (row: FunctionRow): number => row.pids[0]?.pid ?? 0;

const FUNCTION_ORDERS: Readonly<Record<SortKey, Compare<FunctionRow>>> = {
  self: (a, b) => b.self - a.self || b.total - a.total,
  total: (a, b) => b.total - a.total || b.self - a.self,
  name: (a, b) => byText(a.function.name, b.function.name),
  module: (a, b) => byText(a.function.module, b.function.module) || b.self - a.self,
  pid: (a, b) => firstPid(a) - firstPid(b) || b.self - a.self,
};

/** By numbers from the largest, by texts and pids from the smallest, or the reverse. */
function functionOrder(
  key: ViewSort,
  reverse: boolean,
  amount: (row: FunctionRow) => number = () => 0,
): Compare<FunctionRow> {
  const byOther: Compare<FunctionRow> = (a, b) =>
    Math.abs(amount(b)) - Math.abs(amount(a)) || b.self - a.self;
  const order = key === "change" || key === "age" ? byOther : FUNCTION_ORDERS[key];
  const sign = reverse ? -1 : 1;
  return (a, b) => sign * order(a, b) || a.function.id - b.function.id;
}

/**
 * Sorts functions. `amount` is the change or the age of a row, where these give the order; what changed most comes first,
 * whether it grew or shrank.
 */
export function sortFunctions(
  rows: readonly FunctionRow[],
  key: ViewSort,
  reverse = false,
  amount?: (row: FunctionRow) => number,
): FunctionRow[] {
  return rows.toSorted(functionOrder(key, reverse, amount));
}

/** Below this share of all it is cheaper to pick the first than to sort. */
const FEW = 1 / 8;

/** Returns the first `count` of all in an order. */
export function firstOf<T>(all: readonly T[], count: number, compare: Compare<T>): T[] {
  if (count > all.length * FEW) return all.toSorted(compare).slice(0, count);
  const first: T[] = [];
  for (const one of all) {
    const last = first.at(-1);
    if (last !== undefined && first.length === count && compare(last, one) < 0) continue;
    let place = first.length;
    while (place > 0 && compare(one, first[place - 1] as T) < 0) place--;
    first.splice(place, 0, one);
    if (first.length > count) first.pop();
  }
  return first;
}

/** Returns the first `count` functions as sortFunctions() sorts them. */
export function topFunctions(
  rows: readonly FunctionRow[],
  key: ViewSort,
  count: number,
  reverse = false,
  amount?: (row: FunctionRow) => number,
): FunctionRow[] {
  return firstOf(rows, count, functionOrder(key, reverse, amount));
}

/** A process and how deep it stands below others that are shown. */
export interface PlacedProcess {
  readonly row: ProcessRow;
  readonly depth: number;
  /** The samples of all of its family, where that gives the order. */
  readonly sum: number;
}

const PROCESS_ORDERS: Readonly<Record<SortKey, Compare<ProcessRow>>> = {
  self: (a, b) => b.samples - a.samples,
  total: (a, b) => b.samples - a.samples,
  name: (a, b) => byText(a.comm, b.comm),
  module: (a, b) => byText(a.runtimes.join(), b.runtimes.join()) || b.samples - a.samples,
  pid: (a, b) => a.pid - b.pid,
};

/** Sums up the samples of each process and all below it: the busiest may be the child of an idle one. */
function familySums(
  rows: readonly ProcessRow[],
  children: ReadonlyMap<number, readonly ProcessRow[]>,
): Map<ProcessRow, number> {
  const sums = new Map<ProcessRow, number>();
  const visit = (row: ProcessRow): number => {
    const known = sums.get(row);
    if (known !== undefined) return known;
    // A process of a ring is counted once.
    sums.set(row, row.samples);
    const below = (children.get(row.pid) ?? []).reduce((sum, child) => sum + visit(child), 0);
    sums.set(row, row.samples + below);
    return row.samples + below;
  };
  for (const row of rows) visit(row);
  return sums;
}

/**
 * Sorts processes: families by all of their samples, children under their parents where these have
 * samples too; where a family is given, under the nearest ancestor that has.
 */
export function sortProcesses(
  rows: readonly ProcessRow[],
  key: ViewSort,
  reverse: boolean,
  family?: Family,
): PlacedProcess[] {
  const order = PROCESS_ORDERS[key === "change" || key === "age" ? "self" : key];
  const sign = reverse ? -1 : 1;
  const sorted = rows.toSorted((a, b) => sign * order(a, b) || a.pid - b.pid);
  const present = new Set(sorted.map((row) => row.pid));
  const children = new Map<number, ProcessRow[]>();
  const roots: ProcessRow[] = [];
  for (const row of sorted) {
    const has = (pid: number): boolean => present.has(pid);
    const direct = has(row.parentPid) && row.parentPid !== row.pid ? row.parentPid : undefined;
    const above = direct ?? family?.nearest(row.pid, row.parentPid, has);
    if (above === undefined) {
      roots.push(row);
      continue;
    }
    const siblings = children.get(above);
    if (siblings) siblings.push(row);
    else children.set(above, [row]);
  }
  let sums: ReadonlyMap<ProcessRow, number> = new Map();
  if (isByAmount(key)) {
    sums = familySums(sorted, children);
    const bySum: Compare<ProcessRow> = (a, b) =>
      sign * ((sums.get(b) ?? 0) - (sums.get(a) ?? 0)) || a.pid - b.pid;
    for (const list of [roots, ...children.values()]) list.sort(bySum);
  }
  const placed: PlacedProcess[] = [];
  const seen = new Set<ProcessRow>();
  const place = (row: ProcessRow, depth: number): void => {
    if (seen.has(row)) return;
    seen.add(row);
    placed.push({ row, depth, sum: sums.get(row) ?? 0 });
    for (const child of children.get(row.pid) ?? []) place(child, Math.min(depth + 1, 8));
  };
  for (const root of roots) place(root, 0);
  // Parents that reused pids could make a ring: nobody is left out.
  for (const row of sorted) place(row, 0);
  return placed;
}
