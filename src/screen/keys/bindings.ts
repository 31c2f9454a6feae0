/**
 * Every key, once: what it is called, what it does where, what footer and help say. The screen
 * dispatches by this table, so that help cannot miss one.
 */
import { exampleOf, FILTER_KEYS } from "../../model/filter/filter-words.ts";
import { RUNTIME_LABELS } from "../../text/columns.ts";
import { COMMON_EVENTS } from "../../tick/events.ts";
import { RUNTIMES } from "../../tick/runtimes.ts";
import { chooseNextEvent, sortByNextEvent } from "../state/choose-events.ts";
import type { Session } from "../state/session.ts";
import type { PromptMode, ViewState } from "../state/state.ts";
import { changeLanguage, showView, toggleNames, turnTrees } from "../state/transitions.ts";
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
  /** What the key does. */
  readonly run: (session: Session) => void;
  /** A word for the footer, and how important it is there: 1 is the last to go. */
  readonly footer?: readonly [text: string, rank: number];
  /** The footer names it only while the picture is frozen, or there are notices, although it does something always. */
  readonly named?: "frozen" | "noticed";
  /** Views that have this group get the key; all views when left out. */
  readonly group?: KeyGroup;
  /** The key does something in other views too, where footer and help do not name it. */
  readonly everywhere?: true;
  /** The key does something only while the picture is frozen, or only while it is not. */
  readonly when?: "frozen" | "live";
}

type More = Partial<Omit<Binding, "keys" | "help" | "run">>;

/** A line of the table; the key is called by its first name unless `more` says otherwise. */
function key(
  names: string | readonly string[],
  help: string,
  run: (session: Session) => void,
  more: More = {},
): Binding {
  const keys = typeof names === "string" ? [names] : names;
  return { keys, label: keys[0] ?? "", help, run, ...more };
}

/** Changes the state and nothing else. */
const change =
  (transition: (state: ViewState) => ViewState) =>
  (session: Session): void =>
    session.update(transition);

