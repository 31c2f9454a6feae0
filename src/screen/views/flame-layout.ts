/** Lays out the frames of a flame in whole cells; the outermost are on top. */
import { type CallTree, ROOT } from "../../model/call-tree.ts";

/** A frame that is at least one cell wide. */
export interface FlameFrame {
  readonly node: number;
  readonly row: number;
  /** It begins in this cell. */
  readonly left: number;
  readonly cells: number;
}

/** The frames of each row come from the left. */
export type FlameRows = readonly (readonly FlameFrame[])[];

/**
 * Lays out what is below `root`. Ancestors of the root stand above it over the whole width. Frames
 * that would get no cell are left out with all that is below them; the order is by name, so that
 * frames keep their places.
 */
export function layFlame(tree: CallTree, root: number, width: number, height: number): FlameRows {
  const rows: FlameFrame[][] = [];
  const ancestors: number[] = [];
  for (let node = tree.parent(root); node > ROOT; node = tree.parent(node)) ancestors.unshift(node);
  // The nearest ancestors say where one is.
  for (const node of ancestors.slice(-Math.max(0, Math.min(3, height - 4)))) {
    rows.push([{ node, row: rows.length, left: 0, cells: width }]);
  }
  const whole = tree.total(root);
  if (whole <= 0) return rows;
  const visit = (node: number, row: number, start: number): void => {
    if (row >= height) return;
    const left = Math.round((start / whole) * width);
    const end = Math.round(((start + tree.total(node)) / whole) * width);
    if (end <= left) return;
    rows[row] ??= [];
    rows[row]?.push({ node, row, left, cells: end - left });
    let at = start;
    for (const child of tree.childrenByName(node)) {
      visit(child, row + 1, at);
      at += tree.total(child);
    }
  };
  visit(root, rows.length, 0);
  return rows;
}

/** Finds the frame that a direction leads to. */
export function steerFlame(
  rows: FlameRows,
  from: FlameFrame | undefined,
  to: "up" | "down" | "left" | "right",
): FlameFrame | undefined {
  if (!from) return rows.flat()[0];
  if (to === "left" || to === "right") {
    const row = rows[from.row] ?? [];
    return row[row.indexOf(from) + (to === "left" ? -1 : 1)] ?? from;
  }
  const next = rows[from.row + (to === "up" ? -1 : 1)] ?? [];
  const middle = from.left + from.cells / 2;
  if (to === "up") {
    return next.find((one) => one.left <= middle && middle < one.left + one.cells) ?? from;
  }
  const below = next.filter(
    (one) => one.left >= from.left && one.left + one.cells <= from.left + from.cells,
  );
  // The widest is the hottest.
  return below.reduce((best, one) => (one.cells > best.cells ? one : best), below[0] ?? from);
}
