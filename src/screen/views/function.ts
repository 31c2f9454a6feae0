/** Shows a function from near: callers, lines and callees beside each other, then its processes. */

import { type FunctionDetail, functionDetail, type Neighbour } from "../../model/detail.ts";
import { isWaiting } from "../../model/waits/activity.ts";
import { type WaitingThread, waitingThreads } from "../../model/waits/holders.ts";
import { markedName } from "../../text/awaits.ts";
import { baseName, RUNTIME_LABELS } from "../../text/columns.ts";
import { cell, clean, displayWidth, percent, truncate } from "../../text/format.ts";
import { commandText } from "../../text/process-columns.ts";
import { wrapCells, wrapWords } from "../../text/wrap.ts";
import type { Tick } from "../../tick/tick.ts";
import { fitPieces, type Piece } from "../pieces.ts";
import { Memo } from "../state/memo.ts";
import { selectedAmong, windowOffset } from "../state/rows.ts";
import type { Session } from "../state/session.ts";
import { RECENT_SECONDS, type ViewState } from "../state/state.ts";
import { openPage } from "../state/transitions.ts";
import type { Theme } from "../theme.ts";
import { waitLines } from "./function-waits.ts";
import type { Body, BodyInput, View } from "./view.ts";

/** The id of the page. */
export const FUNCTION_PAGE = "function";

/** Returns the function whose page is open; undefined in other views. */
export const openFunction = ({ view, opened }: ViewState): number | undefined =>
  view === FUNCTION_PAGE && opened !== undefined ? Number(opened) : undefined;

/** The id of a row says whether it is a caller or a callee, and of which function. */
const rowId = (functionId: number, isCallee: boolean, awaits: boolean): string =>
  `${awaits ? "awaiting " : ""}${isCallee ? "callee" : "caller"} ${functionId}`;

interface Line {
  readonly share: string;
  readonly text: string;
  /** Only rows that can be opened have one. */
  readonly id?: string;
}

interface Part {
  readonly heading: string;
  readonly lines: readonly Line[];
}

/** A share takes so many cells, and a name has room for at least so many. */
const SHARE_CELLS = 8;
const MIN_CELLS = 8;

const LINES = "LINES";

/** A command line takes so many cells at most, and all processes so many lines. */
const COMMAND_CELLS = 60;
const PROCESS_LINES = 3;

const shareText = (count: number, total: number): string =>
  `${percent(count, total).padStart(5)} % `;

function neighbours(
  list: readonly Neighbour[],
  total: number,
  none: string,
  isCallee: boolean,
  theme: Theme,
): Line[] {
  return list.map(({ function: info, awaits = false, count }) => ({
    share: shareText(count, total),
    text: info ? markedName(theme.nameOf(info), awaits) : none,
    ...(info ? { id: rowId(info.id, isCallee, awaits) } : {}),
  }));
}

function parts(detail: FunctionDetail, theme: Theme): Part[] {
  const { total } = detail;
  // Lines of native code are known from the time on that they were looked up.
  const known = detail.lines.reduce((sum, { count }) => sum + count, 0);
  const lines = detail.lines.map(({ line, count, file }) => ({
    share: shareText(count, known),
    text: file ? `${baseName(file)}:${line}` : `line ${line}`,
  }));
  return [
    { heading: "CALLERS", lines: neighbours(detail.callers, total, "(outermost)", false, theme) },
    ...(lines.length > 0 ? [{ heading: LINES, lines }] : []),
    { heading: "CALLEES", lines: neighbours(detail.callees, total, "(itself)", true, theme) },
  ];
}

/** A key that only moves the selection does not look at the stacks again. */
function detailOf(
  session: Session,
  tick: Tick,
  ticks: readonly Tick[],
  memo: Memo<FunctionDetail>,
): FunctionDetail {
  const { state, lookedUp, selectors } = session;
  const { filter, kernel, nativeFrames, physical } = state;
  const opened = openFunction(state) ?? -1;
  const choice = [filter, kernel, nativeFrames, physical];
  const key = [tick, ticks.length, opened, ...choice, lookedUp.version];
  const options = { ...selectors.options(state), factsOf: lookedUp.factsOf };
  return memo.of(key, () => functionDetail(ticks, opened, options));
}

