import { expect, test } from "vitest";
import type { ProcessRow } from "../../src/model/aggregate.ts";
import { History } from "../../src/model/history.ts";
import { sortProcesses } from "../../src/model/sort.ts";
import { type Action, initialState, reduce, type ViewState } from "../../src/model/view.ts";
import { holdOrder, visibleRows, windowOffset } from "../../src/model/window.ts";
import type { Tick } from "../../src/tick/tick.ts";
import { makeTick, type StackCount } from "../support/ticks.ts";

const START = {
  filterText: "",
  pids: [],
  sort: "self",
  kernel: true,
  nativeFrames: false,
  delaySeconds: 1,
} as const;

const after = (...actions: Action[]): ViewState => actions.reduce(reduce, initialState(START));
const move = (
  motion: "up" | "down" | "page-down" | "last",
  ids: readonly number[],
  now = 0,
): Action => ({
  type: "move",
  motion,
  ids,
  page: 3,
  now,
});

test("the first move selects the first row, and selection is by identity", () => {
  const state = after(move("down", [7, 8, 9]), move("down", [7, 8, 9]));
  expect(state.selected.functions).toBe(8);
  // Ranks moved: 8 is the first now, and down goes to what is below it.
  expect(reduce(state, move("down", [8, 3, 7])).selected.functions).toBe(3);
  expect(after(move("down", [])).selected.functions).toBeUndefined();
});

test("the order is held while the selection moves, and let go after a while", () => {
  const state = after(move("down", [7, 8, 9], 1000));
  expect(state.held?.ids).toEqual([7, 8, 9]);
  expect(holdOrder([9, 4, 8, 7], (id) => id, state.held?.ids)).toEqual([7, 8, 9, 4]);
  expect(reduce(state, { type: "tick", now: 2000 }).held).toBeDefined();
  expect(reduce(state, { type: "tick", now: 9000 }).held).toBeUndefined();
});

test("the window follows the selection and stays full", () => {
  expect(windowOffset(0, 5, 10, 3)).toBe(3);
  expect(windowOffset(8, 2, 10, 3)).toBe(2);
  expect(windowOffset(9, -1, 10, 3)).toBe(7);
  expect(windowOffset(9, -1, 2, 3)).toBe(0);
  const ids = [1, 2, 3, 4, 5, 6, 7, 8, 9];
  const state = after(move("last", ids), move("last", ids));
  expect(visibleRows(ids, (id) => id, state, 3)).toMatchObject({ rows: [7, 8, 9], selected: 2 });
});

test("a filter is checked as it is typed, kept when it is right, and remembered", () => {
  const typing = after({ type: "mode", mode: "filter" }, { type: "prompt-text", text: "lang:x" });
  expect(typing.prompt.error).toContain("lang:");
  const kept = after({ type: "filter", text: "lang:perl" }, { type: "filter", text: "" });
  expect(kept.filter).toBeUndefined();
  expect(kept.filterHistory).toEqual(["lang:perl"]);
  const open = reduce(kept, { type: "mode", mode: "filter" });
  expect(reduce(open, { type: "prompt-recall", step: 1 }).prompt.text).toBe("lang:perl");
});

test("esc takes back one thing at a time and then nothing", () => {
  let state = after({ type: "filter", text: "x" }, { type: "language" }, move("down", [1, 2]));
  state = reduce(state, { type: "back" });
  expect(state.selected.functions).toBeUndefined();
  state = reduce(state, { type: "back" });
  expect(state.language).toBeUndefined();
  state = reduce(state, { type: "back" });
  expect(state.filterText).toBe("");
  expect(reduce(state, { type: "back" })).toBe(state);
});

test("a process becomes the filter, and esc gives the old one back", () => {
  const processes = after(
    { type: "filter", text: "pid:1 lang:perl" },
    { type: "view", view: "processes" },
  );
  const opened = reduce(processes, { type: "open", id: 42 });
  expect(opened).toMatchObject({ view: "functions", filterText: "pid:42 lang:perl" });
  const back = reduce(opened, { type: "back" });
  expect(back).toMatchObject({ view: "processes", filterText: "pid:1 lang:perl" });
});

test("a function opens and esc closes it", () => {
  const opened = after({ type: "open", id: 5 });
  expect(opened).toMatchObject({ view: "function", selected: { functions: 5 } });
  expect(reduce(opened, { type: "back" })).toMatchObject({ view: "functions", back: [] });
});

test("languages, sort keys, intervals and views go round", () => {
  const languages = Array.from(
    { length: 5 },
    (_, i) =>
      after(...Array.from({ length: i + 1 }, () => ({ type: "language" }) as const)).language,
  );
  expect(languages).toEqual(["perl", "dotnet", "native", "kernel", undefined]);
  expect(after({ type: "sort", step: -1, now: 0 }).sort).toBe("pid");
  expect(after({ type: "interval", step: 1 }).delaySeconds).toBe(2);
  expect(after({ type: "interval", step: -1 }).delaySeconds).toBe(0.5);
  const views = [1, 2, 3].map(
    (n) => after(...Array.from({ length: n }, () => ({ type: "next-view" }) as const)).view,
  );
  expect(views).toEqual(["processes", "tree", "flame"]);
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
