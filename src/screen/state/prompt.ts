/** Changes the state as somebody types into a prompt. */

import { parseFilter } from "../../model/filter/filter.ts";
import { parsePids } from "../../model/pids.ts";
import { UserError } from "../../tick/errors.ts";
import { parseEvents } from "../../tick/event-request.ts";
import { type Completion, commonStart } from "./complete.ts";
import type { Mode, ViewState } from "./state.ts";

const MAX_PROMPT = 300;

function promptError(mode: Mode, text: string): string | undefined {
  if (mode === "events") return eventsError(text);
  const parsed = mode === "pid" ? parsePids(text) : parseFilter(text);
  return "error" in parsed ? parsed.error : undefined;
}

/** What is wrong with a list of events, in one line; an empty one is the CPU's time. */
function eventsError(text: string): string | undefined {
  try {
    if (text.trim() !== "") parseEvents(text);
    return undefined;
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    return error.message.split("\n")[0]?.replace(/^--event /, "");
  }
}

/**
 * Puts another text into the prompt, the caret behind it or where it is said to be. `recall` says how far back among
 * earlier ones the text comes from.
 */
export function withPromptText(
  state: ViewState,
  text: string,
  { recall = state.prompt.recall, caret = text.length } = {},
): ViewState {
  const short = text.slice(0, MAX_PROMPT);
  const error = promptError(state.mode, short);
  const place = { caret: Math.min(caret, short.length), recall };
  return { ...state, prompt: { text: short, ...place, ...(error === undefined ? {} : { error }) } };
}

/** Keys that change the text or move the caret in it; each gets the text before the caret and behind it. */
const EDITS: Readonly<
  Record<string, (before: string, behind: string) => readonly [before: string, behind: string]>
> = {
  left: (before, behind) => {
    const at = before.length - lastLength(before);
    return [before.slice(0, at), before.slice(at) + behind];
  },
  right: (before, behind) => {
    const at = firstLength(behind);
    return [before + behind.slice(0, at), behind.slice(at)];
  },
  home: (before, behind) => ["", before + behind],
  end: (before, behind) => [before + behind, ""],
  backspace: (before, behind) => [before.slice(0, before.length - lastLength(before)), behind],
  delete: (before, behind) => [before, behind.slice(firstLength(behind))],
  "ctrl-u": () => ["", ""],
  "ctrl-w": (before, behind) => [before.replace(/\S*\s*$/, ""), behind],
};

/** The same keys by other names. */
const EDIT_NAMES: Readonly<Record<string, string>> = {
  "ctrl-a": "home",
  "ctrl-e": "end",
  "ctrl-b": "left",
  "ctrl-f": "right",
};

/** The length of the last and of the first character of a text. */
const lastLength = (text: string): number => [...text].at(-1)?.length ?? 0;
const firstLength = (text: string): number => [...text][0]?.length ?? 0;

/** Types a text, or does what a key does in a prompt. */
export function edit(state: ViewState, key: string): ViewState {
  const { text, caret } = state.prompt;
  const before = text.slice(0, caret);
  const behind = text.slice(caret);
  const change = EDITS[EDIT_NAMES[key] ?? key];
  if (!change && [...key].length !== 1) return state;
  const [first, rest] = change ? change(before, behind) : [before + key, behind];
  return withPromptText(state, first + rest, { caret: first.length });
}

/** Puts a text where the caret is. */
export function insert(state: ViewState, more: string): ViewState {
  const { text, caret } = state.prompt;
  return withPromptText(state, text.slice(0, caret) + more + text.slice(caret), {
    caret: caret + more.length,
  });
}

/** Opens a prompt; what is in force stands in it, to be changed. */
export function openPrompt(state: ViewState, mode: Mode): ViewState {
  const text = mode === "filter" ? state.filterText : "";
  return { ...state, mode, prompt: { text, caret: text.length, recall: -1 } };
}

/** Puts an earlier or later filter into the prompt. */
export function recall(state: ViewState, step: 1 | -1): ViewState {
  if (state.mode !== "filter") return state;
  const to = Math.max(-1, Math.min(state.filterHistory.length - 1, state.prompt.recall + step));
  return withPromptText(state, to < 0 ? "" : (state.filterHistory[to] ?? ""), { recall: to });
}

/** Completes the last word as far as all offers agree, then with one after the other. */
export function completePrompt(state: ViewState, { before, words }: Completion): ViewState {
  const { text, recall: at, offer } = state.prompt;
  if (offer && text === offer.before + (offer.words[offer.at] ?? "")) {
    const next = (offer.at + 1) % offer.words.length;
    const cycled = withPromptText(state, offer.before + (offer.words[next] ?? ""), { recall: at });
    return { ...cycled, prompt: { ...cycled.prompt, offer: { ...offer, at: next } } };
  }
  const [only] = words;
  if (only === undefined) return state;
  if (words.length === 1) {
    // What ends in a colon is not finished.
    const end = only.endsWith(":") || state.mode !== "filter" ? "" : " ";
    return withPromptText(state, `${before}${only}${end}`, { recall: at });
  }
  const common = before + commonStart(words);
  if (common.length > text.length) return withPromptText(state, common, { recall: at });
  // A word that stands there already is no news.
  const start = text === before + only ? 1 : 0;
  const first = withPromptText(state, before + (words[start] ?? only), { recall: at });
  return { ...first, prompt: { ...first.prompt, offer: { before, words, at: start } } };
}
