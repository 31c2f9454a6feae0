/** The orders of the lists: total orders, so that equal rows do not swap places. */
import type { FunctionRow, ProcessRow } from "./aggregate.ts";

/** What `-s` and the key `s` choose from. */
export type SortKey = "self" | "total" | "name" | "module" | "pid";

/** In the order that `s` goes through them. */
export const SORT_KEYS: readonly SortKey[] = ["self", "total", "name", "module", "pid"];

/** The key before (-1) or after (1) another, going round. */
export function nextSortKey(key: SortKey, step: 1 | -1): SortKey {
  const count = SORT_KEYS.length;
  return SORT_KEYS[(SORT_KEYS.indexOf(key) + step + count) % count] ?? "self";
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

/** Functions in order: numbers from the largest, texts and pids from the smallest, or the reverse. */
export function sortFunctions(
  rows: readonly FunctionRow[],
  key: SortKey,
  reverse: boolean,
): FunctionRow[] {
  const order = FUNCTION_ORDERS[key];
  const sign = reverse ? -1 : 1;
  return rows.toSorted((a, b) => sign * order(a, b) || a.function.id - b.function.id);
}

/** A process and how deep it stands below others that are shown. */
export interface PlacedProcess {
  readonly row: ProcessRow;
  readonly depth: number;
}

const PROCESS_ORDERS: Readonly<Record<SortKey, Compare<ProcessRow>>> = {
  self: (a, b) => b.samples - a.samples,
  total: (a, b) => b.samples - a.samples,
  name: (a, b) => byText(a.comm, b.comm),
  module: (a, b) => byText(a.runtimes.join(), b.runtimes.join()) || b.samples - a.samples,
  pid: (a, b) => a.pid - b.pid,
};

/** Processes in order, children under their parents where these have samples too. */
export function sortProcesses(
  rows: readonly ProcessRow[],
  key: SortKey,
  reverse: boolean,
): PlacedProcess[] {
  const order = PROCESS_ORDERS[key];
  const sign = reverse ? -1 : 1;
  const sorted = rows.toSorted((a, b) => sign * order(a, b) || a.pid - b.pid);
  const present = new Set(sorted.map((row) => row.pid));
  const children = new Map<number, ProcessRow[]>();
  const roots: ProcessRow[] = [];
  for (const row of sorted) {
    if (row.parentPid === row.pid || !present.has(row.parentPid)) {
      roots.push(row);
      continue;
    }
    const siblings = children.get(row.parentPid);
    if (siblings) siblings.push(row);
    else children.set(row.parentPid, [row]);
  }
  const placed: PlacedProcess[] = [];
  const seen = new Set<ProcessRow>();
  const place = (row: ProcessRow, depth: number): void => {
    if (seen.has(row)) return;
    seen.add(row);
    placed.push({ row, depth });
    for (const child of children.get(row.pid) ?? []) place(child, Math.min(depth + 1, 8));
  };
  for (const root of roots) place(root, 0);
  // Parents that reused pids could make a ring: nobody is left out.
  for (const row of sorted) place(row, 0);
  return placed;
}
