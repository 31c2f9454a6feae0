/** Which rows of a list stand in the window, and where the selection goes in it. */
import type { Motion, ViewState } from "./view.ts";

/** Where the selection goes; an absent one starts at the first row. */
export function moveIndex(motion: Motion, index: number, count: number, page: number): number {
  if (motion === "first") return 0;
  if (motion === "last") return count - 1;
  if (index < 0) return 0;
  const by = { up: -1, down: 1, "page-up": -page, "page-down": page }[motion];
  return Math.max(0, Math.min(count - 1, index + by));
}

/** The first row to show so that `index` is in the window and the window is full where it can be. */
export function windowOffset(offset: number, index: number, count: number, page: number): number {
  const size = Math.max(1, page);
  let first = offset;
  if (index >= 0) first = Math.max(index - size + 1, Math.min(index, first));
  return Math.max(0, Math.min(first, count - size));
}

/** Rows in the order that is held; those that are new to it come after it, in their own order. */
export function holdOrder<T>(
  rows: readonly T[],
  idOf: (row: T) => number,
  ids: readonly number[] | undefined,
): readonly T[] {
  if (!ids) return rows;
  const places = new Map(ids.map((id, place) => [id, place]));
  const place = (row: T): number => places.get(idOf(row)) ?? ids.length;
  return rows.toSorted((a, b) => place(a) - place(b));
}

/** The rows of the window and where the selection stands in it. */
export interface VisibleRows<T> {
  readonly rows: readonly T[];
  readonly first: number;
  /** Index in `rows` of the one that is selected, or -1. */
  readonly selected: number;
  readonly count: number;
}

/** Cuts the window out of all rows, so that the selected one is in it. */
export function visibleRows<T>(
  all: readonly T[],
  idOf: (row: T) => number,
  state: ViewState,
  page: number,
): VisibleRows<T> {
  const id = state.selected[state.view];
  const index = id === undefined ? -1 : all.findIndex((row) => idOf(row) === id);
  const first = windowOffset(state.offset[state.view], index, all.length, page);
  const rows = all.slice(first, first + Math.max(0, page));
  return { rows, first, selected: index < 0 ? -1 : index - first, count: all.length };
}
