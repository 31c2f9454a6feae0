/** A function from near: callers, lines and callees beside each other, then its processes. */
import type { Tick } from "../collector/tick.ts";
import { RUNTIME_LABELS } from "../model/columns.ts";
import { type FunctionDetail, functionDetail, type Neighbour } from "../model/detail.ts";
import { cell, percent } from "../model/format.ts";
import { RECENT_SECONDS } from "../model/state.ts";
import { windowOffset } from "../model/window.ts";
import type { Body } from "./body.ts";
import { wrapWords } from "./help.ts";
import type { Theme } from "./paint.ts";
import type { Session } from "./session.ts";

/** A row that can be opened is a caller or a callee: its id says which and of what function. */
const rowId = (functionId: number, isCallee: boolean): number =>
  (functionId + 8) * 2 + (isCallee ? 1 : 0);

/** The function of a row. */
export const functionOfRow = (id: number): number => Math.floor(id / 2) - 8;

interface Line {
  readonly text: string;
  /** Of rows that can be opened. */
  readonly id?: number;
}

interface Part {
  readonly heading: string;
  readonly lines: readonly Line[];
}

function neighbours(
  list: readonly Neighbour[],
  total: number,
  none: string,
  isCallee: boolean,
  theme: Theme,
): Line[] {
  return list.map(({ function: info, count }) => ({
    text: `${percent(count, total).padStart(5)} % ${info ? theme.nameOf(info) : none}`,
    ...(info ? { id: rowId(info.id, isCallee) } : {}),
  }));
}

function parts(detail: FunctionDetail, theme: Theme): Part[] {
  const { total } = detail;
  const lines = detail.lines.map(({ line, count }) => ({
    text: `${percent(count, total).padStart(5)} % line ${line}`,
  }));
  return [
    { heading: "CALLERS", lines: neighbours(detail.callers, total, "(outermost)", false, theme) },
    ...(lines.length > 0 ? [{ heading: "LINES", lines }] : []),
    { heading: "CALLEES", lines: neighbours(detail.callees, total, "(itself)", true, theme) },
  ];
}

let kept: { key: readonly unknown[]; detail: FunctionDetail } | undefined;

/** A key that only moves the selection does not look at the stacks again. */
function detailOf(session: Session, tick: Tick, ticks: readonly Tick[]): FunctionDetail {
  const { filter, kernel, nativeFrames, opened = -1 } = session.state;
  const key = [tick, ticks.length, opened, filter, kernel, nativeFrames, session];
  if (kept?.key.every((part, i) => part === key[i])) return kept.detail;
  const options = { ...(filter ? { filter } : {}), kernel, nativeFrames, parents: session.family };
  const detail = functionDetail(ticks, opened, options);
  kept = { key, detail };
  return detail;
}

/** The view. */
export function detailBody(
  session: Session,
  tick: Tick,
  width: number,
  height: number,
  theme: Theme,
): Body {
  const { glyphs } = theme;
  const ticks = session.history.last(RECENT_SECONDS, tick);
  const detail = detailOf(session, tick, ticks);
  const info = detail.function;
  const text = (line: string): string =>
    ` ${cell(line, width - 2, "left", "middle", glyphs).trimEnd()}`;
  if (!info) {
    const lines = ["", text(`It is in no stack of the last ${RECENT_SECONDS} s.`)];
    return { lines, ids: [], page: 1 };
  }
  const place = info.module === "" ? "" : `   ${info.module}`;
  const span = `${Math.round(ticks.reduce((sum, one) => sum + one.intervalSeconds, 0))} s`;
  const head = [
    theme.bold(text(theme.nameOf(info))),
    text(
      `${RUNTIME_LABELS[info.runtime]}   self ${percent(detail.self, detail.samples)} %   total ${percent(detail.total, detail.samples)} % of ${span}${place}`,
    ),
    ...(info.whyUnnamed ? wrapWords(`no name: ${info.whyUnnamed}`, width - 2).map(text) : []),
    "",
  ];
  const bodies = detail.bodies
    .map(({ body, count }) => `${percent(count, detail.total)} % ${body}`)
    .join("   ");
  const count = detail.processes.length;
  const processes = detail.processes
    .slice(0, 20)
    .map((one) => `${percent(one.count, detail.total)} % ${one.pid} ${one.comm}`)
    .join("   ");
  const foot = [
    "",
    ...(bodies === "" ? [] : [text(`code: ${bodies}`)]),
    text(`${count} process${count === 1 ? "" : "es"}: ${processes}`),
  ];
  const room = Math.max(2, height - head.length - foot.length - 1);
  const columns = parts(detail, theme);
  const ids = columns.flatMap((part) =>
    part.lines.flatMap(({ id }) => (id === undefined ? [] : [id])),
  );
  const drawing = { room, width, theme, selected: session.state.selected.function };
  const lines = width >= 70 ? sideBySide(columns, drawing) : stacked(columns, drawing);
  return { lines: [...head, ...lines, ...foot], ids, page: room };
}

interface Drawing {
  readonly room: number;
  readonly width: number;
  readonly theme: Theme;
  readonly selected: number | undefined;
}

/** The part of a column that is shown: the selected row is in it. */
function shownLines(part: Part, room: number, selected: number | undefined): readonly Line[] {
  const at = selected === undefined ? -1 : part.lines.findIndex(({ id }) => id === selected);
  const first = windowOffset(0, at, part.lines.length, room);
  return part.lines.slice(first, first + room);
}

function lineText(line: Line | undefined, cells: number, { theme, selected }: Drawing): string {
  if (!line) return " ".repeat(cells);
  const isSelected = line.id !== undefined && line.id === selected;
  const mark = isSelected ? theme.glyphs.pointer : " ";
  const text = mark + cell(line.text, cells - 1, "left", "middle", theme.glyphs);
  return isSelected ? theme.inverse(text) : text;
}

function sideBySide(columns: readonly Part[], drawing: Drawing): string[] {
  const { room, width, theme, selected } = drawing;
  // Lines need less room than names.
  const forLines = columns.length === 3 ? Math.min(20, Math.floor(width / 4)) : 0;
  const others = columns.length === 3 ? columns.length - 1 : columns.length;
  const each = Math.floor((width - 2 - forLines - columns.length) / others);
  const cells = (part: Part): number => (part.heading === "LINES" ? forLines : each);
  const shown = columns.map((part) => shownLines(part, room, selected));
  const heading = columns
    .map((part) => theme.bold(cell(` ${part.heading}`, cells(part), "left", "end", theme.glyphs)))
    .join(" ");
  const tallest = Math.max(...shown.map((lines) => lines.length));
  const rows = Array.from({ length: tallest }, (_, i) =>
    columns.map((part, c) => lineText(shown[c]?.[i], cells(part), drawing)).join(" "),
  );
  return [heading, ...rows.map((row) => row.trimEnd())];
}

function stacked(columns: readonly Part[], drawing: Drawing): string[] {
  const { room, width, theme, selected } = drawing;
  const each = Math.max(1, Math.floor(room / columns.length) - 1);
  return columns.flatMap((part) => [
    ` ${theme.bold(part.heading)}`,
    ...shownLines(part, each, selected).map((line) => lineText(line, width - 1, drawing).trimEnd()),
  ]);
}
