/** Lists the columns that only waiting has. */
import type { FunctionRow } from "../model/aggregate.ts";
import { type ThreadStates, threadStates } from "../model/waits/states.ts";
import type { Tick } from "../tick/tick.ts";
import { REASON_LABELS } from "../tick/waits.ts";
import { CHANGE_COLUMN, type Column, FUNCTION_COLUMNS, type FunctionContext } from "./columns.ts";
import { clock } from "./format.ts";
import { type ListedTask, PROCESS_COLUMNS, type ProcessContext } from "./process-columns.ts";

/** Threads on average, or seconds a second: as many digits as tell one of many threads. */
const threadsText = (amount: number): string =>
  amount >= 99.95 ? Math.round(amount).toString() : amount.toFixed(amount >= 9.995 ? 1 : 2);

/** How many threads there are and what they do, on average, for a header. */
export function statesText(tick: Tick): string {
  const { threads, running, runnable, blocked, idle } = threadStates(tick).all;
  const parts = { running, runnable, blocked, idle };
  const texts = Object.entries(parts).map(([state, amount]) => `${state} ${threadsText(amount)}`);
  return `threads ${threads}: ${texts.join(", ")}`;
}

export const WAIT_COLUMNS: readonly Column<FunctionRow, FunctionContext>[] = [
  {
    id: "wait",
    heading: "WAIT s/s",
    meaning: "threads that wait here on average: seconds of waiting a second, for its own samples",
    width: { min: 9, max: 9 },
    sorts: ["self"],
    align: "right",
    plain: true,
    value: ({ self }, { seconds = 0 }) =>
      seconds > 0 ? threadsText(self / 1e9 / seconds) : threadsText(0),
  },
  {
    id: "why",
    heading: "WHY",
    meaning: "what threads mostly wait for here; in plain output and JSON too",
    width: { min: 9, max: 13 },
    plain: true,
    value: ({ why }, { glyphs }) => (why ? REASON_LABELS[why] || glyphs.none : glyphs.none),
    json: "why",
  },
  {
    id: "age",
    heading: "SINCE",
    meaning: "how long the oldest wait here has lasted, from 1 s on",
    width: { min: 6, max: 8 },
    sorts: ["age"],
    align: "right",
    giveWay: 1,
    plain: true,
    value: (row, { age, glyphs }) => {
      const seconds = age?.(row);
      return seconds === undefined ? glyphs.none : clock(seconds);
    },
    json: "ageSeconds",
  },
];

/** Shares say of waits what their seconds say: they give way before who waits, where, and since when. */
const GIVE_WAY_IN_WAITS: Readonly<Record<string, number>> = {
  processes: 2,
  module: 3,
  self: 4,
  total: 5,
  history: 6,
  since: 7,
};

/** The columns of functions in which threads wait. */
export const WAITING_COLUMNS: readonly Column<FunctionRow, FunctionContext>[] =
  FUNCTION_COLUMNS.flatMap((column) => {
    const giveWay = GIVE_WAY_IN_WAITS[column.id];
    const placed = giveWay === undefined ? column : { ...column, giveWay };
    return column.id === "total" ? [placed, ...WAIT_COLUMNS] : [placed];
  });

/** The columns of functions that wait while a moment is marked. */
export const WAITING_MARKED_COLUMNS: readonly Column<FunctionRow, FunctionContext>[] =
  WAITING_COLUMNS.flatMap((column) => (column.id === "total" ? [column, CHANGE_COLUMN] : [column]));

const stateColumn = (
  id: keyof Omit<ThreadStates, "threads">,
  heading: string,
  meaning: string,
): Column<ListedTask, ProcessContext> => ({
  id,
  heading,
  meaning: `${meaning}, on average`,
  width: { min: 6, max: 6 },
  align: "right",
  giveWay: 2,
  value: (row, { states, glyphs }) => {
    const found = "thread" in row ? undefined : states?.(row.pid);
    return found ? threadsText(found[id]) : glyphs.none;
  },
  json: id,
});

export const STATE_COLUMNS: readonly Column<ListedTask, ProcessContext>[] = [
  stateColumn("running", "RUN", "its threads that run"),
  stateColumn("runnable", "QUEUE", "its threads that wait for a CPU"),
  stateColumn("blocked", "BLOCK", "its threads that wait for something else"),
  stateColumn("idle", "IDLE", "its threads that wait for work"),
];

/** The columns of processes whose threads wait; what only samples have is left out. */
export const WAITING_PROCESS_COLUMNS: readonly Column<ListedTask, ProcessContext>[] =
  PROCESS_COLUMNS.flatMap((column) => {
    if (column.id === "cpu") return STATE_COLUMNS;
    return column.id === "samples" ? [] : [column];
  });
