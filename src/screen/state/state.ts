/** What the screen shows, as a value: all choices of its user, and no samples but frozen ones. */

import { type Filter, parseFilter } from "../../model/filter.ts";
import type { SortKey, ViewSort } from "../../model/sort.ts";
import type { Runtime } from "../../tick/runtimes.ts";
import type { Tick } from "../../tick/tick.ts";

/** The view that the screen begins with, and that shows what a filter was narrowed to. */
export const FIRST_VIEW = "functions";

/** Who owns the keys. */
export type Mode = "list" | "help" | PromptMode;

/** Modes that type text: there every key is text. */
export type PromptMode = "pid" | "filter";

/** Whether a mode types text. */
export const isPrompt = (mode: Mode): mode is PromptMode => mode === "pid" || mode === "filter";

/** What percentages are of: this refresh, the last ten seconds, or all since `c`. */
export type Span = "now" | "recent" | "since";

/** In the order that the key goes through them. */
export const SPANS: readonly Span[] = ["now", "recent", "since"];

/** How long `recent` is. A second has too few samples of one function to tell who calls it. */
export const RECENT_SECONDS = 10;

/** A line that is being typed. */
export interface Prompt {
  readonly text: string;
  /** What is wrong with it so far. */
  readonly error?: string;
  /** How far back in what was typed before. */
  readonly recall: number;
  /** Words that Tab goes through, and which one stands there now. */
  readonly offer?: {
    readonly before: string;
    readonly words: readonly string[];
    readonly at: number;
  };
}

/** Where Esc goes back to. */
export interface Place {
  readonly view: string;
  readonly filterText: string;
  /** What was open there. */
  readonly opened?: string;
}

/** The moment that is compared with. */
export interface Mark {
  readonly time: number;
  /** The seconds before it. */
  readonly ticks: readonly Tick[];
}

/** All choices of the user. */
export interface ViewState {
  /** Id of the view that is shown; `views/registry.ts` lists them. */
  readonly view: string;
  readonly mode: Mode;
  readonly prompt: Prompt;
  readonly filterText: string;
  readonly filter?: Filter;
  /** Filters that were in force, newest first. */
  readonly filterHistory: readonly string[];
  /** Pids that sampling is narrowed to. */
  readonly pids: readonly number[];
  readonly sort: ViewSort;
  readonly reverse: boolean;
  readonly span: Span;
  readonly kernel: boolean;
  readonly nativeFrames: boolean;
  /** What a compiler made is named after its source. */
  readonly readableNames: boolean;
  readonly language?: Runtime;
  readonly delaySeconds: number;
  /** Processes are listed with their threads. */
  readonly threads: boolean;
  /** Tree and flame begin with the innermost frame. */
  readonly bottomUp: boolean;
  /** Rows of the tree that show what is below them. */
  readonly expanded: ReadonlySet<string>;
  /** Rows that the flame was zoomed into, the last one is its root. */
  readonly zoom: readonly string[];
  readonly mark?: Mark;
  /** What a page is about: the id of a function, the name of a counter. Only pages have it. */
  readonly opened?: string;
  /** The row that is selected in each view. */
  readonly selected: Readonly<Record<string, string>>;
  /** The first row that each view shows; 0 where there is none. */
  readonly offset: Readonly<Record<string, number>>;
  /** Order of the rows while the selection moves, so that they do not run away from it. */
  readonly held?: { readonly ids: readonly string[]; readonly until: number };
  /** The picture that is looked at while collecting goes on. */
  readonly frozen?: Tick;
  readonly back: readonly Place[];
  /** Said for a moment in place of the footer. */
  readonly message?: { readonly text: string; readonly until: number };
}

/** What a state starts from. */
export type ViewOptions = Pick<
  ViewState,
  "filterText" | "pids" | "kernel" | "nativeFrames" | "delaySeconds"
> & { readonly sort: SortKey; readonly readableNames?: boolean };

/** A prompt that is closed. */
export const NO_PROMPT: Prompt = { text: "", recall: -1 };
const MAX_FILTER_HISTORY = 50;

/** The state at the start. A filter that is wrong was refused before. */
export function initialState(options: ViewOptions): ViewState {
  const state: ViewState = {
    readableNames: false,
    ...options,
    filterText: "",
    view: FIRST_VIEW,
    mode: "list",
    prompt: NO_PROMPT,
    filterHistory: [],
    reverse: false,
    span: "now",
    threads: false,
    bottomUp: false,
    expanded: new Set(),
    zoom: [],
    selected: {},
    offset: {},
    back: [],
  };
  return options.filterText.trim() === "" ? state : withFilter(state, options.filterText);
}

type OptionalKey = "filter" | "language" | "held" | "frozen" | "message" | "mark" | "opened";

/** A copy of the state without some of what is optional. */
export function without<K extends OptionalKey>(state: ViewState, ...keys: K[]): ViewState {
  const copy = { ...state };
  for (const key of keys) delete copy[key];
  return copy;
}

/** The state with another filter, or with what is wrong with that. */
export function withFilter(state: ViewState, text: string): ViewState {
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
  };
}
