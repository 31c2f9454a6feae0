/** Draws the last line: keys of the moment, a message, or a prompt. */
import { clean, displayWidth, truncate } from "../text/format.ts";
import { type Binding, HELP_FOOTER, PROMPT_HINTS } from "./keys/bindings.ts";
import { footerBindings } from "./keys/lookup.ts";
import { lastWord } from "./state/complete.ts";
import type { Session } from "./state/session.ts";
import { isPrompt, isText, type ViewState } from "./state/state.ts";
import type { Theme } from "./theme.ts";

const labelOf = (binding: Binding, theme: Theme): string =>
  binding.label === "⏎" ? theme.glyphs.enter : binding.label;

/** Names the keys that fit; the least important are left out first. */
function keysLine({ view, state, notices }: Session, width: number, theme: Theme): string {
  let chosen = [...footerBindings(view, state.frozen !== undefined, notices.length > 0)];
  const text = (one: Binding): string => `${labelOf(one, theme)} ${one.footer?.[0] ?? ""}`;
  const total = (): number =>
    chosen.reduce((sum, one) => sum + displayWidth(text(one)), 0) + 2 * (chosen.length - 1);
  while (chosen.length > 1 && total() > width) {
    const least = chosen.reduce((a, b) => ((b.footer?.[1] ?? 0) >= (a.footer?.[1] ?? 0) ? b : a));
    chosen = chosen.filter((one) => one !== least);
  }
  const line = chosen
    .map((one) => `${theme.bold(labelOf(one, theme))} ${one.footer?.[0] ?? ""}`)
    .join("  ");
  return total() <= width ? line : truncate(text(chosen[0] as Binding), width, "end", theme.glyphs);
}

/** Draws the prompt: what it is for, what was typed (the part about the caret, when it is long), the caret in it. */
function promptLine({ mode, prompt }: ViewState, width: number, theme: Theme): string {
  const label = mode === "filter" ? "/" : mode === "pid" ? "pid: " : "events: ";
  const room = width - label.length - 1;
  const { glyphs } = theme;
  const before = prompt.text.slice(0, prompt.caret);
  const [under = " ", ...behind] = prompt.text.slice(prompt.caret);
  // What stands behind the caret has a third of the room, if it wants so much.
  const rest = truncate(behind.join(""), Math.floor(room / 3), "end", glyphs);
  const least = displayWidth(rest) + displayWidth(under) - 1;
  const typed = truncate(before, room - least, "start", glyphs);
  return theme.bold(label) + typed + theme.inverse(clean(under, glyphs.unicode)) + rest;
}

/** Names what Tab would put there, as much as fits. */
const offerText = (offers: readonly string[]): string =>
  offers.length > 0 ? `tab: ${offers.slice(0, 20).join("  ")}` : "";

/** There are so many cells between a message and the keys beside it, which need some room. */
const MESSAGE_GAP = 3;
const LEAST_KEYS = 14;

/** Below this many rows a prompt has no line of its own for its keys. */
const TALL = 14;

/** Draws the footer of a window: one line, or two or three while a prompt is open. */
export function footerLines(
  session: Session,
  offers: readonly string[],
  width: number,
  rows: number,
  theme: Theme,
): string[] {
  const room = width - 1;
  const { state } = session;
  const { mode, message } = state;
  if (isPrompt(mode)) {
    const { text: typed, error } = state.prompt;
    const hint = PROMPT_HINTS[mode].replace("⏎", theme.glyphs.enter);
    const keys = theme.glyphs.unicode ? hint : hint.replace("↑↓", "up down");
    const last = mode === "filter" ? lastWord(typed) : typed;
    const offered = last === "" && mode === "filter" ? "" : offerText(offers);
    // The beginning of a command is no pid yet, and the beginning of a value no value.
    const isBeginning = mode !== "filter" || last.includes(":");
    const isUnfinished = error !== undefined && offered !== "" && isBeginning;
    const dim = (text: string): string => theme.dim(truncate(text, room, "end", theme.glyphs));
    const isTall = rows >= TALL;
    const second =
      error === undefined || isUnfinished
        ? dim(offered || (isTall ? "" : keys))
        : theme.warning(truncate(`! ${error}`, room, "end", theme.glyphs));
    return [promptLine(state, room, theme), second, ...(isTall ? [dim(keys)] : [])].map(
      (line) => ` ${line}`,
    );
  }
  if (isText(mode)) {
    const text = theme.glyphs.unicode ? HELP_FOOTER : HELP_FOOTER.replace("↑↓", "up down");
    return [` ${truncate(text, room, "end", theme.glyphs)}`];
  }
  if (message) {
    const text = truncate(message.text, room, "end", theme.glyphs);
    const left = room - displayWidth(text) - MESSAGE_GAP;
    const keys = left >= LEAST_KEYS ? " ".repeat(MESSAGE_GAP) + keysLine(session, left, theme) : "";
    return [` ${theme.bold(text)}${keys}`];
  }
  return [` ${keysLine(session, room, theme)}`];
}
