/**
 * Every key, once: what it is called, what it does where, what footer and help say. The screen
 * dispatches by this table, so that help cannot miss one.
 */
import { RUNTIME_LABELS } from "../../text/columns.ts";
import { RUNTIMES } from "../../tick/runtimes.ts";
import type { Session } from "../state/session.ts";
import type { PromptMode, ViewState } from "../state/state.ts";
import {
  changeLanguage,
  reverse,
  showView,
  toggleKernel,
  toggleNames,
  toggleThreads,
  turnTrees,
} from "../state/transitions.ts";
import { narrowToFamily } from "../views/processes.ts";
import { VIEWS, viewAfter } from "../views/registry.ts";
import { followHottest, goSideways, openFunctionOfNode } from "../views/tree-keys.ts";
import type { KeyGroup } from "../views/view.ts";
import * as act from "./actions.ts";

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
  /** Views that have this group get the key; all views when left out. */
  readonly group?: KeyGroup;
  /** Does something in other views too, where footer and help do not name it. */
  readonly everywhere?: true;
  /** Only while the picture is frozen, or only while it is not. */
  readonly when?: "frozen" | "live";
  /** What the key does. */
  readonly run: (session: Session) => void;
}

/** Changes the state and nothing else. */
const change =
  (transition: (state: ViewState) => ViewState) =>
  (session: Session): void =>
    session.update(transition);

