import { expect, test } from "vitest";
import type { ProcessRow } from "../../../src/model/aggregate.ts";
import { History } from "../../../src/model/history.ts";
import { sortProcesses } from "../../../src/model/sort.ts";
import { recall, withPromptText } from "../../../src/screen/state/prompt.ts";
import {
  holdOrder,
  listOf,
  type Motion,
  visibleRows,
  windowOffset,
} from "../../../src/screen/state/rows.ts";
import { initialState, type ViewState, withFilter } from "../../../src/screen/state/state.ts";
import {
  changeInterval,
  changeLanguage,
  changeSort,
  enterMode,
  expire,
  goBack,
  move,
  narrow,
  openPage,
  showView,
  zoomIn,
  zoomOut,
} from "../../../src/screen/state/transitions.ts";
import { VIEWS, viewAfter, viewOf } from "../../../src/screen/views/registry.ts";
import type { Tick } from "../../../src/tick/tick.ts";
import { makeTick, type StackCount } from "../../support/ticks.ts";

const START = {
  filterText: "",
  pids: [],
  sort: "self",
  kernel: true,
  nativeFrames: false,
  delaySeconds: 1,
} as const;

type Change = (state: ViewState) => ViewState;

const after = (...changes: Change[]): ViewState =>
  changes.reduce((state, change) => change(state), initialState(START));
const moved =
  (motion: Motion, ids: readonly string[], now = 0): Change =>
  (state) =>
    move(state, motion, { ids, page: 3, now });
const filtered =
  (text: string): Change =>
  (state) =>
    withFilter(state, text);
const times = (count: number, change: Change): Change[] => new Array(count).fill(change);

test("the first move selects the first row, and selection is by identity", () => {
  const state = after(moved("down", ["7", "8", "9"]), moved("down", ["7", "8", "9"]));
  expect(state.selected.functions).toBe("8");
  // Ranks moved: 8 is the first now, and down goes to what is below it.
  expect(moved("down", ["8", "3", "7"])(state).selected.functions).toBe("3");
  expect(after(moved("down", [])).selected.functions).toBeUndefined();
});

test("the order is held while the selection moves, and let go after a while", () => {
  const state = after(moved("down", ["7", "8", "9"], 1000));
  expect(state.held?.ids).toEqual(["7", "8", "9"]);
  expect(holdOrder([9, 4, 8, 7], String, state.held?.ids)).toEqual([7, 8, 9, 4]);
  expect(expire(state, 2000).held).toBeDefined();
  expect(expire(state, 9000).held).toBeUndefined();
});

test("the window follows the selection and stays full", () => {
  expect(windowOffset(0, 5, 10, 3)).toBe(3);
  expect(windowOffset(8, 2, 10, 3)).toBe(2);
  expect(windowOffset(9, -1, 10, 3)).toBe(7);
  expect(windowOffset(9, -1, 2, 3)).toBe(0);
  const rows = [1, 2, 3, 4, 5, 6, 7, 8, 9];
  const ids = rows.map(String);
  const state = after(moved("last", ids), moved("last", ids));
  expect(visibleRows(listOf(rows, ids), state, 3)).toMatchObject({ rows: [7, 8, 9], selected: 2 });
});

test("a filter is checked as it is typed, kept when it is right, and remembered", () => {
  const prompt: Change = (state) => enterMode(state, "filter");
  const typing = after(prompt, (state) => withPromptText(state, "lang:x"));
  expect(typing.prompt.error).toContain("lang:");
  const kept = after(filtered("lang:perl"), filtered(""));
  expect(kept.filter).toBeUndefined();
  expect(kept.filterHistory).toEqual(["lang:perl"]);
  expect(recall(prompt(kept), 1).prompt.text).toBe("lang:perl");
});

