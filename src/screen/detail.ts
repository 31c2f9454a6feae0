/** A function from near: callers, lines and callees beside each other, then its processes. */
import type { Tick } from "../collector/tick.ts";
import { RUNTIME_LABELS } from "../model/columns.ts";
import { type FunctionDetail, functionDetail, type Neighbour } from "../model/detail.ts";
import { cell, percent } from "../model/format.ts";
import type { Body } from "./lists.ts";
import type { Theme } from "./paint.ts";
import type { Session } from "./session.ts";

/** A second has too few samples of one function to tell who calls it. */
const DETAIL_SECONDS = 10;

interface Part {
  readonly heading: string;
  readonly lines: readonly string[];
}

function neighbours(list: readonly Neighbour[], total: number, none: string): string[] {
  return list.map(({ function: info, count }) => {
    const name = info ? info.name : none;
    return `${percent(count, total).padStart(5)} % ${name}`;
  });
}

function parts(detail: FunctionDetail): Part[] {
  const { total } = detail;
  const all: Part[] = [
    { heading: "CALLERS", lines: neighbours(detail.callers, total, "(outermost)") },
    { heading: "CALLEES", lines: neighbours(detail.callees, total, "(itself)") },
  ];
  if (detail.lines.length > 0) {
    const lines = detail.lines.map(
      ({ line, count }) => `${percent(count, total).padStart(5)} % line ${line}`,
    );
    all.splice(1, 0, { heading: "LINES", lines });
  }
  return all;
}

/** The lines of the view. */
export function detailLines(
  session: Session,
  tick: Tick,
  width: number,
  height: number,
  theme: Theme,
): Body {
  const { state } = session;
  const { glyphs } = theme;
  const id = state.selected.functions ?? -1;
  const { filter, kernel, nativeFrames } = state;
  const ticks = session.history.last(DETAIL_SECONDS, tick);
  const detail = functionDetail(ticks, id, { ...(filter ? { filter } : {}), kernel, nativeFrames });
  const info = detail.function;
  const text = (line: string, room = width - 2): string =>
    cell(line, room, "left", "middle", glyphs);
  if (!info)
    return { lines: ["", ` It is in no stack of the last ${DETAIL_SECONDS} s.`], ids: [], page: 1 };
  const place = info.module === "" ? "" : `   ${info.module}`;
  const span = `${Math.round(ticks.reduce((sum, one) => sum + one.intervalSeconds, 0))} s`;
  const head = [
    ` ${theme.bold(text(info.name).trimEnd())}`,
    ` ${text(
      `${RUNTIME_LABELS[info.runtime]}   self ${percent(detail.self, detail.samples)} %   total ${percent(detail.total, detail.samples)} % of ${span}${place}`,
    ).trimEnd()}`,
    ...(info.whyUnnamed ? [` ${text(`no name: ${info.whyUnnamed}`).trimEnd()}`] : []),
    "",
  ];
  const processes = detail.processes
    .slice(0, 20)
    .map(({ pid, comm, count }) => `${percent(count, detail.total)} % ${pid} ${comm}`)
    .join("   ");
  const room = Math.max(2, height - head.length - 3);
  const columns = parts(detail);
  const beside = width >= 70;
  const lines = beside
    ? sideBySide(columns, width, room, theme)
    : columns.flatMap((part) => [
        ` ${theme.bold(part.heading)}`,
        ...part.lines
          .slice(0, Math.max(1, Math.floor(room / columns.length) - 1))
          .map((line) => ` ${text(line).trimEnd()}`),
      ]);
  const count = detail.processes.length;
  const foot = [
    "",
    ` ${text(`${count} process${count === 1 ? "" : "es"}: ${processes}`).trimEnd()}`,
  ];
  return { lines: [...head, ...lines, ...foot], ids: [], page: room };
}

function sideBySide(columns: readonly Part[], width: number, room: number, theme: Theme): string[] {
  const each = Math.floor((width - 1) / columns.length) - 2;
  const padded = (text: string): string => cell(text, each, "left", "middle", theme.glyphs);
  const heading = columns.map((part) => theme.bold(padded(part.heading))).join("  ");
  const tallest = Math.min(room, Math.max(...columns.map((part) => part.lines.length)));
  const rows = Array.from({ length: tallest }, (_, i) =>
    columns.map((part) => padded(part.lines[i] ?? "")).join("  "),
  );
  return [` ${heading}`, ...rows.map((row) => ` ${row}`.trimEnd())];
}
