/**
 * Which threads of a refresh are looked at: those that run, those that wait, or both. A source counts samples of what
 * runs and nanoseconds of what waits; here both become a tick of one unit, which all views and outputs know.
 */
import { CPU_TIME, EVENT_NAMES, EVENTS, type EventName } from "../../tick/events.ts";
import type { Counts, Tick } from "../../tick/tick.ts";
import type { Activity } from "../../tick/waits.ts";
import { stuckNotices } from "./stuck.ts";

/** What a refresh of an activity is called, as the option -e is. */
const nameOf = (activity: Activity): EventName =>
  EVENT_NAMES.find((name) => EVENTS[name].activity === activity) ?? CPU_TIME;

const TIME_OF_WAITS: readonly string[] = [nameOf("waiting"), nameOf("both")];

/** Whether a tick of an activity counts time in which threads wait, and knows these threads. */
export const isWaiting = ({ event, waiting }: Tick): boolean =>
  waiting !== undefined && TIME_OF_WAITS.includes(event);

/** What was made of a tick, by activity: it is asked for again with every key. */
const made = new WeakMap<Tick, Partial<Record<Activity, Tick>>>();

/** The tick that another one was made of. */
const origins = new WeakMap<Tick, Tick>();

/** The tick that a source made, with what runs and what waits, of one that an activity is about. */
export const wholeTick = (tick: Tick): Tick => origins.get(tick) ?? tick;

/** Nanoseconds that a sample stands for. */
const periodOf = ({ frequency }: Tick): number => (frequency > 0 ? 1e9 / frequency : 0);

/** The part of a tick that an activity is about; left out: what was asked for when it was collected. */
export function ofActivity(tick: Tick, activity: Activity = tick.activity ?? "running"): Tick {
  // What was collected without waits has samples of what runs, and nothing else.
  if (activity === "running" && !tick.waiting) return tick;
  const known = made.get(tick) ?? {};
  made.set(tick, known);
  const found = known[activity] ?? make(tick, activity);
  known[activity] = found;
  origins.set(found, tick);
  return found;
}

function make(raw: Tick, activity: Activity): Tick {
  const tick = { ...raw, notices: [...stuckNotices(raw), ...raw.notices] };
  const counts = countsOf(tick, activity);
  const samples = counts.weights.reduce((sum, weight) => sum + weight, 0);
  if (activity === "running") return { ...tick, counts, samples };
  const lost = tick.waiting?.lost ?? 0;
  // Other events say nothing of time.
  const { events: _events, others: _others, ...time } = tick;
  return {
    ...time,
    event: nameOf(activity),
    unit: "nanoseconds",
    frequency: activity === "waiting" ? sweepsPerSecond(tick) : tick.frequency,
    counts,
    samples,
    missed: Math.round(lost + (activity === "both" ? tick.missed * periodOf(tick) : 0)),
  };
}

const sweepsPerSecond = ({ waiting, intervalSeconds }: Tick): number =>
  intervalSeconds > 0 ? Math.round((10 * (waiting?.sweeps ?? 0)) / intervalSeconds) / 10 : 0;

function countsOf(tick: Tick, activity: Activity): Counts {
  const { counts, store } = tick;
  const waits = store.columns.stackWaits;
  const factor = activity === "both" ? Math.round(periodOf(tick)) : 1;
  const stacks = new Uint32Array(counts.length);
  const tasks = new Uint32Array(counts.length);
  const weights = new Float64Array(counts.length);
  let length = 0;
  for (let i = 0; i < counts.length; i++) {
    const stack = counts.stacks[i] ?? 0;
    const isWait = waits.at(stack) !== 0;
    if (activity !== "both" && isWait !== (activity === "waiting")) continue;
    stacks[length] = stack;
    tasks[length] = counts.tasks[i] ?? 0;
    weights[length++] = (counts.weights[i] ?? 0) * (isWait ? 1 : factor);
  }
  return {
    length,
    stacks: stacks.subarray(0, length),
    tasks: tasks.subarray(0, length),
    weights: weights.subarray(0, length),
  };
}
