/** Shows the call tree as a flame: frames are as wide as their share. */
import { type CallTree, ROOT } from "../../model/call-tree.ts";
import type { Filter } from "../../model/filter/filter.ts";
import { markedName } from "../../text/awaits.ts";
import { baseName, RUNTIME_LABELS } from "../../text/columns.ts";
import { cell, displayWidth, percent, truncate } from "../../text/format.ts";
import type { Runtime } from "../../tick/runtimes.ts";
import type { Unit } from "../../tick/tick.ts";
import { unitRow } from "../../tick/units.ts";
import { spanText } from "../span.ts";
import { Memo } from "../state/memo.ts";
import { selectedAmong } from "../state/rows.ts";
import { nodeOf, rowOf } from "../state/selectors.ts";
import { zoomIn, zoomOut } from "../state/transitions.ts";
import type { Theme } from "../theme.ts";
import { type FlameFrame, type FlameRows, layFlame, steerFlame } from "./flame-layout.ts";
import type { Body, BodyInput, View } from "./view.ts";

/** Frames keep their places so long: nobody can read what moves each refresh, and it sends a whole screen. */
const HOLD_MS = 5000;

function flameBody(
  { session, tick, width, height, theme }: BodyInput,
  layout: Memo<FlameRows>,
): Body | undefined {
  const { state, selectors } = session;
  const { tree, seconds } = selectors.tree(tick, state);
  const cells = Math.max(1, width - 1);
  const depth = Math.max(1, height - 2);
  const root =
    state.zoom.map((row) => nodeOf(tree, row)).findLast((node) => node !== undefined) ?? ROOT;
  const period = Math.floor(tick.time / HOLD_MS);
  const rows = layout.of([tree, root, cells, depth, state.frozen, selectors.pending, period], () =>
    layFlame(tree, root, cells, depth),
  );
  const frames = rows.flat();
  if (frames.length === 0) return undefined;
  const ids = frames.map(({ node }) => rowOf(tree, node));
  const row = selectedAmong(ids, state);
  const selected = frames[row?.place ?? -1];
  const filter = state.filter?.hasFunctionTerms ? state.filter : undefined;
  const painter: Painter = { tree, theme, filter, selected };
  const lines = rows.map((row) => flameLine(row, painter));
  const matches = filter ? frames.filter(({ node }) => named(tree, node, filter)) : [];
  const blank = Math.max(0, depth - lines.length);
  const order = state.bottomUp ? "innermost on top" : "outermost on top";
  const found = filter ? `, ${matchText(tree, filter)}` : "";
  const head = ` ${order}, ${spanText(state, seconds)}${found}`;
  return {
    lines: [
      theme.dim(cell(head, cells, theme.glyphs).trimEnd()),
      ...lines,
      ...new Array<string>(blank).fill(""),
      ` ${frameText(tree, selected?.node ?? root, tick.unit, cells - 1, theme)}`,
    ],
    ids,
    page: 1,
    ...(row ? { selected: row } : {}),
    matches: matches.map(({ node }) => rowOf(tree, node)),
    steer: (from, to) => {
      const next = steerFlame(rows, frames[ids.indexOf(from ?? "")] ?? selected, to);
      return next && rowOf(tree, next.node);
    },
  };
}

interface Painter {
  readonly tree: CallTree;
  readonly theme: Theme;
  readonly filter: Filter | undefined;
  readonly selected: FlameFrame | undefined;
}

const named = (tree: CallTree, node: number, filter: Filter): boolean =>
  node !== ROOT && filter.matchesFunction(tree.functionOf(node));

/** Says which share of the samples has a function that the filter names. */
function matchText(tree: CallTree, filter: Filter): string {
  let samples = 0;
  const visit = (node: number): void => {
    for (const child of tree.children(node)) {
      if (named(tree, child, filter)) samples += tree.total(child);
      else visit(child);
    }
  };
  visit(ROOT);
  return `${percent(samples, tree.samples)} % in "${filter.text}", n next`;
}

