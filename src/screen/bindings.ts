/**
 * Every key, once: what it is called, what it does where, what the footer and the help say. The
 * screen dispatches by this table, so that help cannot miss one.
 */
import { RUNTIME_LABELS } from "../model/columns.ts";
import type { Motion, ViewId } from "../model/view.ts";
import { RUNTIMES } from "../tick/runtimes.ts";

/** What a key asks for. */
export type Command =
  | { do: "quit" | "help" | "pid" | "filter" | "reverse" | "freeze" }
  | {
      do:
        | "clear"
        | "next-view"
        | "open"
        | "back"
        | "kernel"
        | "names"
        | "language"
        | "redraw"
        | "suspend";
    }
  | { do: "span" | "threads" | "subtree" | "mark" | "write" | "bottom-up" | "follow" | "detail" }
  | { do: "sort" | "step" | "interval" | "side" | "match"; by: 1 | -1 }
  | { do: "view"; view: ViewId }
  | { do: "move"; motion: Motion };

/** One line of the table. */
export interface Binding {
  /** Names of keys, see `keyNames`. */
  readonly keys: readonly string[];
  /** What help and footer call them. */
  readonly label: string;
  readonly help: string;
  /** A word for the footer, and how important it is there: 1 is the last to go. */
  readonly footer?: {
    readonly text: string;
    readonly rank: number;
    /** Named only while the picture is frozen, although it does something always. */
    readonly frozen?: true;
  };
  /** Views where it does something; all when left out. */
  readonly views?: readonly ViewId[];
  /** Only while the picture is frozen, or only while it is not. */
  readonly when?: "frozen" | "live";
  readonly command: Command;
}

const LISTS: readonly ViewId[] = ["functions", "processes"];
const TREES: readonly ViewId[] = ["tree", "flame"];

