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
  /** Their ids: whoever moves the selection needs those of all. What cannot be selected has an empty one. */
  readonly ids: readonly string[];
  /** The ids of the rows from one place up to another. */
  idsOf(first: number, end: number): readonly string[];
  /** The rows from one place up to another. */
  slice(first: number, end: number): readonly Row[];
  /** What a row has of that by which the list is sorted, where that is an amount. */
  amountOf?(row: Row): number;
}

/** Makes a list of all its rows and their ids. */
export const listOf = <Row>(
  rows: readonly Row[],
  ids: readonly string[],
  amountOf?: (row: Row) => number,
): ListRows<Row> => ({
  length: rows.length,
  ids,
  idsOf: (first, end) => ids.slice(first, end),
  slice: (first, end) => rows.slice(first, end),
  ...(amountOf ? { amountOf } : {}),
});

/** The first row of the window, and the row that is selected: -1 where the list has none that can be. */
export interface Sight {
  readonly first: number;
  readonly at: number;
}

/** A row that was chosen by nobody stays selected while it has so much of what the first one has. */
const STAYS = 1 / 2;

/**
 * Finds the window of a list and its selected row. There is always one. A row that was chosen stays selected as long as it
 * is in sight, wherever it moves; then its place is. Where none was chosen it is the first, and that row as long as it is in
 * sight and not far behind, so that a key is about the row that was read.
 */
export function sightOf<Row>(list: ListRows<Row>, state: ViewState, page: number): Sight {
  const { view } = state;
  const chosen = state.selected[view];
  const stood = state.stood[view];
  const top = windowOffset(state.offset[view] ?? 0, -1, list.length, page);
  const end = top + Math.max(1, page);
  const wanted = chosen ?? stood?.id;
  const seen = wanted === undefined ? -1 : list.idsOf(top, end).indexOf(wanted);
  if (seen >= 0 && (chosen !== undefined || isNear(list, top + seen))) {
    return { first: top, at: top + seen };
  }
  const place = chosen === undefined ? 0 : Math.min(stood?.place ?? 0, list.length - 1);
  const at = nearest(list.idsOf(0, Math.max(end, place + 2)), place);
  // What stands above the first row that can be selected is seen with it.
  return {
    first: at === nearest(list.idsOf(0, end), 0) ? 0 : windowOffset(top, at, list.length, page),
    at,
  };
}

/** The row at a place, or the next one that can be selected, or the one before. */
function nearest(ids: readonly string[], place: number): number {
  const next = ids.findIndex((id, i) => i >= place && id !== "");
  return next >= 0 ? next : ids.findLastIndex((id) => id !== "");
}

function isNear<Row>(list: ListRows<Row>, at: number): boolean {
  const amount = (place: number): number => {
    const [row] = list.slice(place, place + 1);
    return row === undefined ? 0 : (list.amountOf?.(row) ?? 0);
  };
  return at === 0 || amount(at) >= STAYS * amount(0);
}

/** The row of a list that is selected, and where it stands. */
export interface SelectedRow {
  readonly id: string;
  readonly place: number;
}

/** The rows of the window and where the selection stands in it. */
export interface VisibleRows<T> {
  readonly rows: readonly T[];
  /** The index of the selected row in `rows`, or -1. */
  readonly selected: number;
  readonly row?: SelectedRow;
}

/** Cuts the window out of a list so that the selected row is in it. */
export function visibleRows<T>(list: ListRows<T>, state: ViewState, page: number): VisibleRows<T> {
  const { first, at } = sightOf(list, state, page);
  const rows = list.slice(first, first + Math.max(0, page));
  const [id = ""] = at < 0 ? [] : list.idsOf(at, at + 1);
  return {
    rows,
    selected: at < 0 ? -1 : at - first,
    ...(id === "" ? {} : { row: { id, place: at } }),
  };
}

/** The selected one among rows that are all in sight: what was chosen, else what was selected before, else the first. */
export function selectedAmong(
  ids: readonly string[],
  { view, selected, stood }: ViewState,
): SelectedRow | undefined {
  const wanted = selected[view] ?? stood[view]?.id ?? "";
  const place = Math.max(0, ids.indexOf(wanted));
  const id = ids[place];
  return id === undefined ? undefined : { id, place };
}