/** Keys outside of prompts and help. */
export const BINDINGS: readonly Binding[] = [
  key(["?", "h", "f1"], "this help; F1 too", act.showText("help"), {
    footer: ["help", 1],
  }),
  key("!", "notices in full; they are told once more at the end", act.showText("notices"), {
    footer: ["notices", 3],
    named: "noticed",
  }),
  key("p", "sample only some pids, in the kernel; none: all", act.prompt("pid"), {
    footer: ["pid", 2],
  }),
  key(
    "/",
    `filter: text /regexp/ ${FILTER_KEYS.map(exampleOf).join(" ")}, commas and | for either, ! negates; in tree and flame names are searched for`,
    act.prompt("filter"),
    { footer: ["filter", 3], group: "samples" },
  ),
  key(
    "s",
    "sort by the next of self, total, name, module, pid; of waits by their age too",
    act.sort(1),
    {
      footer: ["sort", 6],
      group: "sorted",
    },
  ),
  key("S", "sort by the one before", act.sort(-1), { group: "sorted" }),
  key("r", "reverse the order", act.toggle("reverse"), { group: "sorted" }),
  key([" ", "z"], "freeze the picture while collecting goes on", act.toggleFreeze, {
    label: "space",
    footer: ["freeze", 5],
    when: "live",
  }),
  key([" ", "z"], "back to now, while frozen", act.toggleFreeze, {
    label: "space",
    footer: ["now", 2],
    when: "frozen",
  }),
  key("[", "freeze, and go a refresh back", act.step(-1), {
    footer: ["earlier", 3],
    named: "frozen",
  }),
  key("]", "a refresh forward, while frozen", act.step(1), {
    footer: ["later", 3],
    named: "frozen",
  }),
  key(
    "enter",
    "open: a function shows callers, lines and callees, a process becomes the filter, a counter shows who is behind it",
    act.open,
    { label: "⏎", footer: ["open", 4], group: "rows" },
  ),
  key("enter", "tree: show or hide what is below; flame: zoom in, esc zooms out", act.open, {
    label: "⏎",
    footer: ["open", 3],
    group: "tree",
  }),
  key("right", "tree: show what is below; flame: the next frame", goSideways(1), {
    label: "→",
    group: "tree",
  }),
  key("left", "tree: hide what is below, or go up; flame: the frame before", goSideways(-1), {
    label: "←",
    group: "tree",
  }),
  key("f", "follow the hottest path down from the selected row", followHottest, {
    footer: ["hottest", 3],
    group: "tree",
  }),
  key("b", "begin with the innermost function, or with the outermost again", change(turnTrees), {
    footer: ["bottom-up", 5],
    group: "tree",
  }),
  key("d", "detail of the selected function", openFunctionOfNode, {
    footer: ["detail", 4],
    group: "tree",
  }),
  key("n", "the next frame that the filter names", act.selectMatch(1), { group: "matches" }),
  key("N", "the one before", act.selectMatch(-1), { group: "matches" }),
  key(
    "u",
    "the process and all below it become the filter, those started later too",
    narrowToFamily,
    { footer: ["subtree", 4], group: "processes" },
  ),
  key("t", "threads under their processes, by name, or processes only", act.toggle("threads"), {
    footer: ["threads", 5],
    group: "processes",
  }),
  key(
    "a",
    "percentages of now (of as many refreshes as hold 300 samples), of the last 10 s, of all since c",
    act.showNextSpan,
    {
      footer: ["10 s", 6],
      group: "samples",
    },
  ),
  key("e", "threads that run, threads that wait, both; the history too", act.showNextActivity, {
    footer: ["waiting", 6],
    group: "samples",
  }),
  key(
    "E",
    "count other events: cpu,page-faults sched:sched_switch uprobe:libc:malloc …; tab completes",
    act.prompt("events"),
    {
      footer: ["events", 8],
      group: "samples",
    },
  ),
  key("x", `the next of ${COMMON_EVENTS.join(", ")}`, chooseNextEvent, { group: "samples" }),
  key(
    "v",
    "sort by the next of several events; the others are columns beside it",
    sortByNextEvent,
    {
      group: "samples",
    },
  ),
  key("i", "waits for work too, or without these", act.toggleIdle, { group: "samples" }),
  key("m", "mark this moment: what grew and shrank since; again: without", act.toggleMark, {
    footer: ["mark", 7],
  }),
  key("w", "write what is shown to a file that polytop replay opens", act.write, {
    footer: ["write", 9],
  }),
  key(
    ["esc", "backspace", "delete"],
    "back; in a list: selection, language and filter go, one at a time",
    act.back,
    { footer: ["back", 2], group: "page", everywhere: true },
  ),
  ...VIEWS.flatMap(({ id, key: shown }) =>
    shown ? key(shown.name, shown.help, (session) => session.update(showView, id)) : [],
  ),
  key("tab", "the next view", (session) => session.update(showView, viewAfter(session.view).id), {
    footer: ["view", 4],
  }),
  key("shift-tab", "the view before", (session) =>
    session.update(showView, viewAfter(session.view, -1).id),
  ),
  key(["up", "k"], "up", act.move("up"), { label: "↑ k" }),
  key(["down", "j"], "down", act.move("down"), { label: "↓ j" }),
  key(["pageup", "ctrl-u", "ctrl-b"], "a page up", act.move("page-up"), { label: "PgUp" }),
  key(["pagedown", "ctrl-d", "ctrl-f"], "a page down", act.move("page-down"), { label: "PgDn" }),
  key(["home", "g"], "the first row", act.move("first"), { label: "Home g" }),
  key(["end", "G"], "the last row", act.move("last"), { label: "End G" }),
  key(
    "A",
    "async code: the scheduler's frames in place of those that await (~), or the other way",
    act.toggle("physical"),
    { group: "samples" },
  ),
  key("K", "leave kernel frames out, or show them again", act.toggle("kernel"), {
    footer: ["kernel", 9],
    group: "samples",
  }),
  key(
    "o",
    "names of the source: Worker.RunAsync for Worker+<RunAsync>d__3.MoveNext, which C# made of it; or raw again",
    change(toggleNames),
    { footer: ["names", 9], group: "names" },
  ),
  key(
    "l",
    `one language only: ${RUNTIMES.map((it) => RUNTIME_LABELS[it]).join(", ")}, all`,
    change(changeLanguage),
    { footer: ["language", 8], group: "languages" },
  ),
  key(["+", "="], "longer between refreshes", act.setInterval(1)),
  key("-", "shorter between refreshes", act.setInterval(-1)),
  key("c", "clear totals", act.clearTotals, { footer: ["clear totals", 10] }),
  key("ctrl-l", "draw again", (session) => session.terminal.redraw(), { label: "^L" }),
  key("ctrl-z", "suspend", (session) => session.terminal.suspend(), { label: "^Z" }),
  key(["q", "ctrl-c", "f10"], "quit; ^C and F10 too", (session) => session.terminal.quit(), {
    footer: ["quit", 1],
  }),
];

/** Keys of the help screen; everything else in it leaves it as well, except for what scrolls. */
export const HELP_FOOTER = "esc back  ↑↓ scroll  q quit";

/** What a prompt says about its own keys. */
export const PROMPT_HINTS: Readonly<Record<PromptMode, string>> = {
  pid: "⏎ sample only these, empty: all   tab complete, commands too   esc leave",
  events: "⏎ count these, empty: the CPU's time   tab complete   esc leave",
  filter: "⏎ keep   tab complete   ↑↓ earlier ones   esc leave",
};
