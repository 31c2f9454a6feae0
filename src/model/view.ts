/**
 * What the screen shows, as a value: one state, one reducer, pure selectors. It holds choices and
 * no samples, except for the tick that the picture is frozen at.
 */
import { RUNTIMES, type Runtime, type Tick } from "../collector/tick.ts";
import { type Filter, parseFilter } from "./filter.ts";
import { parsePids } from "./pids.ts";
import { nextSortKey, type SortKey } from "./sort.ts";
import { moveIndex, windowOffset } from "./window.ts";

/** The views that keys choose. `function` is opened from a list. */
export type ViewId = "functions" | "processes" | "metrics" | "function";

/** Who owns the keys. */
export type Mode = "list" | "help" | "pid" | "filter";

/** A line that is being typed. */
export interface Prompt {
  readonly text: string;
  /** What is wrong with it so far. */
  readonly error?: string;
  /** How far back in what was typed before. */
  readonly recall: number;
}

/** Where Esc goes back to. */
interface Place {
  readonly view: ViewId;
  readonly filterText: string;
}

/** All choices of the user. */
export interface ViewState {
  readonly view: ViewId;
  readonly mode: Mode;
  readonly prompt: Prompt;
  readonly filterText: string;
  readonly filter?: Filter;
  /** Filters that were in force, newest first. */
  readonly filterHistory: readonly string[];
  /** Pids that sampling is narrowed to. */
  readonly pids: readonly number[];
  readonly sort: SortKey;
  readonly reverse: boolean;
  readonly kernel: boolean;
  readonly nativeFrames: boolean;
  readonly language?: Runtime;
  readonly delaySeconds: number;
  /** In each view what is selected, by identity: function id, pid, counter id. */
  readonly selected: Readonly<Partial<Record<ViewId, number>>>;
  /** First row shown. */
  readonly offset: Readonly<Record<ViewId, number>>;
  /** Order of the rows while the selection moves, so that they do not run away from it. */
  readonly held?: { readonly ids: readonly number[]; readonly until: number };
  /** The picture that is looked at while collecting goes on. */
  readonly frozen?: Tick;
  readonly back: readonly Place[];
  /** Said for a moment in place of the footer. */
  readonly message?: { readonly text: string; readonly until: number };
}

/** How the selection moves. */
export type Motion = "up" | "down" | "page-up" | "page-down" | "first" | "last";

/** Everything that can happen to the state. */
export type Action =
  | { type: "view"; view: ViewId }
  | { type: "next-view" }
  | { type: "mode"; mode: Mode }
  | { type: "prompt-text"; text: string }
  | { type: "prompt-recall"; step: 1 | -1 }
  | { type: "prompt-error"; error: string }
  | { type: "filter"; text: string }
  | { type: "pids"; pids: readonly number[] }
  | { type: "sort"; step: 1 | -1; now: number }
  | { type: "reverse" }
  | { type: "freeze"; tick: Tick | undefined }
  | { type: "interval"; step: 1 | -1 }
  | { type: "kernel" }
  | { type: "language" }
  | { type: "move"; motion: Motion; ids: readonly number[]; page: number; now: number }
  | { type: "open"; id: number }
  | { type: "back" }
  | { type: "message"; text: string; now: number }
  | { type: "tick"; now: number };

/** What a state starts from. */
export type ViewOptions = Pick<
  ViewState,
  "filterText" | "pids" | "sort" | "kernel" | "nativeFrames" | "delaySeconds"
>;

/** Views that 1, 2, 5 and Tab choose. */
export const VIEWS: readonly ViewId[] = ["functions", "processes", "metrics"];

/** Intervals that + and - go through, seconds. */
export const INTERVALS: readonly number[] = [0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60];

const HOLD_MS = 3000;
const MESSAGE_MS = 3000;
const MAX_PROMPT = 300;
const MAX_FILTER_HISTORY = 50;
const NO_PROMPT: Prompt = { text: "", recall: -1 };

/** The state at the start. A filter that is wrong was refused before. */
export function initialState(options: ViewOptions): ViewState {
  const state: ViewState = {
    ...options,
    filterText: "",
    view: "functions",
    mode: "list",
    prompt: NO_PROMPT,
    filterHistory: [],
    reverse: false,
    selected: {},
    offset: { functions: 0, processes: 0, metrics: 0, function: 0 },
    back: [],
  };
  return options.filterText.trim() === "" ? state : withFilter(state, options.filterText);
}

/** A copy of the state without some of what is optional. */
function without<K extends "filter" | "language" | "held" | "frozen" | "message">(
  state: ViewState,
  ...keys: K[]
): ViewState {
  const copy = { ...state };
  for (const key of keys) delete copy[key];
  return copy;
}

