/** Draws the rows of a list that stand in the window, under their headings. */
import { type ListRows, visibleRows } from "../state/rows.ts";
import { headingRow, listRow, type TableLayout } from "../table.ts";
import type { Paint } from "../theme.ts";
import type { Body, BodyInput } from "./view.ts";

/** Says how the cell of a column is painted. */
export type PaintOf<Row> = (row: Row, columnId: string) => Paint | undefined;

/** Makes the body of a list. */
export function listBody<Row, Context>(
  table: TableLayout<Row, Context>,
  list: ListRows<Row>,
  context: Context,
  { session, width, height, theme }: BodyInput,
  paintOf: PaintOf<Row> = () => undefined,
): Body {
  const { state } = session;
  const page = Math.max(0, height - 1);
  const shown = visibleRows(list, state, page);
  const layout = table.fit(width, shown.rows, context);
  const lines = shown.rows.map((row, i) =>
    listRow(layout, row, context, i === shown.selected, (id) => paintOf(row, id), theme),
  );
  return {
    lines: [headingRow(layout, state.sort, state.reverse, theme), ...lines],
    get ids() {
      return list.ids;
    },
    page,
    ...(shown.row ? { selected: shown.row } : {}),
  };
}