function flameLine(row: readonly FlameFrame[], painter: Painter): string {
  let line = "";
  let at = 0;
  for (const frame of row) {
    line += " ".repeat(frame.left - at) + frameCells(frame, painter);
    at = frame.left + frame.cells;
  }
  return line;
}

/** What stands between the parts of a name. A dot in a native one belongs to a file, or begins the number of a clone. */
const NATIVE_JOINT = /::/g;
const JOINT = /::|\./g;

/**
 * Shortens a name to so many cells: takes packages or namespaces from its beginning as long as it does not fit, and cuts
 * what is left at its end. Of a place in a file without symbols, `file+0x1234`, the file is what a reader knows.
 */
export function fittingName(
  name: string,
  runtime: Runtime,
  room: number,
  glyphs: Theme["glyphs"],
): string {
  // Template arguments and what stands in brackets or parentheses stay as they are.
  const plain = /^[^<([]*/.exec(name)?.[0] ?? "";
  let short = name;
  for (const { index, 0: joint } of plain.matchAll(runtime === "native" ? NATIVE_JOINT : JOINT)) {
    if (displayWidth(short) <= room) break;
    const rest = name.slice(index + joint.length);
    if (rest !== "" && index > 0) short = rest;
  }
  return truncate(short, room, "end", glyphs);
}

/** Draws one frame: an edge, then its name; without colours a line shows how far it goes. */
function frameCells(frame: FlameFrame, { tree, theme, filter, selected }: Painter): string {
  const { glyphs } = theme;
  const { node, cells } = frame;
  const info = tree.functionOf(node);
  const room = cells - 1;
  const whole = markedName(theme.nameOf(info), tree.awaits(node));
  const name = room >= 3 ? fittingName(whole, info.runtime, room, glyphs) : "";
  const left = room - displayWidth(name);
  const fill = theme.hasBlocks ? " " : glyphs.unicode ? "─" : "-";
  const gap = name !== "" && left > 0 ? " " : "";
  // Many are as narrow as one cell: its colour says enough.
  if (cells === 1 && theme.hasBlocks && frame !== selected) return theme.block[info.runtime](" ");
  const text = glyphs.edge + name + gap + fill.repeat(Math.max(0, left - gap.length));
  if (frame === selected) return theme.inverse(theme.bold(text));
  const paint = node === ROOT ? theme.dim : theme.block[info.runtime];
  return filter && named(tree, node, filter) ? theme.match(paint(text)) : paint(text);
}

/** Draws the line about the selected frame: all that its cells have no room for. */
function frameText(tree: CallTree, node: number, unit: Unit, width: number, theme: Theme): string {
  const total = `${percent(tree.total(node), tree.samples)} %`;
  if (node === ROOT) {
    return theme.bold(
      truncate(`all: ${unitRow(unit).text(tree.samples)}`, width, "end", theme.glyphs),
    );
  }
  const info = tree.functionOf(node);
  const module = baseName(info.module);
  const parts = [
    `${total} total`,
    `${percent(tree.self(node), tree.samples)} % self`,
    RUNTIME_LABELS[info.runtime],
    ...(module === "" ? [] : [module]),
  ];
  const rest = `   ${parts.join("   ")}`;
  const name = truncate(
    markedName(theme.nameOf(info), tree.awaits(node)),
    Math.max(8, width - displayWidth(rest)),
    "middle",
    theme.glyphs,
  );
  return theme.bold(truncate(name + rest, width, "end", theme.glyphs));
}

export const flameView: View = {
  id: "flame",
  key: { name: "4", help: "flame: the same as a picture" },
  keys: ["samples", "tree", "names", "matches"],
  makeBody: () => {
    const layout = new Memo<FlameRows>();
    return (input) => flameBody(input, layout);
  },
  open: (session, row) => {
    if (session.state.zoom.at(-1) !== row) session.update(zoomIn, row);
  },
  takeBack: zoomOut,
};