function withFilter(state: ViewState, text: string): ViewState {
  const parsed = parseFilter(text);
  if ("error" in parsed) return { ...state, prompt: { ...state.prompt, error: parsed.error } };
  const trimmed = parsed.filter.text;
  const rest = without(state, "filter", "held");
  if (trimmed === "") return { ...rest, filterText: "" };
  const others = state.filterHistory.filter((old) => old !== trimmed);
  return {
    ...rest,
    filterText: trimmed,
    filter: parsed.filter,
    filterHistory: [trimmed, ...others].slice(0, MAX_FILTER_HISTORY),
    offset: { ...state.offset, functions: 0, processes: 0 },
  };
}

function promptError(mode: Mode, text: string): string | undefined {
  const parsed = mode === "pid" ? parsePids(text) : parseFilter(text);
  return "error" in parsed ? parsed.error : undefined;
}

function withPromptText(state: ViewState, text: string, recall: number): ViewState {
  const short = text.slice(0, MAX_PROMPT);
  const error = promptError(state.mode, short);
  return { ...state, prompt: { text: short, recall, ...(error === undefined ? {} : { error }) } };
}

/** What stands in a prompt when it opens: what is in force, to be changed. */
function openPrompt(state: ViewState, mode: Mode): ViewState {
  const text = mode === "filter" ? state.filterText : "";
  return { ...state, mode, prompt: { text, recall: -1 } };
}

function move(state: ViewState, action: Extract<Action, { type: "move" }>): ViewState {
  const { ids, page, now, motion } = action;
  if (ids.length === 0) return state;
  const { view } = state;
  const selected = state.selected[view];
  const index = selected === undefined ? -1 : ids.indexOf(selected);
  const next = moveIndex(motion, index, ids.length, page);
  const id = ids[next];
  if (id === undefined) return state;
  const offset = windowOffset(state.offset[view], next, ids.length, page);
  return {
    ...state,
    selected: { ...state.selected, [view]: id },
    offset: { ...state.offset, [view]: offset },
    held: { ids, until: now + HOLD_MS },
  };
}

function open(state: ViewState, id: number): ViewState {
  const place: Place = { view: state.view, filterText: state.filterText };
  const opened = { ...without(state, "held"), back: [...state.back, place] };
  if (state.view === "functions") {
    return {
      ...opened,
      view: "function",
      selected: { ...state.selected, functions: id },
      offset: { ...state.offset, function: 0 },
    };
  }
  if (state.view !== "processes") return state;
  const others = state.filterText.split(/\s+/).filter((word) => !/^!?pid:/.test(word));
  const filtered = withFilter(opened, [`pid:${id}`, ...others].join(" ").trim());
  return { ...filtered, view: "functions" };
}

/** Esc in a list: the last thing that narrowed the picture goes; when nothing is left, nothing. */
function back(state: ViewState): ViewState {
  const place = state.back.at(-1);
  if (state.view === "function" && place) {
    return { ...without(state, "held"), view: place.view, back: state.back.slice(0, -1) };
  }
  if (state.selected[state.view] !== undefined) {
    const { [state.view]: _, ...selected } = state.selected;
    return { ...without(state, "held"), selected };
  }
  if (place) {
    const before = withFilter(state, place.filterText);
    return { ...before, view: place.view, back: state.back.slice(0, -1) };
  }
  if (state.language !== undefined) return without(state, "language", "held");
  if (state.filterText !== "") return withFilter(state, "");
  return state.frozen ? without(state, "frozen") : state;
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

function recall(state: ViewState, step: 1 | -1): ViewState {
  if (state.mode !== "filter") return state;
  const to = Math.max(-1, Math.min(state.filterHistory.length - 1, state.prompt.recall + step));
  return withPromptText(state, to < 0 ? "" : (state.filterHistory[to] ?? ""), to);
}

function changeView(state: ViewState, view: ViewId): ViewState {
  return { ...without(state, "held"), view, mode: "list", back: [] };
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
    case "prompt-error":
      return { ...state, prompt: { ...state.prompt, error: action.error } };
    case "filter":
      return withFilter(state, action.text);
    case "pids":
      return { ...without(state, "held"), pids: action.pids };
    case "sort":
      return { ...without(state, "held"), sort: nextSortKey(state.sort, action.step) };
    case "reverse":
      return { ...without(state, "held"), reverse: !state.reverse };
    case "freeze":
      return action.tick
        ? { ...without(state, "held"), frozen: action.tick }
        : without(state, "frozen", "held");
    case "interval":
      return { ...state, delaySeconds: nextInterval(state.delaySeconds, action.step) };
    case "kernel":
      return { ...without(state, "held"), kernel: !state.kernel };
    case "language":
      return nextLanguage(state);
    case "move":
      return move(state, action);
    case "open":
      return open(state, action.id);
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
