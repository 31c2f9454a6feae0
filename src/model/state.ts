/** What the screen shows, as a value: all choices of its user, and no samples but frozen ones. */
import type { Runtime } from "../tick/runtimes.ts";
import type { Tick } from "../tick/tick.ts";
import { type Filter, parseFilter } from "./filter.ts";
import type { SortKey, ViewSort } from "./sort.ts";

/** The views. `function` and `counter` are opened from others. */
export type ViewId =
  | "functions"
  | "processes"
  | "tree"
  | "flame"
  | "metrics"
  | "function"
  | "counter";

/** Who owns the keys. */
export type Mode = "list" | "help" | "pid" | "filter";

/** What percentages are of: this refresh, the last ten seconds, or all since `c`. */
export type Span = "now" | "recent" | "since";

/** In the order that the key goes through them. */
export const SPANS: readonly Span[] = ["now", "recent", "since"];

/** What `recent` means. A second has too few samples of one function to tell who calls it. */
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
  readonly view: ViewId;
  readonly filterText: string;
  /** What was open there. */
  readonly opened?: number;
}

/** The moment that is compared with. */
export interface Mark {
  readonly time: number;
  /** The seconds before it. */
  readonly ticks: readonly Tick[];
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
  /** Nodes of the tree that show their children. */
  readonly expanded: ReadonlySet<number>;
  /** Nodes that the flame was zoomed into, the last one is its root. */
  readonly zoom: readonly number[];
  readonly mark?: Mark;
  /** The function or counter that is open. */
  readonly opened?: number;
  /** In each view what is selected, by identity: function id, pid, counter id, path in a tree. */
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

/** What a state starts from. */
export type ViewOptions = Pick<
  ViewState,
  "filterText" | "pids" | "kernel" | "nativeFrames" | "delaySeconds"
> & { readonly sort: SortKey; readonly readableNames?: boolean };

/** Views that numbers and Tab choose. */
export const VIEWS: readonly ViewId[] = ["functions", "processes", "tree", "flame", "metrics"];

export const NO_PROMPT: Prompt = { text: "", recall: -1 };
const MAX_FILTER_HISTORY = 50;
const TOP = { functions: 0, processes: 0, tree: 0, flame: 0, metrics: 0, function: 0, counter: 0 };

/** The state at the start. A filter that is wrong was refused before. */
export function initialState(options: ViewOptions): ViewState {
  const state: ViewState = {
    readableNames: false,
    ...options,
    filterText: "",
    view: "functions",
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
    offset: TOP,
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
    offset: { ...state.offset, functions: 0, processes: 0 },
  };
}
