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

/** Puts another text into the prompt. `recall` says how far back among earlier ones it comes from. */
export function withPromptText(
  state: ViewState,
  text: string,
  recall = state.prompt.recall,
): ViewState {
  const short = text.slice(0, MAX_PROMPT);
  const error = promptError(state.mode, short);
  return { ...state, prompt: { text: short, recall, ...(error === undefined ? {} : { error }) } };
}

/** Opens a prompt; what is in force stands in it, to be changed. */
export function openPrompt(state: ViewState, mode: Mode): ViewState {
  const text = mode === "filter" ? state.filterText : "";
  return { ...state, mode, prompt: { text, recall: -1 } };
}

/** Puts an earlier or later filter into the prompt. */
export function recall(state: ViewState, step: 1 | -1): ViewState {
  if (state.mode !== "filter") return state;
  const to = Math.max(-1, Math.min(state.filterHistory.length - 1, state.prompt.recall + step));
  return withPromptText(state, to < 0 ? "" : (state.filterHistory[to] ?? ""), to);
}

/** Completes the last word as far as all offers agree, then with one after the other. */
export function completePrompt(state: ViewState, { before, words }: Completion): ViewState {
  const { text, recall: at, offer } = state.prompt;
  if (offer && text === offer.before + (offer.words[offer.at] ?? "")) {
    const next = (offer.at + 1) % offer.words.length;
    const cycled = withPromptText(state, offer.before + (offer.words[next] ?? ""), at);
    return { ...cycled, prompt: { ...cycled.prompt, offer: { ...offer, at: next } } };
  }
  const [only] = words;
  if (only === undefined) return state;
  if (words.length === 1) {
    // What ends in a colon is not finished.
    const end = only.endsWith(":") || state.mode !== "filter" ? "" : " ";
    return withPromptText(state, `${before}${only}${end}`, at);
  }
  const common = before + commonStart(words);
  if (common.length > text.length) return withPromptText(state, common, at);
  // A word that stands there already is no news.
  const start = text === before + only ? 1 : 0;
  const first = withPromptText(state, before + (words[start] ?? only), at);
  return { ...first, prompt: { ...first.prompt, offer: { before, words, at: start } } };
}
