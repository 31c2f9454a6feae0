/** A whole window as lines, by pure functions; only the metrics view draws part of itself. */
import type { Tick } from "../collector/tick.ts";
import { truncate } from "../model/format.ts";
import { detailLines } from "./detail.ts";
import { footerLines } from "./footer.ts";
import { headerHeight, headerLines } from "./header.ts";
import { helpLines } from "./help.ts";
import type { Body, Lists } from "./lists.ts";
import { type MetricRow, type MetricsBody, metricRows } from "./metrics.ts";
import { type IsAlive, nothingLines } from "./nothing.ts";
import type { Theme } from "./paint.ts";
import type { Session } from "./session.ts";

/** The size of the terminal. */
export interface Size {
  readonly columns: number;
  readonly rows: number;
}

/** What a window shows. */
export interface Frame {
  readonly header: readonly string[];
  readonly body: readonly string[];
  /** Drawn as a table below `body`. */
  readonly table?: readonly MetricRow[];
  readonly below: readonly string[];
  readonly footer: readonly string[];
  readonly ids: readonly number[];
  readonly page: number;
}

/** What frames are made of besides the session. */
export interface FrameTools {
  readonly lists: Lists;
  readonly theme: Theme;
  readonly host: string;
  readonly alive: IsAlive;
}

/** Composes the window: exactly as many lines as it has rows. */
export function composeFrame(session: Session, size: Size, tools: FrameTools): Frame {
  const { theme } = tools;
  const { columns: width, rows } = size;
  const tick = session.shown;
  const header = headerLines(
    {
      tick,
      all: tick ? session.everything(tick) : undefined,
      host: tick?.host ?? tools.host,
      view: session.state,
      now: session.latest?.time ?? 0,
      error: session.error,
    },
    width,
    rows,
    theme,
  ).slice(0, rows);
  const footer = footerLines(session.state, width, theme).slice(
    0,
    Math.max(0, rows - headerHeight(rows) - 1),
  );
  const height = Math.max(0, rows - header.length - footer.length);
  const { table, below = [], ...body } = composeBody(session, tick, width, height, tools);
  return {
    header,
    body: fill(body.lines, table ? height - table.length - 1 - below.length : height),
    ...(table ? { table } : {}),
    below,
    footer,
    ids: body.ids,
    page: body.page,
  };
}

/** Exactly `height` lines. */
function fill(lines: readonly string[], height: number): string[] {
  const count = Math.max(0, height);
  return Array.from({ length: count }, (_, i) => lines[i] ?? "");
}

function composeBody(
  session: Session,
  tick: Tick | undefined,
  width: number,
  height: number,
  tools: FrameTools,
): MetricsBody {
  const { theme, lists } = tools;
  const { state } = session;
  if (state.mode === "help") {
    const all = helpLines(width, theme);
    session.helpOffset = Math.min(session.helpOffset, Math.max(0, all.length - height));
    const lines = all.slice(session.helpOffset, session.helpOffset + height);
    return { lines, ids: [], page: Math.max(1, height - 1) };
  }
  const nothing = (): Body => {
    const text = nothingLines(session, tick, tools.alive);
    const lines = text.map((line) => `  ${truncate(line, width - 3, "end", theme.glyphs)}`);
    return { lines: ["", ...lines], ids: [], page: 1 };
  };
  if (!tick) return nothing();
  if (state.view === "metrics") return metricRows(session, tick, width, height, theme);
  if (state.view === "function") return detailLines(session, tick, width, height, theme);
  const body =
    state.view === "processes"
      ? lists.processes(session, tick, width, height, theme)
      : lists.functions(session, tick, width, height, theme);
  return body.ids.length > 0 ? body : nothing();
}