/** Who waits in the function, in the refresh that is looked at. */
function waitsOf(
  { state, selectors }: Session,
  tick: Tick,
  memo: Memo<readonly WaitingThread[]>,
): readonly WaitingThread[] {
  if (!isWaiting(tick)) return [];
  const { filter, kernel, nativeFrames, idle } = state;
  const opened = openFunction(state) ?? -1;
  const key = [tick, opened, filter, kernel, nativeFrames, idle];
  return memo.of(key, () => waitingThreads(tick, opened, selectors.options(state)));
}

function functionBody(
  { session, tick, width, height, theme }: BodyInput,
  memo: Memo<FunctionDetail>,
  waitMemo: Memo<readonly WaitingThread[]>,
): Body {
  const { glyphs } = theme;
  // What was sampled of other processes has no part in it.
  const isAlike = (one: Tick): boolean => one.pids.join() === tick.pids.join();
  const ticks = session.history.last(RECENT_SECONDS, tick).filter(isAlike);
  const detail = detailOf(session, tick, ticks, memo);
  const info = detail.function;
  const text = (line: string): string =>
    ` ${cell(line, width - 2, glyphs, "left", "middle").trimEnd()}`;
  const wrapped = (line: string): string[] => wrapWords(line, width - 2).map(text);
  if (!info) {
    const lines = ["", text(`It is in no stack of the last ${RECENT_SECONDS} s.`)];
    return { lines, ids: [], page: 1 };
  }
  const span = `${Math.round(ticks.reduce((sum, one) => sum + one.intervalSeconds, 0))} s`;
  const facts: readonly Piece[] = [
    { text: RUNTIME_LABELS[info.runtime], giveWay: 2 },
    { text: `self ${percent(detail.self, detail.samples)} %` },
    { text: `total ${percent(detail.total, detail.samples)} %` },
    { text: `of ${span}`, giveWay: 1 },
    { text: info.module, giveWay: 3, least: 12, cut: "start" },
  ];
  const head = [
    ...wrapCells(clean(theme.nameOf(info), glyphs.unicode), width - 2).map(
      (line) => ` ${theme.bold(line)}`,
    ),
    ` ${fitPieces(facts, width - 2, 3, theme)}`,
    ...(info.whyUnnamed ? wrapped(`no name: ${info.whyUnnamed}`) : []),
    ...(info.runtime === "native" && detail.lines.length === 0 && session.lookedUp.whyNoLines
      ? wrapped(`no lines: ${session.lookedUp.whyNoLines}`)
      : []),
    "",
  ];
  const bodies = detail.bodies
    .map(({ body, count }) => `${percent(count, detail.total)} % ${body}`)
    .join("   ");
  const count = detail.processes.length;
  const processes = detail.processes
    .slice(0, 20)
    .map((one) => {
      const command = truncate(commandText(one), COMMAND_CELLS, "end", glyphs);
      return `${percent(one.count, detail.total)} % ${one.pid} ${command}`;
    })
    .join("   ");
  const users = `${count} process${count === 1 ? "" : "es"}: ${processes}`;
  const foot = [
    "",
    ...(bodies === "" ? [] : [text(`code: ${bodies}`)]),
    ...wrapped(users).slice(0, PROCESS_LINES),
  ];
  const left = height - head.length - foot.length - 1;
  const waits = waitLines(waitsOf(session, tick, waitMemo), width, Math.floor(left / 2), theme);
  const room = Math.max(2, left - waits.length - (waits.length > 0 ? 1 : 0));
  const columns = parts(detail, theme);
  const ids = columns.flatMap((part) =>
    part.lines.flatMap(({ id }) => (id === undefined ? [] : [id])),
  );
  const row = selectedAmong(ids, session.state);
  const drawing = { room, width, theme, selected: row?.id };
  const lines = width >= 70 ? sideBySide(columns, drawing) : stacked(columns, drawing);
  const middle = waits.length > 0 ? [...waits, ""] : [];
  return {
    lines: [...head, ...middle, ...lines, ...foot],
    ids,
    page: room,
    ...(row ? { selected: row } : {}),
  };
}

