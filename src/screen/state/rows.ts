/** Decides which rows of a list stand in the window, and where the selection goes in it. */
import type { ViewState } from "./state.ts";

/** The selection moves so in a list. */
export type Motion = "up" | "down" | "page-up" | "page-down" | "first" | "last";

/** Says where the selection goes; an absent one starts at the first row. */
export function moveIndex(motion: Motion, index: number, count: number, page: number): number {
  if (motion === "first") return 0;
  if (motion === "last") return count - 1;
  if (index < 0) return 0;
  const by = { up: -1, down: 1, "page-up": -page, "page-down": page }[motion];
  return Math.max(0, Math.min(count - 1, index + by));
}

/** Finds the first row to show so that `index` is in the window and the window is full where it can be. */
export function windowOffset(offset: number, index: number, count: number, page: number): number {
  const size = Math.max(1, page);
  let first = offset;
  if (index >= 0) first = Math.max(index - size + 1, Math.min(index, first));
  return Math.max(0, Math.min(first, count - size));
}

/** Puts rows into the order that is held; rows that are new to it come after it, in their own order. */
export function holdOrder<T>(
  rows: readonly T[],
  idOf: (row: T) => string,
  ids: readonly string[] | undefined,
): readonly T[] {
  if (!ids) return rows;
  const places = new Map(ids.map((id, place) => [id, place]));
  const place = (row: T): number => places.get(idOf(row)) ?? ids.length;
  return rows.toSorted((a, b) => place(a) - place(b));
}

/** The rows of a list in their order. */
export interface ListRows<Row> {
  readonly length: number;
  /** Their ids: whoever moves the selection needs those of all. */
  readonly ids: readonly string[];
  /** The rows from one place up to another. */
  slice(first: number, end: number): readonly Row[];
}

/** Makes a list of all its rows and their ids. */
export const listOf = <Row>(rows: readonly Row[], ids: readonly string[]): ListRows<Row> => ({
  length: rows.length,
  ids,
  slice: (first, end) => rows.slice(first, end),
});

/** The rows of the window and where the selection stands in it. */
export interface VisibleRows<T> {
  readonly rows: readonly T[];
  /** The index of the selected row in `rows`, or -1. */
  readonly selected: number;
}

/** Cuts the window out of a list so that the selected row is in it. */
export function visibleRows<T>(list: ListRows<T>, state: ViewState, page: number): VisibleRows<T> {
  const id = state.selected[state.view];
  const index = id === undefined ? -1 : list.ids.indexOf(id);
  const first = windowOffset(state.offset[state.view] ?? 0, index, list.length, page);
  const rows = list.slice(first, first + Math.max(0, page));
  return { rows, selected: index < 0 ? -1 : index - first };
}