/** Keys outside of prompts and help. */
export const BINDINGS: readonly Binding[] = [
  {
    keys: ["?", "h"],
    label: "?",
    help: "this help",
    footer: { text: "help", rank: 1 },
    command: { do: "help" },
  },
  {
    keys: ["p"],
    label: "p",
    help: "sample only some pids, in the kernel; none: all",
    footer: { text: "pid", rank: 2 },
    command: { do: "pid" },
  },
  {
    keys: ["/"],
    label: "/",
    help: "filter: text /regexp/ pid:42 tree:42 comm:nginx thread:worker lang:perl module:libc, ! negates; in tree and flame names are searched for",
    footer: { text: "filter", rank: 3 },
    views: [...LISTS, ...TREES],
    command: { do: "filter" },
  },
  {
    keys: ["s"],
    label: "s",
    help: "sort by the next of self, total, name, module, pid",
    footer: { text: "sort", rank: 6 },
    views: LISTS,
    command: { do: "sort", by: 1 },
  },
  {
    keys: ["S"],
    label: "S",
    help: "sort by the one before",
    views: LISTS,
    command: { do: "sort", by: -1 },
  },
  { keys: ["r"], label: "r", help: "reverse the order", views: LISTS, command: { do: "reverse" } },
  {
    keys: [" ", "z"],
    label: "space",
    help: "freeze the picture while collecting goes on",
    footer: { text: "freeze", rank: 5 },
    when: "live",
    command: { do: "freeze" },
  },
  {
    keys: [" ", "z"],
    label: "space",
    help: "back to now, while frozen",
    footer: { text: "now", rank: 2 },
    when: "frozen",
    command: { do: "freeze" },
  },
  {
    keys: ["["],
    label: "[",
    help: "freeze, and go a refresh back",
    footer: { text: "earlier", rank: 3, frozen: true },
    command: { do: "step", by: -1 },
  },
  {
    keys: ["]"],
    label: "]",
    help: "a refresh forward, while frozen",
    footer: { text: "later", rank: 3, frozen: true },
    command: { do: "step", by: 1 },
  },
  {
    keys: ["enter"],
    label: "⏎",
    help: "open: a function shows callers, lines and callees, a process becomes the filter, a counter shows who is behind it",
    footer: { text: "open", rank: 4 },
    views: [...LISTS, "metrics", "function", "counter"],
    command: { do: "open" },
  },
  {
    keys: ["enter"],
    label: "⏎",
    help: "tree: show or hide what is below; flame: zoom in, esc zooms out",
    footer: { text: "open", rank: 3 },
    views: TREES,
    command: { do: "open" },
  },
  {
    keys: ["right"],
    label: "→",
    help: "tree: show what is below; flame: the next frame",
    views: TREES,
    command: { do: "side", by: 1 },
  },
  {
    keys: ["left"],
    label: "←",
    help: "tree: hide what is below, or go up; flame: the frame before",
    views: TREES,
    command: { do: "side", by: -1 },
  },
  {
    keys: ["f"],
    label: "f",
    help: "follow the hottest path down from the selected row",
    footer: { text: "hottest", rank: 3 },
    views: TREES,
    command: { do: "follow" },
  },
  {
    keys: ["b"],
    label: "b",
    help: "begin with the innermost function, or with the outermost again",
    footer: { text: "bottom-up", rank: 5 },
    views: TREES,
    command: { do: "bottom-up" },
  },
  {
    keys: ["d"],
    label: "d",
    help: "detail of the selected function",
    footer: { text: "detail", rank: 4 },
    views: TREES,
    command: { do: "detail" },
  },
  {
    keys: ["n"],
    label: "n",
    help: "the next frame that the filter names",
    views: ["flame"],
    command: { do: "match", by: 1 },
  },
  {
    keys: ["N"],
    label: "N",
    help: "the one before",
    views: ["flame"],
    command: { do: "match", by: -1 },
  },
  {
    keys: ["u"],
    label: "u",
    help: "the process and all below it become the filter, those started later too",
    footer: { text: "subtree", rank: 4 },
    views: ["processes"],
    command: { do: "subtree" },
  },
  {
    keys: ["t"],
    label: "t",
    help: "threads under their processes, by name, or processes only",
    footer: { text: "threads", rank: 5 },
    views: ["processes"],
    command: { do: "threads" },
  },
  {
    keys: ["a"],
    label: "a",
    help: "percentages of this refresh, of the last 10 s, of all since c",
    footer: { text: "10 s", rank: 6 },
    views: [...LISTS, ...TREES],
    command: { do: "span" },
  },
  {
    keys: ["m"],
    label: "m",
    help: "mark this moment: what grew and shrank since; again: without",
    footer: { text: "mark", rank: 7 },
    command: { do: "mark" },
  },
  {
    keys: ["w"],
    label: "w",
    help: "write what is shown to a file that polytop replay opens",
    footer: { text: "write", rank: 9 },
    command: { do: "write" },
  },
  {
    keys: ["esc", "backspace"],
    label: "esc",
    help: "back; in a list: selection, language and filter go, one at a time",
    footer: { text: "back", rank: 2 },
    views: ["function", "counter"],
    command: { do: "back" },
  },
  {
    keys: ["1"],
    label: "1",
    help: "functions",
    command: { do: "view", view: "functions" },
  },
  { keys: ["2"], label: "2", help: "processes", command: { do: "view", view: "processes" } },
  {
    keys: ["3"],
    label: "3",
    help: "tree: who called whom",
    command: { do: "view", view: "tree" },
  },
  {
    keys: ["4"],
    label: "4",
    help: "flame: the same as a picture",
    command: { do: "view", view: "flame" },
  },
  {
    keys: ["5"],
    label: "5",
    help: "metrics of the unwinders",
    command: { do: "view", view: "metrics" },
  },
  {
    keys: ["tab"],
    label: "tab",
    help: "the next view",
    footer: { text: "view", rank: 4 },
    command: { do: "next-view" },
  },
  { keys: ["up", "k"], label: "↑ k", help: "up", command: { do: "move", motion: "up" } },
  { keys: ["down", "j"], label: "↓ j", help: "down", command: { do: "move", motion: "down" } },
  {
    keys: ["pageup", "ctrl-u", "ctrl-b"],
    label: "PgUp",
    help: "a page up",
    command: { do: "move", motion: "page-up" },
  },
  {
    keys: ["pagedown", "ctrl-d", "ctrl-f"],
    label: "PgDn",
    help: "a page down",
    command: { do: "move", motion: "page-down" },
  },
  {
    keys: ["home", "g"],
    label: "Home g",
    help: "the first row",
    command: { do: "move", motion: "first" },
  },
  {
    keys: ["end", "G"],
    label: "End G",
    help: "the last row",
    command: { do: "move", motion: "last" },
  },
  {
    keys: ["K"],
    label: "K",
    help: "leave kernel frames out, or show them again",
    footer: { text: "kernel", rank: 9 },
    views: [...LISTS, ...TREES],
    command: { do: "kernel" },
  },
  {
    keys: ["o"],
    label: "o",
    help: "names of the source: Worker.RunAsync for Worker+<RunAsync>d__3.MoveNext, which C# made of it; or raw again",
    footer: { text: "names", rank: 9 },
    views: [...LISTS, ...TREES, "function", "counter"],
    command: { do: "names" },
  },
  {
    keys: ["l"],
    label: "l",
    help: `one language only: ${RUNTIMES.map((it) => RUNTIME_LABELS[it]).join(", ")}, all`,
    footer: { text: "language", rank: 8 },
    views: ["functions"],
    command: { do: "language" },
  },
  {
    keys: ["+", "="],
    label: "+",
    help: "longer between refreshes",
    command: { do: "interval", by: 1 },
  },
  {
    keys: ["-"],
    label: "-",
    help: "shorter between refreshes",
    command: { do: "interval", by: -1 },
  },
  {
    keys: ["c"],
    label: "c",
    help: "clear totals",
    footer: { text: "clear totals", rank: 10 },
    command: { do: "clear" },
  },
  { keys: ["ctrl-l"], label: "^L", help: "draw again", command: { do: "redraw" } },
  { keys: ["ctrl-z"], label: "^Z", help: "suspend", command: { do: "suspend" } },
  {
    keys: ["q", "ctrl-c"],
    label: "q",
    help: "quit; ^C too",
    footer: { text: "quit", rank: 1 },
    command: { do: "quit" },
  },
];

/** Keys of the help screen; everything else in it leaves it as well, except for what scrolls. */
export const HELP_FOOTER = "esc back  ↑↓ scroll  q quit";

/** What a prompt says about its own keys. */
export const PROMPT_HINTS: Readonly<Record<"pid" | "filter", string>> = {
  pid: "⏎ sample only these, empty: all   tab complete, commands too   esc leave",
  filter: "⏎ keep   tab complete   ↑↓ earlier ones   esc leave",
};