interface Drawing {
  readonly room: number;
  readonly width: number;
  readonly theme: Theme;
  readonly selected: string | undefined;
}

/** Cuts out the part of a column that is shown: the selected row is in it. */
function shownLines(part: Part, room: number, selected: string | undefined): readonly Line[] {
  const at = selected === undefined ? -1 : part.lines.findIndex(({ id }) => id === selected);
  const first = windowOffset(0, at, part.lines.length, room);
  return part.lines.slice(first, first + room);
}

function lineText(line: Line | undefined, cells: number, { theme, selected }: Drawing): string {
  if (!line) return " ".repeat(cells);
  const isSelected = line.id !== undefined && line.id === selected;
  const mark = isSelected ? theme.glyphs.pointer : " ";
  const room = cells - 1 - line.share.length;
  const text = mark + line.share + cell(line.text, room, theme.glyphs, "left", "middle");
  return isSelected ? theme.inverse(text) : text;
}

/** Columns get wider in steps of so many cells, so that they rarely do. */
const STEP = 8;

/** Says how many cells the texts of a part want. */
const wantedCells = ({ heading, lines }: Part): number => {
  const longest = Math.max(MIN_CELLS, ...lines.map(({ text }) => displayWidth(text)));
  const cells = 1 + SHARE_CELLS + longest;
  return heading === LINES ? cells : Math.ceil(cells / STEP) * STEP;
};

/** Shares the cells out: lines get what they want, up to a part; names share the rest by what they want. */
function columnWidths(columns: readonly Part[], room: number): number[] {
  const wanted = columns.map(wantedCells);
  const lines = columns.map((part, i) =>
    part.heading === LINES ? Math.min(wanted[i] ?? 0, Math.floor(room * 0.3)) : 0,
  );
  const left = room - lines.reduce((sum, cells) => sum + cells, 0);
  const [callers = 0, callees = 0] = wanted.filter((_, i) => lines[i] === 0);
  const half = Math.floor(left / 2);
  const spare = left - callers - callees;
  const first =
    spare >= 0
      ? callers + Math.floor(spare / 2)
      : Math.min(callers, Math.max(half, left - callees));
  return lines.map((cells, i) => (cells > 0 ? cells : i === 0 ? first : left - first));
}

function sideBySide(columns: readonly Part[], drawing: Drawing): string[] {
  const { room, width, theme, selected } = drawing;
  const widths = columnWidths(columns, width - 2 - columns.length);
  const shown = columns.map((part) => shownLines(part, room, selected));
  const heading = columns
    .map(({ heading: text }, c) => theme.bold(cell(` ${text}`, widths[c] ?? 0, theme.glyphs)))
    .join(" ");
  const tallest = Math.max(...shown.map((lines) => lines.length));
  const rows = Array.from({ length: tallest }, (_, i) =>
    columns.map((_, c) => lineText(shown[c]?.[i], widths[c] ?? 0, drawing)).join(" "),
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

export const functionPage: View = {
  id: FUNCTION_PAGE,
  keys: ["rows", "names", "page"],
  makeBody: () => {
    const memo = new Memo<FunctionDetail>();
    const waitMemo = new Memo<readonly WaitingThread[]>();
    return (input) => functionBody(input, memo, waitMemo);
  },
  open: (session, row) => {
    const id = row.slice(row.lastIndexOf(" ") + 1);
    session.update(openPage, FUNCTION_PAGE, id);
  },
};
