/** Rows of a list as strings of exact width. */
import { type Column, type PlacedColumn, placeColumns } from "../model/columns.ts";
import { cell } from "../model/format.ts";
import type { SortKey } from "../model/sort.ts";
import type { Paint, Theme } from "./paint.ts";

/** Cells before the first column: the pointer of the selection. */
const MARGIN = 1;

/** Columns placed in a window, made once for each width. */
export interface Layout<Row, Context> {
  readonly width: number;
  readonly placed: readonly PlacedColumn<Row, Context>[];
}

/** Places the columns in a window of `width` cells. */
export function layOut<Row, Context>(
  columns: readonly Column<Row, Context>[],
  width: number,
): Layout<Row, Context> {
  return { width, placed: placeColumns(columns, width - MARGIN) };
}

/** Which column shows the order. */
const SORT_COLUMNS: Readonly<Record<SortKey, readonly string[]>> = {
  self: ["self", "share"],
  total: ["total", "share"],
  name: ["name", "comm"],
  module: ["module", "runtimes"],
  pid: ["pid", "processes"],
};

/** The headings; an arrow and bold mark the column that gives the order. */
export function headingRow<Row, Context>(
  layout: Layout<Row, Context>,
  sort: SortKey,
  reverse: boolean,
  theme: Theme,
): string {
  const { glyphs } = theme;
  const descending = sort === "self" || sort === "total";
  const arrow = descending !== reverse ? glyphs.descending : glyphs.ascending;
  const cells = layout.placed.map(({ column, width }) => {
    const sorted = SORT_COLUMNS[sort].includes(column.id);
    const text = sorted ? `${arrow}${column.heading}` : column.heading;
    const padded = cell(text, width, column.align, "end", glyphs);
    return sorted ? theme.bold(padded) : theme.dim(padded);
  });
  return " ".repeat(MARGIN) + cells.join(" ");
}

/** One row. The selected one has a pointer and is inverse over the whole width. */
export function listRow<Row, Context>(
  layout: Layout<Row, Context>,
  row: Row,
  context: Context,
  selected: boolean,
  paintOf: (columnId: string) => Paint | undefined,
  theme: Theme,
): string {
  const { glyphs } = theme;
  let line = selected ? glyphs.pointer : " ";
  for (const [i, { column, width }] of layout.placed.entries()) {
    if (i > 0) line += " ";
    const text = cell(column.value(row, context), width, column.align, column.cut, glyphs);
    const paint = selected ? undefined : paintOf(column.id);
    line += paint ? paint(text) : text;
  }
  return selected ? theme.inverse(line) : line.trimEnd();
}
