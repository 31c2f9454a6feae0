/** What keys and refreshes do to the state of the screen: pure functions from one state to the next. */
import { withTaskWords } from "../../model/filter/filter.ts";
import { nextSortKey } from "../../model/sort.ts";
import { RUNTIMES } from "../../tick/runtimes.ts";
import type { Tick } from "../../tick/tick.ts";
import type { Activity } from "../../tick/waits.ts";
import { openPrompt } from "./prompt.ts";
import { type Motion, moveIndex, type SelectedRow, windowOffset } from "./rows.ts";
import {
  FIRST_VIEW,
  isPrompt,
  type Mark,
  type Mode,
  NO_PROMPT,
  type Place,
  relisted,
  SPANS,
  type ViewState,
  withFilter,
  without,
} from "./state.ts";

/** Intervals that + and - go through, seconds. */
const INTERVALS: readonly number[] = [0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60];

const HOLD_MS = 3000;
const MESSAGE_MS = 3000;

/** The rows that a selection moves among, how many of them fit, and the time. */
export interface ListNow {
  readonly ids: readonly string[];
  readonly page: number;
  readonly now: number;
  /** The one that is selected, whoever chose it. */
  readonly selected?: string;
}

/** Selects a row, and holds the order of all rows for a while. */
export function select(state: ViewState, id: string, { ids, page, now }: ListNow): ViewState {
  const { view } = state;
  const offset = windowOffset(state.offset[view] ?? 0, ids.indexOf(id), ids.length, page);
  return {
    ...state,
    selected: { ...state.selected, [view]: id },
    offset: { ...state.offset, [view]: offset },
    held: { ids, until: now + HOLD_MS },
  };
}

/** Moves the selection in a list. */
export function move(state: ViewState, motion: Motion, list: ListNow): ViewState {
  const { ids, page } = list;
  if (ids.length === 0) return state;
  const selected = list.selected ?? state.selected[state.view];
  const index = selected === undefined ? -1 : ids.indexOf(selected);
  const id = ids[moveIndex(motion, index, ids.length, page)];
  return id === undefined ? state : select(state, id, list);
}

/** Takes the choice of a row back: the first one is selected again. */
function deselect(state: ViewState, view: string): ViewState {
  const { [view]: _, ...selected } = state.selected;
  const { [view]: __, ...stood } = state.stood;
  return { ...without(state, "held"), selected, stood, offset: { ...state.offset, [view]: 0 } };
}

/**
 * Notes which row was drawn as the selected one. Where a chosen one is out of sight, that at its place is chosen now, or
 * none where something else is listed. A frozen picture is left again: its choices stay.
 */
export function settle(state: ViewState, row: SelectedRow | undefined): ViewState {
  const { view, selected, stood } = state;
  if (!row) return state;
  const before = stood[view];
  const chosen = selected[view];
  if (before?.id === row.id && before.place === row.place && (chosen ?? row.id) === row.id)
    return state;
  const next = { ...state, stood: { ...stood, [view]: row } };
  if (chosen === undefined || chosen === row.id || state.frozen) return next;
  if (before) return { ...next, selected: { ...selected, [view]: row.id } };
  const { [view]: _, ...others } = selected;
  return { ...next, selected: others };
}

/** Shows a view that a key chooses: there is nothing to go back to. */
export const showView = (state: ViewState, view: string): ViewState => ({
  ...without(state, "held", "opened"),
  view,
  mode: "list",
  back: [],
});

const placeOf = ({ view, filterText, opened, offset }: ViewState): Place => ({
  view,
  filterText,
  offset: offset[view] ?? 0,
  ...(opened === undefined ? {} : { opened }),
});

/** Opens a page about something; `row` is the row that stands for it in this view, if any. */
export function openPage(state: ViewState, page: string, opened: string, row?: string): ViewState {
  const { selected, view } = state;
  const fresh = deselect(
    row === undefined ? state : { ...state, selected: { ...selected, [view]: row } },
    page,
  );
  return {
    ...fresh,
    view: page,
    opened,
    back: [...state.back, placeOf(state)],
    offset: { ...state.offset, [page]: 0 },
  };
}

/** Makes a process, its family or a thread the filter, in place of another one. */
export function narrow(state: ViewState, words: string): ViewState {
  const left = { ...without(state, "held", "opened"), back: [...state.back, placeOf(state)] };
  return { ...withFilter(left, withTaskWords(state.filterText, words)), view: FIRST_VIEW };
}

/** Goes back to the place before. */
function leave(state: ViewState, place: Place): ViewState {
  return {
    ...without(state, "held", "opened"),
    view: place.view,
    offset: { ...state.offset, [place.view]: place.offset },
    back: state.back.slice(0, -1),
    ...(place.opened === undefined ? {} : { opened: place.opened }),
  };
}

/**
 * Leaves a page. In other views the last thing that narrowed the picture goes, first what the view
 * itself takes back; when nothing is left, nothing happens.
 */
