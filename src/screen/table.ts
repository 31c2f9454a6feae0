/** Draws rows of a list as strings of exact width. */

import { isByAmount, type ViewSort } from "../model/sort.ts";
import type { Column } from "../text/columns.ts";
import { cell, displayWidth } from "../text/format.ts";
import { type PlacedColumn, placeColumns } from "../text/place-columns.ts";
import type { Paint, Theme } from "./theme.ts";

/** The pointer of the selection takes so many cells before the first column. */
const MARGIN = 1;

/** These columns were placed in a window. */
export interface Layout<Row, Context> {
  readonly width: number;
  readonly placed: readonly PlacedColumn<Row, Context>[];
}

/** Columns get wider in steps of so many cells, so that they rarely do. */
const STEP = 10;

/**
 * Places the columns in windows of changing width. What a growing column gets beyond its usual
 * width it takes only when a text needs it, and keeps it then: names stay beside their numbers on
 * wide terminals, nothing moves back and forth, and empty cells cost nothing to draw.
 */
export class TableLayout<Row, Context> {
  readonly #columns: readonly Column<Row, Context>[];
  #room: Layout<Row, Context> = { width: -1, placed: [] };
  #layout: Layout<Row, Context> = { width: -1, placed: [] };

  constructor(columns: readonly Column<Row, Context>[]) {
    this.#columns = columns;
  }

  /** Makes the layout for these rows. */
  fit(width: number, rows: readonly Row[], context: Context): Layout<Row, Context> {
    if (this.#room.width !== width) {
      const placed = placeColumns(this.#columns, width - MARGIN);
      this.#room = { width, placed };
      this.#layout = {
        width,
        placed: placed.map(({ column, width: most }) => ({
          column,
          width: Math.min(most, column.width.max),
        })),
      };
    }
    const placed = this.#layout.placed.map((one, i) => {
      const most = this.#room.placed[i]?.width ?? one.width;
      if (one.width >= most) return one;
      let need = one.width;
      for (const row of rows)
        need = Math.max(need, displayWidth(one.column.value(row, context, one.width)));
      if (need <= one.width) return one;
      return { column: one.column, width: Math.min(most, Math.ceil(need / STEP) * STEP) };
    });
    if (placed.some((one, i) => one !== this.#layout.placed[i])) this.#layout = { width, placed };
    return this.#layout;
  }
}

/** Draws the headings; an arrow and bold mark the column that gives the order. */
export function headingRow<Row, Context>(
  layout: Layout<Row, Context>,
  sort: ViewSort,
  reverse: boolean,
  theme: Theme,
): string {
  const { glyphs } = theme;
  const arrow = isByAmount(sort) !== reverse ? glyphs.descending : glyphs.ascending;
  const cells = layout.placed.map(({ column, width }) => {
    const sorted = column.sorts?.includes(sort) === true;
    const text = sorted ? `${arrow}${column.heading}` : column.heading;
    const padded = cell(text, width, glyphs, column.align);
    return sorted ? theme.bold(padded) : theme.dim(padded);
  });
  return " ".repeat(MARGIN) + cells.join(" ");
}

/** Draws one row. The selected one has a pointer and is inverse over the whole width. */
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
    const text = cell(column.value(row, context, width), width, glyphs, column.align, column.cut);
    const paint = selected ? undefined : paintOf(column.id);
    line += paint ? paint(text) : text;
  }
  return selected ? theme.inverse(line) : line.trimEnd();
}
