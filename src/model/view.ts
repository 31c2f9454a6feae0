/** What keys and refreshes do to the state of the screen: one reducer, pure. */
import { RUNTIMES } from "../tick/runtimes.ts";
import type { Tick } from "../tick/tick.ts";
import type { Completion } from "./complete.ts";
import { withTaskWords } from "./filter.ts";
import { completePrompt, openPrompt, recall, withPromptText } from "./prompt.ts";
import { nextSortKey } from "./sort.ts";
import {
  type Mark,
  type Mode,
  NO_PROMPT,
  type Place,
  SPANS,
  VIEWS,
  type ViewId,
  type ViewState,
  withFilter,
  without,
} from "./state.ts";
import { moveIndex, windowOffset } from "./window.ts";

export * from "./state.ts";

/** How the selection moves. */
export type Motion = "up" | "down" | "page-up" | "page-down" | "first" | "last";

/** Everything that can happen to the state. */
export type Action =
  | { type: "view"; view: ViewId }
  | { type: "next-view" }
  | { type: "mode"; mode: Mode }
  | { type: "prompt-text"; text: string }
  | { type: "prompt-recall"; step: 1 | -1 }
  | { type: "prompt-complete"; completion: Completion }
  | { type: "prompt-error"; error: string }
  | { type: "filter"; text: string }
  | { type: "pids"; pids: readonly number[] }
  | { type: "sort"; step: 1 | -1; now: number }
  | { type: "reverse" }
  | { type: "span" }
  | { type: "threads" }
  | { type: "bottom-up" }
  | { type: "expand"; paths: readonly number[]; open: boolean }
  | { type: "select"; id: number; now: number; ids: readonly number[]; page: number }
  | { type: "zoom"; path: number }
  | { type: "mark"; mark: Mark | undefined }
  | { type: "freeze"; tick: Tick | undefined }
  | { type: "interval"; step: 1 | -1 }
  | { type: "kernel" }
  | { type: "names" }
  | { type: "language" }
  | { type: "move"; motion: Motion; ids: readonly number[]; page: number; now: number }
  | { type: "open"; id: number }
  | { type: "narrow"; words: string }
  | { type: "back" }
  | { type: "message"; text: string; now: number }
  | { type: "tick"; now: number };

/** Intervals that + and - go through, seconds. */
export const INTERVALS: readonly number[] = [0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60];

const HOLD_MS = 3000;
const MESSAGE_MS = 3000;

function select(state: ViewState, action: Omit<Extract<Action, { type: "select" }>, "type">) {
  const { id, ids, page, now } = action;
  const { view } = state;
  const index = ids.indexOf(id);
  const offset = windowOffset(state.offset[view], index, ids.length, page);
  return {
    ...state,
    selected: { ...state.selected, [view]: id },
    offset: { ...state.offset, [view]: offset },
    held: { ids, until: now + HOLD_MS },
  };
}

function move(state: ViewState, action: Extract<Action, { type: "move" }>): ViewState {
  const { ids, page, now, motion } = action;
  if (ids.length === 0) return state;
  const selected = state.selected[state.view];
  const index = selected === undefined ? -1 : ids.indexOf(selected);
  const id = ids[moveIndex(motion, index, ids.length, page)];
  return id === undefined ? state : select(state, { id, ids, page, now });
}

const placeOf = ({ view, filterText, opened }: ViewState): Place => ({
  view,
  filterText,
  ...(opened === undefined ? {} : { opened }),
});

/** Opens a function or a counter; a process becomes the filter. */
function open(state: ViewState, id: number): ViewState {
  if (state.view === "counter") return state;
  if (state.view === "processes") return narrow(state, `pid:${id}`);
  const back = [...state.back, placeOf(state)];
  const { function: _, ...selected } = state.selected;
  const rest = { ...without(state, "held"), back, opened: id };
  if (state.view === "metrics") {
    return { ...rest, view: "counter", selected: { ...selected, metrics: id } };
  }
  const kept = state.view === "functions" ? { ...selected, functions: id } : selected;
  return { ...rest, view: "function", selected: kept, offset: { ...state.offset, function: 0 } };
}

/** A process, its family or a thread becomes the filter in place of another one. */
function narrow(state: ViewState, words: string): ViewState {
  const opened = { ...without(state, "held"), back: [...state.back, placeOf(state)] };
  return { ...withFilter(opened, withTaskWords(state.filterText, words)), view: "functions" };
}

/** Back to the place before. */
function leave(state: ViewState, place: Place): ViewState {
  const left = { ...without(state, "held", "opened"), view: place.view };
  return {
    ...left,
    back: state.back.slice(0, -1),
    ...(place.opened === undefined ? {} : { opened: place.opened }),
  };
}

