/**
 * Every key, once: what it is called, what it does where, what the footer and the help say. The
 * screen dispatches by this table, so that help cannot miss one.
 */
import type { Key } from "ink";
import type { Mode, Motion, ViewId } from "../model/view.ts";

/** What a key asks for. */
export type Command =
  | { do: "quit" | "help" | "pid" | "filter" | "reverse" | "freeze" }
  | { do: "clear" | "next-view" | "open" | "back" | "kernel" | "language" | "redraw" | "suspend" }
  | { do: "sort" | "step" | "interval"; by: 1 | -1 }
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
    help: "filter: text /regexp/ pid:42 comm:nginx lang:perl module:libc, ! negates",
    footer: { text: "filter", rank: 3 },
    views: LISTS,
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
    help: "open: a function shows callers and callees, a process becomes the filter",
    footer: { text: "open", rank: 4 },
    views: LISTS,
    command: { do: "open" },
  },
  {
    keys: ["esc", "backspace"],
    label: "esc",
    help: "back; in a list: selection, language and filter go, one at a time",
    footer: { text: "back", rank: 2 },
    views: ["function"],
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
    footer: { text: "kernel", rank: 8 },
    views: LISTS,
    command: { do: "kernel" },
  },
  {
    keys: ["l"],
    label: "l",
    help: "one language only: perl, .net, native, kernel, all",
    footer: { text: "language", rank: 7 },
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
    footer: { text: "clear totals", rank: 9 },
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
  pid: "⏎ sample only these, empty: all   esc leave",
  filter: "⏎ keep   ↑↓ earlier ones   esc leave",
};

const applies = (binding: Binding, view: ViewId, frozen: boolean): boolean =>
  (binding.views === undefined || binding.views.includes(view)) &&
  (binding.when === undefined || (binding.when === "frozen") === frozen);

/** What a key does in a list. */
export function commandFor(key: string, view: ViewId, frozen: boolean): Command | undefined {
  const binding = BINDINGS.find((one) => one.keys.includes(key) && applies(one, view, frozen));
  if (binding) return binding.command;
  // Esc is shown in the footer where it matters, but must always be harmless.
  return key === "esc" || key === "backspace" ? { do: "back" } : undefined;
}

/** Bindings that the footer names now, in their order. */
export function footerBindings(view: ViewId, frozen: boolean): readonly Binding[] {
  return BINDINGS.filter(
    (one) => one.footer && applies(one, view, frozen) && (!one.footer.frozen || frozen),
  );
}

const CONTROL: Readonly<Record<string, string>> = {
  "\r": "enter",
  "\n": "enter",
  "\t": "tab",
  "\u007f": "backspace",
  "\b": "backspace",
  "\u001b": "esc",
  "\u0003": "ctrl-c",
};

const FLAGS: readonly (readonly [keyof Key, string])[] = [
  ["upArrow", "up"],
  ["downArrow", "down"],
  ["leftArrow", "left"],
  ["rightArrow", "right"],
  ["pageUp", "pageup"],
  ["pageDown", "pagedown"],
  ["home", "home"],
  ["end", "end"],
  ["return", "enter"],
  ["escape", "esc"],
  ["tab", "tab"],
  ["backspace", "backspace"],
  ["delete", "backspace"],
];

/**
 * Names of the keys in one read: over a slow line several arrive together, `/abc\r` as one
 * string. A character is its own name.
 */
export function keyNames(input: string, key: Key): string[] {
  for (const [flag, name] of FLAGS) if (key[flag]) return [name];
  if (key.ctrl) return input === "" ? [] : [`ctrl-${input}`];
  const names = [...input].map((character) => CONTROL[character] ?? character);
  // Alt is not used; Esc and the next key look the same when a slow line brings them together.
  return key.meta ? ["esc", ...names] : names;
}

/** Which modes type text: there every key is text. */
export const isPrompt = (mode: Mode): mode is "pid" | "filter" =>
  mode === "pid" || mode === "filter";
