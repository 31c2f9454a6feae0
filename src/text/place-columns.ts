/** Decides which columns fit into a window, and how wide they are. */
import type { Column } from "./columns.ts";

/** A column with the width that it got. */
export interface PlacedColumn<Row, Context> {
  readonly column: Column<Row, Context>;
  readonly width: number;
}

/**
 * Places columns in `width` cells with a space between them: those that give way first are left out,
 * then what is left over goes to the columns that grow.
 */
export function placeColumns<Row, Context>(
  columns: readonly Column<Row, Context>[],
  width: number,
): PlacedColumn<Row, Context>[] {
  let chosen = [...columns];
  // Columns are wanted at their preferred width before one that gives way earlier is shown at all.
  const wanted = (column: Column<Row, Context>): number =>
    column.giveWay === undefined
      ? column.width.min
      : Math.min(column.width.max, column.width.min + 4);
  const needed = (): number =>
    chosen.reduce((sum, column) => sum + wanted(column), 0) + chosen.length - 1;
  while (needed() > width) {
    const first = chosen.reduce((most, column) =>
      (column.giveWay ?? 0) > (most.giveWay ?? 0) ? column : most,
    );
    if (first.giveWay === undefined) break;
    chosen = chosen.filter((column) => column !== first);
  }
  const widths = chosen.map((column) => column.width.min);
  let left = width - widths.reduce((sum, cells) => sum + cells, 0) - (chosen.length - 1);
  if (left < 0) return shrink(chosen, widths, -left);
  // What is left fills columns up to their maximum, in order; then it goes to those that grow.
  chosen.forEach((column, i) => {
    const more = Math.min(left, column.width.max - column.width.min);
    widths[i] = column.width.min + more;
    left -= more;
  });
  const parts = chosen.reduce((sum, column) => sum + (column.width.grow ?? 0), 0);
  let spare = left;
  chosen.forEach((column, i) => {
    const more = parts > 0 ? Math.floor((left * (column.width.grow ?? 0)) / parts) : 0;
    widths[i] = (widths[i] ?? 0) + more;
    spare -= more;
  });
  const growing = chosen.findIndex((column) => column.width.grow !== undefined);
  if (growing >= 0) widths[growing] = (widths[growing] ?? 0) + spare;
  return chosen.map((column, i) => ({ column, width: widths[i] ?? 0 }));
}

/** Places columns in a window too narrow for the least: growing columns lose first, then the others. */
function shrink<Row, Context>(
  chosen: readonly Column<Row, Context>[],
  widths: number[],
  missing: number,
): PlacedColumn<Row, Context>[] {
  let less = missing;
  const order = [...chosen.keys()].sort(
    (a, b) => (chosen[b]?.width.grow ?? 0) - (chosen[a]?.width.grow ?? 0) || b - a,
  );
  for (const i of order) {
    const lost = Math.min(less, (widths[i] ?? 0) - (chosen[i]?.width.grow ? 4 : 0));
    widths[i] = (widths[i] ?? 0) - lost;
    less -= lost;
  }
  return chosen
    .map((column, i) => ({ column, width: widths[i] ?? 0 }))
    .filter(({ width }) => width > 0);
}
