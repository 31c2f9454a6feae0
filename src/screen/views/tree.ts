/** Shows who called whom, as a tree of rows. */
import { type CallTree, ROOT } from "../../model/call-tree.ts";
import { markedName } from "../../text/awaits.ts";
import { baseName, RUNTIME_LABELS } from "../../text/columns.ts";
import { bar, cell, displayWidth, percent, truncate } from "../../text/format.ts";
import { spanText } from "../span.ts";
import { listOf, visibleRows } from "../state/rows.ts";
import { rowOf } from "../state/selectors.ts";
import type { ViewState } from "../state/state.ts";
import type { Theme } from "../theme.ts";
import { toggleRow } from "./tree-keys.ts";
import type { Body, BodyInput, View } from "./view.ts";

/** No more rows are listed: nobody scrolls further. */
const MAX_ROWS = 20_000;

/** Below this many cells a name needs the room of its own share. */
const NARROW = 60;

/** Indentation stops growing here: names need room. */
const MAX_INDENT = 30;

/** A node that is listed. */
interface TreeRow {
  readonly node: number;
  /** So many forks are above it: chains of only children do not indent. */
  readonly indent: number;
  readonly isOpen: boolean;
  readonly hasChildren: boolean;
}

/**
 * Lists the rows of the open part of a tree. A child that has nearly all of its parent stands below it
 * without indentation, so that deep stacks stay readable on 80 columns.
 */
function treeRows(tree: CallTree, expanded: ReadonlySet<string>): TreeRow[] {
  const rows: TreeRow[] = [];
  const visit = (node: number, indent: number): void => {
    if (rows.length >= MAX_ROWS) return;
    const children = tree.children(node);
    const isOpen = expanded.has(rowOf(tree, node));
    rows.push({ node, indent, isOpen, hasChildren: children.length > 0 });
    if (!isOpen) return;
    const only = children.length === 1;
    for (const child of children) visit(child, only ? indent : indent + 1);
  };
  for (const child of tree.children(ROOT)) visit(child, 0);
  return rows;
}

function treeBody({ session, tick, width, height, theme }: BodyInput): Body | undefined {
  const { state, selectors } = session;
  const { tree, seconds } = selectors.tree(tick, state);
  const rows = treeRows(tree, selectors.openRows(tick, state));
  if (rows.length === 0) return undefined;
  const ids = rows.map(({ node }) => rowOf(tree, node));
  const page = Math.max(0, height - 1);
  const shown = visibleRows(listOf(rows, ids), state, page);
  const lines = shown.rows.map((row, i) =>
    treeLine(tree, row, i === shown.selected, width, state, theme),
  );
  const order = state.bottomUp ? "innermost first" : "outermost first";
  const columns = width < NARROW ? " TOTAL% LANG " : " TOTAL%  SELF% LANG ";
  const heading = `${columns}  ${order}, ${spanText(state, seconds)}`;
  return {
    lines: [theme.dim(cell(heading, width - 1, theme.glyphs)), ...lines],
    ids,
    page,
    ...(shown.row ? { selected: shown.row } : {}),
  };
}

const BAR_CELLS = 10;

function treeLine(
  tree: CallTree,
  { node, indent, isOpen, hasChildren }: TreeRow,
  isSelected: boolean,
  width: number,
  state: ViewState,
  theme: Theme,
): string {
  const { glyphs } = theme;
  const info = tree.functionOf(node);
  const total = percent(tree.total(node), tree.samples).padStart(6);
  const self = percent(tree.self(node), tree.samples).padStart(6);
  const lang = cell(RUNTIME_LABELS[info.runtime], 6, glyphs);
  const mark = !hasChildren ? " " : isOpen ? glyphs.open : glyphs.closed;
  const space = " ".repeat(Math.min(indent, MAX_INDENT));
  const pointer = isSelected ? glyphs.pointer : " ";
  const before = width < NARROW ? `${pointer}${total} ` : `${pointer}${total} ${self} `;
  const withBar = width >= 100;
  const room = width - 1 - before.length - 7 - space.length - 2 - (withBar ? BAR_CELLS + 1 : 0);
  const module = baseName(info.module);
  const name = truncate(
    markedName(theme.nameOf(info), tree.awaits(node)),
    Math.max(8, room),
    "middle",
    glyphs,
  );
  const rest = room - displayWidth(name) - 2;
  const where =
    module !== "" && rest >= 8 ? truncate(module, Math.min(rest, 30), "middle", glyphs) : "";
  const isMatch = state.filter?.hasFunctionTerms === true && state.filter.matchesFunction(info);
  const share = tree.samples > 0 ? tree.total(node) / tree.samples : 0;
  const drawn = withBar ? `${cell(bar(share, BAR_CELLS, glyphs), BAR_CELLS, glyphs)} ` : "";
  if (isSelected) {
    const line = `${before}${lang} ${drawn}${space}${mark} ${name}  ${where}`;
    return theme.inverse(cell(line, width - 1, glyphs));
  }
  const paint = theme.runtime[info.runtime];
  const shown = isMatch ? theme.match(name) : name;
  const place = where === "" ? "" : `  ${theme.dim(where)}`;
  return `${before}${paint(lang)} ${drawn === "" ? "" : paint(drawn)}${space}${mark} ${shown}${place}`;
}

export const treeView: View = {
  id: "tree",
  key: { name: "3", help: "tree: who called whom" },
  keys: ["samples", "tree", "names"],
  makeBody: () => treeBody,
  open: toggleRow,
};
