/** What threads do that wait: how many there are of each state, and how long waits have lasted. */
import type { Tick } from "../../tick/tick.ts";
import { stateOf } from "../../tick/waits.ts";
import { type Choice, selectionOf } from "../selection.ts";

/** Threads in each state, on average over a refresh: seconds of their time a second. */
export interface ThreadStates {
  readonly threads: number;
  readonly running: number;
  readonly runnable: number;
  /** Threads that wait for work are not among them. */
  readonly blocked: number;
  /** Waiting for work. */
  readonly idle: number;
}

/** The threads of a process and of all of them. */
export interface StatesByProcess {
  readonly all: ThreadStates;
  readonly of: ReadonlyMap<number, ThreadStates>;
}

const NONE: ThreadStates = { threads: 0, running: 0, runnable: 0, blocked: 0, idle: 0 };

const known = new WeakMap<Tick, StatesByProcess>();

/**
 * The scheduler's sums of running, of waiting for a CPU and of being blocked are exact; which part of the last is idle
 * is sampled. A tick of what runs alone has no idle part.
 */
export function threadStates(tick: Tick): StatesByProcess {
  const states = known.get(tick) ?? makeStates(tick);
  known.set(tick, states);
  return states;
}

function makeStates(tick: Tick): StatesByProcess {
  const idle = idleByProcess(tick);
  const of = new Map<number, ThreadStates>();
  let all = NONE;
  const scale = tick.intervalSeconds > 0 ? 1e9 * tick.intervalSeconds : 1;
  for (const { pid, threads, running, runnable, blocked } of tick.waiting?.processes ?? []) {
    const idlePart = Math.min(blocked, idle.get(pid) ?? 0);
    const states: ThreadStates = {
      threads,
      running: running / scale,
      runnable: runnable / scale,
      blocked: (blocked - idlePart) / scale,
      idle: idlePart / scale,
    };
    of.set(pid, states);
    all = add(all, states);
  }
  return { all, of };
}

const add = (a: ThreadStates, b: ThreadStates): ThreadStates => ({
  threads: a.threads + b.threads,
  running: a.running + b.running,
  runnable: a.runnable + b.runnable,
  blocked: a.blocked + b.blocked,
  idle: a.idle + b.idle,
});

/** Nanoseconds of waiting for work. */
function idleByProcess({ counts, store }: Tick): Map<number, number> {
  const idle = new Map<number, number>();
  for (let i = 0; i < counts.length; i++) {
    if (stateOf(store.waitOf(counts.stacks[i] ?? 0)) !== "idle") continue;
    const pid = store.tasks[counts.tasks[i] ?? 0]?.pid ?? 0;
    idle.set(pid, (idle.get(pid) ?? 0) + (counts.weights[i] ?? 0));
  }
  return idle;
}

/** For each function in whose name threads wait, how long the longest of these waits has lasted, in seconds. */
export function waitAges({ store, waiting }: Tick, choice: Choice): Map<number, number> {
  const ages = new Map<number, number>();
  const selection = selectionOf(choice);
  const shown = selection.of(store);
  for (const { task, stack, seconds } of waiting?.longWaits ?? []) {
    const thread = store.tasks[task];
    if (!thread || !selection.wants(thread, store) || !shown.counts(stack)) continue;
    const { id } = store.functionOf(shown.leaf(stack));
    ages.set(id, Math.max(seconds, ages.get(id) ?? 0));
  }
  return ages;
}
