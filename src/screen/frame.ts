/** Composes a whole window as lines. */
import type { Size } from "../terminal/size.ts";
import { truncate } from "../text/format.ts";
import { wrapWords } from "../text/wrap.ts";
import type { Tick } from "../tick/tick.ts";
import { footerLines } from "./footer.ts";
import { headerHeight, headerLines } from "./header.ts";
import { helpLines, noticeLines } from "./help.ts";
import { type IsAlive, nothingLines } from "./nothing.ts";
import { complete } from "./state/complete.ts";
import type { ListShape, Session } from "./state/session.ts";
import { isPrompt, isText } from "./state/state.ts";
import { type Theme, withNames } from "./theme.ts";
import type { Body, DrawBody, View } from "./views/view.ts";

/** A window shows these lines. */
export interface Frame {
  readonly header: readonly string[];
  readonly body: readonly string[];
  readonly footer: readonly string[];
  readonly shape: ListShape;
}

/** Makes what draws a view when it is shown for the first time; it is kept for the window. */
export class Bodies {
  readonly #made = new Map<View, DrawBody>();

  of(view: View): DrawBody {
    const made = this.#made.get(view) ?? view.makeBody();
    this.#made.set(view, made);
    return made;
  }
}

/** Frames are made of these besides the session. */
export interface FrameTools {
  readonly bodies: Bodies;
  readonly theme: Theme;
  readonly host: string;
  readonly alive: IsAlive;
  readonly isReplay: boolean;
}

/** Composes the window; it has exactly as many lines as rows. */
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
      state: session.state,
      view: session.view,
      now: session.latest?.time ?? 0,
      error: session.error,
      notices: session.notices,
      isReplay: tools.isReplay,
      sinceSeconds: session.totals.seconds,
      steadySeconds:
        tick && session.view.longestSpan
          ? session.selectors.steady(tick, session.state).seconds
          : 0,
    },
    width,
    rows,
    theme,
  ).slice(0, rows);
  const prompt = session.state.prompt;
  const offers = isPrompt(session.state.mode)
    ? complete(session.state.mode, prompt.text, session.facts()).labels
    : [];
  const footer = footerLines(session, offers, width, rows, theme).slice(
    0,
    Math.max(0, rows - headerHeight(rows) - 1),
  );
  const height = Math.max(0, rows - header.length - footer.length);
  const shape = composeBody(session, tick, width, height, tools);
  const body = Array.from({ length: height }, (_, i) => shape.lines[i] ?? "");
  return { header, body, footer, shape };
}

function composeBody(
  session: Session,
  tick: Tick | undefined,
  width: number,
  height: number,
  { theme, bodies, alive }: FrameTools,
): Body {
  const { mode } = session.state;
  if (isText(mode)) {
    const all =
      mode === "help" ? helpLines(width, theme) : noticeLines(session.notices, width, theme);
    session.textOffset = Math.min(session.textOffset, Math.max(0, all.length - height));
    const lines = all.slice(session.textOffset, session.textOffset + height);
    return { lines, ids: [], page: Math.max(1, height - 1) };
  }
  const drawn = tick && bodies.of(session.view)({ session, tick, width, height, theme });
  if (drawn) return drawn;
  const text = nothingLines(session, tick, alive);
  const lines = text.flatMap((line) => wrapWords(line, Math.max(1, width - 3)));
  const fitting = lines.map((line) => `  ${truncate(line, width - 3, "end", theme.glyphs)}`);
  return { lines: ["", ...fitting], ids: [], page: 1 };
}
