/** The state of the screen is a value: it holds all choices of its user, and no samples but frozen ones. */

import { type Filter, parseFilter } from "../../model/filter/filter.ts";
import type { SortKey, ViewSort } from "../../model/sort.ts";
import type { Runtime } from "../../tick/runtimes.ts";
import type { Tick } from "../../tick/tick.ts";
import type { Activity } from "../../tick/waits.ts";
import type { SelectedRow } from "./rows.ts";

/** The screen begins with this view, which also shows what a filter was narrowed to. */
export const FIRST_VIEW = "functions";

/** The mode says who owns the keys. */
export type Mode = "list" | TextMode | PromptMode;

/** These modes show a text that can be scrolled. */
export type TextMode = "help" | "notices";

/** These modes type text: every key is text there. */
export type PromptMode = "pid" | "filter" | "events";

/** Says whether a mode types text. */
export const isPrompt = (mode: Mode): mode is PromptMode => mode !== "list" && !isText(mode);

/** Says whether a mode shows a text. */
export const isText = (mode: Mode): mode is TextMode => mode === "help" || mode === "notices";

/** Percentages are of a span: this refresh, the last ten seconds, or all since `c`. */
export type Span = "now" | "recent" | "since";

/** The key goes through them in this order. */
export const SPANS: readonly Span[] = ["now", "recent", "since"];

/** The span `recent` is so long. A second has too few samples of one function to tell who calls it. */
export const RECENT_SECONDS = 10;

/** A line that is being typed. */
export interface Prompt {
  readonly text: string;
  /** What is typed goes before this place in the text. */
  readonly caret: number;
  /** Says what is wrong with it so far. */
  readonly error?: string;
  /** It was recalled from so far back among earlier ones; -1 when it was not. */
  readonly recall: number;
  /** Tab goes through these words; the one at `at` stands there now. */
  readonly offer?: {
    readonly before: string;
    readonly words: readonly string[];
    readonly at: number;
  };
}

/** Esc goes back to such a place. */
export interface Place {
  readonly view: string;
  readonly filterText: string;
  /** This was open there. */
  readonly opened?: string;
  /** Its window began at this row. */
  readonly offset: number;
}

/** A moment that the picture is compared with. */
export interface Mark {
  readonly time: number;
  /** The refreshes of the seconds before it are compared. */
  readonly ticks: readonly Tick[];
}

/** Holds all choices of the user. */
export interface ViewState {
  /** The id of the view that is shown; `views/registry.ts` lists them. */
  readonly view: string;
  readonly mode: Mode;
  readonly prompt: Prompt;
  readonly filterText: string;
  readonly filter?: Filter;
  /** These filters were in force; the newest is the first. */
  readonly filterHistory: readonly string[];
  /** Sampling is narrowed to these pids, if there are any. */
  readonly pids: readonly number[];
  readonly sort: ViewSort;
  readonly reverse: boolean;
  readonly span: Span;
  readonly kernel: boolean;
  readonly nativeFrames: boolean;
  /** The scheduler's frames are shown in place of those that await. */
  readonly physical: boolean;
  /** Which threads are looked at. */
  readonly activity: Activity;
  /** Waits for work are shown too. */
  readonly idle: boolean;
  /** What a compiler made is named after its source. */
  readonly readableNames: boolean;
  readonly language?: Runtime;
  readonly delaySeconds: number;
  /** Processes are listed with their threads. */
  readonly threads: boolean;
  /** Tree and flame begin with the innermost frame. */
  readonly bottomUp: boolean;
  /** These rows of the tree show what is below them. */
  readonly expanded: ReadonlySet<string>;
  /** The flame was zoomed into these rows; the last one is its root. */
  readonly zoom: readonly string[];
  readonly mark?: Mark;
  /** A page is about this: the id of a function, the name of a counter. Only pages have it. */
  readonly opened?: string;
  /** Each view may have a row that was chosen, by its id. */
  readonly selected: Readonly<Record<string, string>>;
  /** The row of each view that was selected when it was drawn last, chosen or not; none since something else is listed. */
  readonly stood: Readonly<Record<string, SelectedRow>>;
  /** Each view shows its rows from this one on; from the first where there is none. */
  readonly offset: Readonly<Record<string, number>>;
  /** Rows keep this order while the selection moves, so that they do not run away from it. */
  readonly held?: { readonly ids: readonly string[]; readonly until: number };
  /** This refresh is looked at while collecting goes on. */
  readonly frozen?: Tick;
  readonly back: readonly Place[];
  /** This is said for a moment in place of the footer. */
  readonly message?: { readonly text: string; readonly until: number };
}

/** A state starts from these. */
export type ViewOptions = Pick<
  ViewState,
  "filterText" | "pids" | "kernel" | "nativeFrames" | "delaySeconds"
> & {
  readonly sort: SortKey;
  readonly readableNames?: boolean;
  readonly idle?: boolean;
  readonly physical?: boolean;
};

/** A prompt that is closed. */
export const NO_PROMPT: Prompt = { text: "", caret: 0, recall: -1 };
const MAX_FILTER_HISTORY = 50;

/** Makes the state at the start. A filter that is wrong was refused before. */
export function initialState(options: ViewOptions): ViewState {
  const state: ViewState = {
    readableNames: false,
    physical: false,
    activity: "running",
    idle: false,
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
    stood: {},
    offset: {},
    back: [],
  };
  return options.filterText.trim() === "" ? state : withFilter(state, options.filterText);
}

type OptionalKey = "filter" | "language" | "held" | "frozen" | "message" | "mark" | "opened";

/** Copies the state without some of what is optional. */
export function without<K extends OptionalKey>(state: ViewState, ...keys: K[]): ViewState {
  const copy = { ...state };
  for (const key of keys) delete copy[key];
  return copy;
}

/** Shows other rows: lists begin at their first ones again, and nothing holds their order. */
export const relisted = (state: ViewState): ViewState => ({
  ...without(state, "held"),
  offset: {},
  stood: {},
});

/** Puts another filter in force, or says in the prompt what is wrong with it. */
export function withFilter(state: ViewState, text: string): ViewState {
  const parsed = parseFilter(text);
  if ("error" in parsed) return { ...state, prompt: { ...state.prompt, error: parsed.error } };
  const trimmed = parsed.filter.text;
  const rest = without(trimmed === state.filterText ? state : relisted(state), "filter", "held");
  if (trimmed === "") return { ...rest, filterText: "" };
  const others = state.filterHistory.filter((old) => old !== trimmed);
  return {
    ...rest,
    filterText: trimmed,
    filter: parsed.filter,
    filterHistory: [trimmed, ...others].slice(0, MAX_FILTER_HISTORY),
  };
}