export function goBack(
  state: ViewState,
  takeBack: (state: ViewState) => ViewState | undefined = () => undefined,
): ViewState {
  const place = state.back.at(-1);
  const { view } = state;
  if (state.opened !== undefined && place) return leave(state, place);
  const taken = takeBack(state);
  if (taken) return taken;
  if (state.selected[view] !== undefined) return deselect(state, view);
  if (place) return leave(withFilter(state, place.filterText), place);
  if (state.language !== undefined) return without(relisted(state), "language");
  if (state.filterText !== "") return withFilter(state, "");
  if (state.mark) return unmark(state);
  return state.frozen ? without(state, "frozen") : state;
}

/** Opens a prompt or the help, or goes back to the view. */
export const enterMode = (state: ViewState, mode: Mode): ViewState =>
  isPrompt(mode) ? openPrompt(state, mode) : { ...state, mode, prompt: NO_PROMPT };

/** Notes the pids that sampling is narrowed to. */
export const withPids = (state: ViewState, pids: readonly number[]): ViewState => ({
  ...relisted(state),
  pids,
});

/** Sorts by the next key, or by the one before. */
export const changeSort = (state: ViewState, step: 1 | -1): ViewState => ({
  ...relisted(state),
  sort: nextSortKey(state.sort, step, {
    isMarked: state.mark !== undefined,
    isWaiting: state.activity !== "running",
  }),
});

/** Changes a choice between two: the order, threads under their processes, kernel frames, waits for work, who awaits. */
export const toggle = (
  state: ViewState,
  choice: "reverse" | "threads" | "kernel" | "idle" | "physical",
): ViewState => ({
  ...relisted(state),
  [choice]: !state[choice],
});

/** Takes percentages of the next span. */
export const changeSpan = (state: ViewState): ViewState => ({
  ...relisted(state),
  span: SPANS[(SPANS.indexOf(state.span) + 1) % SPANS.length] ?? "now",
});

/** Names functions as their source does, or as they are. */
export const toggleNames = (state: ViewState): ViewState => ({
  ...state,
  readableNames: !state.readableNames,
});

/** Shows one language only, the next one, and after the last all of them. */
export function changeLanguage(state: ViewState): ViewState {
  const next = RUNTIMES[state.language === undefined ? 0 : RUNTIMES.indexOf(state.language) + 1];
  const rest = without(relisted(state), "language");
  return next === undefined ? rest : { ...rest, language: next };
}

/** Turns trees over: another tree has other rows. */
export const turnTrees = (state: ViewState): ViewState => ({
  ...relisted(state),
  bottomUp: !state.bottomUp,
  expanded: new Set(),
  zoom: [],
});

/** Shows or hides what is below rows of the tree. */
export function expand(state: ViewState, rows: Iterable<string>, isOpen: boolean): ViewState {
  const expanded = new Set(state.expanded);
  for (const row of rows) {
    if (isOpen) expanded.add(row);
    else expanded.delete(row);
  }
  return { ...without(state, "held"), expanded };
}

/** Makes a row the root of the flame. */
export const zoomIn = (state: ViewState, row: string): ViewState => ({
  ...state,
  zoom: [...state.zoom, row],
});

/** Goes back to the root before; undefined where the whole flame is shown. */
export const zoomOut = (state: ViewState): ViewState | undefined =>
  state.zoom.length > 0 ? { ...state, zoom: state.zoom.slice(0, -1) } : undefined;

/** Compares with a moment. */
export const withMark = (state: ViewState, mark: Mark): ViewState => ({
  ...relisted(state),
  mark,
  sort: "change",
  reverse: false,
});

/** Compares no more. */
export function unmark(state: ViewState): ViewState {
  const sort = state.sort === "change" ? "self" : state.sort;
  return { ...without(relisted(state), "mark"), sort };
}

/** Looks at other threads: a mark and a row that is held are of those before. */
export const withActivity = (state: ViewState, activity: Activity): ViewState => ({
  ...(state.mark ? unmark(state) : relisted(state)),
  ...(state.sort === "age" && activity === "running" ? { sort: "self" } : {}),
  activity,
});

/** Stays at a tick; with none, follows what is collected again. */
export const freeze = (state: ViewState, tick: Tick | undefined): ViewState =>
  tick ? { ...without(state, "held"), frozen: tick } : without(state, "frozen", "held");

/** Waits longer or shorter between refreshes. */
export function changeInterval(state: ViewState, step: 1 | -1): ViewState {
  const { delaySeconds: now } = state;
  const longer = INTERVALS.find((value) => value > now + 0.001);
  const shorter = INTERVALS.findLast((value) => value < now - 0.001);
  return { ...state, delaySeconds: (step > 0 ? longer : shorter) ?? now };
}

/** Says something for a moment. */
export const withMessage = (state: ViewState, text: string, now: number): ViewState => ({
  ...state,
  message: { text, until: now + MESSAGE_MS },
});

/** Ends what lasts for a moment only. */
export function expire(state: ViewState, now: number): ViewState {
  let next = state;
  if (state.held && now > state.held.until) next = without(next, "held");
  if (state.message && now > state.message.until) next = without(next, "message");
  return next;
}