/** Keys outside of prompts and help. */
export const BINDINGS: readonly Binding[] = [
  {
    keys: ["?", "h"],
    label: "?",
    help: "this help",
    footer: { text: "help", rank: 1 },
    run: act.showHelp,
  },
  {
    keys: ["p"],
    label: "p",
    help: "sample only some pids, in the kernel; none: all",
    footer: { text: "pid", rank: 2 },
    run: act.prompt("pid"),
  },
  {
    keys: ["/"],
    label: "/",
    help: "filter: text /regexp/ pid:42 tree:42 comm:nginx thread:worker lang:perl module:libc, ! negates; in tree and flame names are searched for",
    footer: { text: "filter", rank: 3 },
    group: "samples",
    run: act.prompt("filter"),
  },
  {
    keys: ["s"],
    label: "s",
    help: "sort by the next of self, total, name, module, pid",
    footer: { text: "sort", rank: 6 },
    group: "sorted",
    run: act.sort(1),
  },
  {
    keys: ["S"],
    label: "S",
    help: "sort by the one before",
    group: "sorted",
    run: act.sort(-1),
  },
  { keys: ["r"], label: "r", help: "reverse the order", group: "sorted", run: change(reverse) },
  {
    keys: [" ", "z"],
    label: "space",
    help: "freeze the picture while collecting goes on",
    footer: { text: "freeze", rank: 5 },
    when: "live",
    run: act.toggleFreeze,
  },
  {
    keys: [" ", "z"],
    label: "space",
    help: "back to now, while frozen",
    footer: { text: "now", rank: 2 },
    when: "frozen",
    run: act.toggleFreeze,
  },
  {
    keys: ["["],
    label: "[",
    help: "freeze, and go a refresh back",
    footer: { text: "earlier", rank: 3, frozen: true },
    run: act.step(-1),
  },
  {
    keys: ["]"],
    label: "]",
    help: "a refresh forward, while frozen",
    footer: { text: "later", rank: 3, frozen: true },
    run: act.step(1),
  },
  {
    keys: ["enter"],
    label: "⏎",
    help: "open: a function shows callers, lines and callees, a process becomes the filter, a counter shows who is behind it",
    footer: { text: "open", rank: 4 },
    group: "rows",
    run: act.open,
  },
  {
    keys: ["enter"],
    label: "⏎",
    help: "tree: show or hide what is below; flame: zoom in, esc zooms out",
    footer: { text: "open", rank: 3 },
    group: "tree",
    run: act.open,
  },
  {
    keys: ["right"],
    label: "→",
    help: "tree: show what is below; flame: the next frame",
    group: "tree",
    run: goSideways(1),
  },
  {
    keys: ["left"],
    label: "←",
    help: "tree: hide what is below, or go up; flame: the frame before",
    group: "tree",
    run: goSideways(-1),
  },
  {
    keys: ["f"],
    label: "f",
    help: "follow the hottest path down from the selected row",
    footer: { text: "hottest", rank: 3 },
    group: "tree",
    run: followHottest,
  },
  {
    keys: ["b"],
    label: "b",
    help: "begin with the innermost function, or with the outermost again",
    footer: { text: "bottom-up", rank: 5 },
    group: "tree",
    run: change(turnTrees),
  },
  {
    keys: ["d"],
    label: "d",
    help: "detail of the selected function",
    footer: { text: "detail", rank: 4 },
    group: "tree",
    run: openFunctionOfNode,
  },
  {
    keys: ["n"],
    label: "n",
    help: "the next frame that the filter names",
    group: "matches",
    run: act.selectMatch(1),
  },
  {
    keys: ["N"],
    label: "N",
    help: "the one before",
    group: "matches",
    run: act.selectMatch(-1),
  },
  {
    keys: ["u"],
    label: "u",
    help: "the process and all below it become the filter, those started later too",
    footer: { text: "subtree", rank: 4 },
    group: "processes",
    run: narrowToFamily,
  },
  {
    keys: ["t"],
    label: "t",
    help: "threads under their processes, by name, or processes only",
    footer: { text: "threads", rank: 5 },
    group: "processes",
    run: change(toggleThreads),
  },
  {
    keys: ["a"],
    label: "a",
    help: "percentages of this refresh, of the last 10 s, of all since c",
    footer: { text: "10 s", rank: 6 },
    group: "samples",
    run: act.showNextSpan,
  },
  {
    keys: ["m"],
    label: "m",
    help: "mark this moment: what grew and shrank since; again: without",
    footer: { text: "mark", rank: 7 },
    run: act.toggleMark,
  },
  {
    keys: ["w"],
    label: "w",
    help: "write what is shown to a file that polytop replay opens",
    footer: { text: "write", rank: 9 },
    run: act.write,
  },
  {
    keys: ["esc", "backspace"],
    label: "esc",
    help: "back; in a list: selection, language and filter go, one at a time",
    footer: { text: "back", rank: 2 },
    group: "page",
    everywhere: true,
    run: act.back,
  },
  ...VIEWS.flatMap(({ id, key }): Binding[] =>
    key
      ? [{ keys: [key.name], label: key.name, help: key.help, run: (s) => s.update(showView, id) }]
      : [],
  ),
  {
    keys: ["tab"],
    label: "tab",
    help: "the next view",
    footer: { text: "view", rank: 4 },
    run: (session) => session.update(showView, viewAfter(session.view).id),
  },
  { keys: ["up", "k"], label: "↑ k", help: "up", run: act.move("up") },
  { keys: ["down", "j"], label: "↓ j", help: "down", run: act.move("down") },
  {
    keys: ["pageup", "ctrl-u", "ctrl-b"],
    label: "PgUp",
    help: "a page up",
    run: act.move("page-up"),
  },
  {
    keys: ["pagedown", "ctrl-d", "ctrl-f"],
    label: "PgDn",
    help: "a page down",
    run: act.move("page-down"),
  },
  {
    keys: ["home", "g"],
    label: "Home g",
    help: "the first row",
    run: act.move("first"),
  },
  {
    keys: ["end", "G"],
    label: "End G",
    help: "the last row",
    run: act.move("last"),
  },
  {
    keys: ["K"],
    label: "K",
    help: "leave kernel frames out, or show them again",
    footer: { text: "kernel", rank: 9 },
    group: "samples",
    run: change(toggleKernel),
  },
  {
    keys: ["o"],
    label: "o",
    help: "names of the source: Worker.RunAsync for Worker+<RunAsync>d__3.MoveNext, which C# made of it; or raw again",
    footer: { text: "names", rank: 9 },
    group: "names",
    run: change(toggleNames),
  },
  {
    keys: ["l"],
    label: "l",
    help: `one language only: ${RUNTIMES.map((it) => RUNTIME_LABELS[it]).join(", ")}, all`,
    footer: { text: "language", rank: 8 },
    group: "languages",
    run: change(changeLanguage),
  },
  {
    keys: ["+", "="],
    label: "+",
    help: "longer between refreshes",
    run: act.setInterval(1),
  },
  {
    keys: ["-"],
    label: "-",
    help: "shorter between refreshes",
    run: act.setInterval(-1),
  },
  {
    keys: ["c"],
    label: "c",
    help: "clear totals",
    footer: { text: "clear totals", rank: 10 },
    run: act.clearTotals,
  },
  {
    keys: ["ctrl-l"],
    label: "^L",
    help: "draw again",
    run: (session) => session.terminal.redraw(),
  },
  { keys: ["ctrl-z"], label: "^Z", help: "suspend", run: (session) => session.terminal.suspend() },
  {
    keys: ["q", "ctrl-c"],
    label: "q",
    help: "quit; ^C too",
    footer: { text: "quit", rank: 1 },
    run: (session) => session.terminal.quit(),
  },
];

/** Keys of the help screen; everything else in it leaves it as well, except for what scrolls. */
export const HELP_FOOTER = "esc back  ↑↓ scroll  q quit";

/** What a prompt says about its own keys. */
export const PROMPT_HINTS: Readonly<Record<PromptMode, string>> = {
  pid: "⏎ sample only these, empty: all   tab complete, commands too   esc leave",
  filter: "⏎ keep   tab complete   ↑↓ earlier ones   esc leave",
};