/** Esc in a list: the last thing that narrowed the picture goes; when nothing is left, nothing. */
function back(state: ViewState): ViewState {
  const place = state.back.at(-1);
  const { view } = state;
  if ((view === "function" || view === "counter") && place) return leave(state, place);
  if (view === "flame" && state.zoom.length > 0) return { ...state, zoom: state.zoom.slice(0, -1) };
  if (state.selected[view] !== undefined) {
    const { [view]: _, ...selected } = state.selected;
    return { ...without(state, "held"), selected };
  }
  if (place) return leave(withFilter(state, place.filterText), place);
  if (state.language !== undefined) return without(state, "language", "held");
  if (state.filterText !== "") return withFilter(state, "");
  if (state.mark) return withoutMark(state);
  return state.frozen ? without(state, "frozen") : state;
}

function withoutMark(state: ViewState): ViewState {
  const sort = state.sort === "change" ? "self" : state.sort;
  return { ...without(state, "mark", "held"), sort };
}

function nextLanguage(state: ViewState): ViewState {
  const next = RUNTIMES[state.language === undefined ? 0 : RUNTIMES.indexOf(state.language) + 1];
  const rest = without(state, "language", "held");
  return next === undefined ? rest : { ...rest, language: next };
}

function nextInterval(seconds: number, step: 1 | -1): number {
  const longer = INTERVALS.find((value) => value > seconds + 0.001);
  const shorter = INTERVALS.findLast((value) => value < seconds - 0.001);
  return (step > 0 ? longer : shorter) ?? seconds;
}

function changeView(state: ViewState, view: ViewId): ViewState {
  return { ...without(state, "held", "opened"), view, mode: "list", back: [] };
}

function expand(state: ViewState, paths: readonly number[], isOpen: boolean): ViewState {
  const expanded = new Set(state.expanded);
  for (const path of paths) {
    if (isOpen) expanded.add(path);
    else expanded.delete(path);
  }
  return { ...without(state, "held"), expanded };
}

/** The state after something happened. */
export function reduce(state: ViewState, action: Action): ViewState {
  switch (action.type) {
    case "view":
      return changeView(state, action.view);
    case "next-view":
      return changeView(
        state,
        VIEWS[(VIEWS.indexOf(state.view) + 1) % VIEWS.length] ?? "functions",
      );
    case "mode":
      return action.mode === "pid" || action.mode === "filter"
        ? openPrompt(state, action.mode)
        : { ...state, mode: action.mode, prompt: NO_PROMPT };
    case "prompt-text":
      return withPromptText(state, action.text, state.prompt.recall);
    case "prompt-recall":
      return recall(state, action.step);
    case "prompt-complete":
      return completePrompt(state, action.completion);
    case "prompt-error":
      return { ...state, prompt: { ...state.prompt, error: action.error } };
    case "filter":
      return withFilter(state, action.text);
    case "pids":
      return { ...without(state, "held"), pids: action.pids };
    case "sort": {
      const sort = nextSortKey(state.sort, action.step, state.mark !== undefined);
      return { ...without(state, "held"), sort };
    }
    case "reverse":
      return { ...without(state, "held"), reverse: !state.reverse };
    case "span": {
      const span = SPANS[(SPANS.indexOf(state.span) + 1) % SPANS.length] ?? "now";
      return { ...without(state, "held"), span };
    }
    case "threads":
      return { ...without(state, "held"), threads: !state.threads };
    case "bottom-up":
      return {
        ...without(state, "held"),
        bottomUp: !state.bottomUp,
        expanded: new Set(),
        zoom: [],
      };
    case "expand":
      return expand(state, action.paths, action.open);
    case "select":
      return select(state, action);
    case "zoom":
      return { ...state, zoom: [...state.zoom, action.path] };
    case "mark":
      return action.mark
        ? { ...without(state, "held"), mark: action.mark, sort: "change", reverse: false }
        : withoutMark(state);
    case "freeze":
      return action.tick
        ? { ...without(state, "held"), frozen: action.tick }
        : without(state, "frozen", "held");
    case "interval":
      return { ...state, delaySeconds: nextInterval(state.delaySeconds, action.step) };
    case "kernel":
      return { ...without(state, "held"), kernel: !state.kernel };
    case "names":
      return { ...state, readableNames: !state.readableNames };
    case "language":
      return nextLanguage(state);
    case "move":
      return move(state, action);
    case "open":
      return open(state, action.id);
    case "narrow":
      return narrow(state, action.words);
    case "back":
      return back(state);
    case "message":
      return { ...state, message: { text: action.text, until: action.now + MESSAGE_MS } };
    case "tick":
      return expire(state, action.now);
    default:
      return action satisfies never;
  }
}

/** Ends what lasts for a moment only. */
function expire(state: ViewState, now: number): ViewState {
  let next = state;
  if (state.held && now > state.held.until) next = without(next, "held");
  if (state.message && now > state.message.until) next = without(next, "message");
  return next;
}
