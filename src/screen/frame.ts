/** A whole window as lines, by pure functions. */

import { complete } from "../model/complete.ts";
import { truncate } from "../model/format.ts";
import type { Size } from "../terminal/window.tsx";
import type { Tick } from "../tick/tick.ts";
import type { Body, BodyInput } from "./body.ts";
import { counterBody } from "./counter.ts";
import { detailBody } from "./detail.ts";
import { flameBody } from "./flame.ts";
import { footerLines } from "./footer.ts";
import { headerHeight, headerLines } from "./header.ts";
import { helpLines, wrapWords } from "./help.ts";
import { isPrompt } from "./keys.ts";
import type { Lists } from "./lists.ts";
import { metricsBody } from "./metrics.ts";
import { type IsAlive, nothingLines } from "./nothing.ts";
import { type Theme, withNames } from "./paint.ts";
import type { ListShape, Session } from "./session.ts";
import { treeBody } from "./tree.ts";

/** What a window shows. */
export interface Frame extends ListShape {
  readonly header: readonly string[];
  readonly body: readonly string[];
  readonly footer: readonly string[];
}

/** What frames are made of besides the session. */
export interface FrameTools {
  readonly lists: Lists;
  readonly theme: Theme;
  readonly host: string;
  readonly alive: IsAlive;
  readonly isReplay: boolean;
}

/** Composes the window: exactly as many lines as it has rows. */
export function composeFrame(
  session: Session,
  size: Size,
  { theme: paint, ...rest }: FrameTools,
): Frame {
  const theme = withNames(paint, session.state);
  const tools = { ...rest, theme };
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
      notice: session.notice,
      isReplay: tools.isReplay,
      sinceSeconds: session.totals.seconds,
    },
    width,
    rows,
    theme,
  ).slice(0, rows);
  const prompt = session.state.prompt;
  const offers = isPrompt(session.state.mode)
    ? complete(session.state.mode, prompt.text, session.facts()).labels
    : [];
  const footer = footerLines(session.state, offers, width, rows, theme).slice(
    0,
    Math.max(0, rows - headerHeight(rows) - 1),
  );
  const height = Math.max(0, rows - header.length - footer.length);
  const { lines, ...shape } = composeBody(session, tick, width, height, tools);
  const body = Array.from({ length: height }, (_, i) => lines[i] ?? "");
  return { header, body, footer, ...shape };
}

function composeBody(
  session: Session,
  tick: Tick | undefined,
  width: number,
  height: number,
  tools: FrameTools,
): Body {
  const { theme } = tools;
  const { state } = session;
  if (state.mode === "help") {
    const all = helpLines(width, theme);
    session.helpOffset = Math.min(session.helpOffset, Math.max(0, all.length - height));
    const lines = all.slice(session.helpOffset, session.helpOffset + height);
    return { lines, ids: [], page: Math.max(1, height - 1) };
  }
  const nothing = (): Body => {
    const text = nothingLines(session, tick, tools.alive);
    const lines = text.flatMap((line) => wrapWords(line, Math.max(1, width - 3)));
    const fitting = lines.map((line) => `  ${truncate(line, width - 3, "end", theme.glyphs)}`);
    return { lines: ["", ...fitting], ids: [], page: 1 };
  };
  if (!tick) return nothing();
  const input = { session, tick, width, height, theme };
  if (state.view === "metrics") return metricsBody(input);
  if (state.view === "function") return detailBody(input);
  if (state.view === "counter") return counterBody(input);
  const body = listBody(input, tools.lists);
  return body.ids.length > 0 ? body : nothing();
}

function listBody(input: BodyInput, lists: Lists): Body {
  switch (input.session.state.view) {
    case "processes":
      return lists.processes.body(input);
    case "tree":
      return treeBody(input);
    case "flame":
      return flameBody(input);
    default:
      return lists.functions(input);
  }
}