test("esc takes back one thing at a time and then nothing", () => {
  let state = after(filtered("x"), changeLanguage, moved("down", ["1", "2"]));
  state = goBack(state);
  expect(state.selected.functions).toBeUndefined();
  state = goBack(state);
  expect(state.language).toBeUndefined();
  state = goBack(state);
  expect(state.filterText).toBe("");
  expect(goBack(state)).toBe(state);
});

test("a process becomes the filter, and esc gives the old one back", () => {
  const processes = after(filtered("pid:1 lang:perl"), (state) => showView(state, "processes"));
  const opened = narrow(processes, "pid:42");
  expect(opened).toMatchObject({ view: "functions", filterText: "pid:42 lang:perl" });
  expect(goBack(opened)).toMatchObject({ view: "processes", filterText: "pid:1 lang:perl" });
});

test("a function opens and esc closes it", () => {
  const opened = after((state) => openPage(state, "function", "5", "5"));
  expect(opened).toMatchObject({ view: "function", opened: "5", selected: { functions: "5" } });
  expect(goBack(opened)).toMatchObject({ view: "functions", back: [] });
});

test("what a view takes back goes before the selection, and a page before it", () => {
  const zoomed = after(moved("down", ["1"]), (state) => zoomIn(state, "1"));
  expect(goBack(zoomed, zoomOut)).toMatchObject({ zoom: [], selected: { functions: "1" } });
  const page = openPage(zoomed, "function", "5");
  expect(goBack(page, zoomOut)).toMatchObject({ view: "functions", zoom: ["1"] });
});

test("languages, sort keys, intervals and views go round", () => {
  const languages = [1, 2, 3, 4, 5, 6, 7].map((n) => after(...times(n, changeLanguage)).language);
  expect(languages).toEqual([
    "perl",
    "dotnet",
    "python",
    "javascript",
    "native",
    "kernel",
    undefined,
  ]);
  expect(after((state) => changeSort(state, -1)).sort).toBe("pid");
  expect(after((state) => changeInterval(state, 1)).delaySeconds).toBe(2);
  expect(after((state) => changeInterval(state, -1)).delaySeconds).toBe(0.5);
  const next: Change = (state) => showView(state, viewAfter(viewOf(state)).id);
  const [first, ...others] = VIEWS.flatMap(({ id, key }) => (key ? [id] : []));
  expect(first).toBe("functions");
  const views = [...others, first].map((_, n) => after(...times(n + 1, next)).view);
  expect(views).toEqual([...others, first]);
});

const tickAt = (time: number, counts: readonly StackCount[] = []): Tick =>
  makeTick(counts, { time, intervalSeconds: 1 });

test("history is bounded by time, and can be stepped through", () => {
  const history = new History({ seconds: 5, bytes: 1e9 });
  const ticks = Array.from({ length: 9 }, (_, i) => tickAt(i * 1000));
  for (const tick of ticks) history.push(tick);
  expect(history.length).toBe(6);
  const last = ticks[8] as Tick;
  expect(history.step(last, -1)).toBe(ticks[7]);
  expect(history.step(last, 1)).toBe(last);
  expect(history.step(last, -99)).toBe(ticks[3]);
  // One that was forgotten: the next is the oldest that is left.
  expect(history.step(ticks[0] as Tick, 1)).toBe(ticks[3]);
});

test("children stand under their parents, and a ring loses nobody", () => {
  const row = (pid: number, parentPid: number, samples: number) =>
    ({ pid, parentPid, samples, comm: "c", runtimes: [] }) as unknown as ProcessRow;
  const rows = [row(1, 0, 5), row(2, 1, 9), row(3, 99, 7), row(4, 5, 1), row(5, 4, 2)];
  const placed = sortProcesses(rows, "self", false).map(({ row: one, depth }) => [one.pid, depth]);
  // A family stands where all of it together does.
  expect(placed).toEqual([
    [1, 0],
    [2, 1],
    [3, 0],
    [5, 0],
    [4, 1],
  ]);
});
