/**
 * From ticks to what is listed: functions with their own and total samples, processes,
 * shares by runtime, and how the walks ended.
 */
import { Functions } from "../tick/functions.ts";
import {
  bitsToRuntimes,
  byRuntime,
  EVERY_RUNTIME,
  MANAGED_BITS,
  type Runtime,
} from "../tick/runtimes.ts";
import type { Store } from "../tick/store.ts";
import {
  type FunctionInfo,
  OUTCOMES,
  type Outcome,
  type ProcessFacts,
  type Task,
  type Tick,
} from "../tick/tick.ts";
import type { Reason } from "../tick/waits.ts";
import { byProcess } from "./by-process.ts";
import { type FirstRows, FunctionCounts } from "./function-counts.ts";
import { type Choice, selectionOf } from "./selection.ts";

/** Samples of one process. */
export interface PidCount {
  readonly pid: number;
  readonly count: number;
}

/** One function, whatever the number of processes and addresses it ran in. */
export interface FunctionRow {
  readonly function: FunctionInfo;
  /** Samples whose leaf it is. */
  readonly self: number;
  /** Samples in whose stack it appears, recursion counted once. */
  readonly total: number;
  /** In all of these it awaits what is further in. */
  readonly awaits?: boolean;
  /** Its line with the most samples. */
  readonly line?: number;
  /** What it was doing there, e.g. the Perl op, where it is the leaf. */
  readonly note?: string;
  /** What threads mostly wait for whose innermost function of the application it is, if any do. */
  readonly why?: Reason;
  /** Processes, most samples first, at most 20. */
  readonly pids: readonly PidCount[];
  /** How many processes there are in all. */
  readonly processCount: number;
}

/** One process. */
export interface ProcessRow {
  readonly pid: number;
  readonly comm: string;
  readonly uid: number;
  readonly parentPid: number;
  /** Milliseconds since boot. */
  readonly startTime: number;
  /** Whose it is and what it runs, where that was read. */
  readonly facts?: ProcessFacts;
  readonly samples: number;
  /** Samples among them whose stack is complete. */
  readonly complete: number;
  /** Samples among them whose stack reaches an outermost frame by guesses. */
  readonly guessed: number;
  /** Interpreted and managed ones where any frame is theirs; native and kernel where a leaf is. */
  readonly runtimes: readonly Runtime[];
}

/** Samples whose stack holds a frame of some runtime. */
export interface RuntimeHealth {
  readonly samples: number;
  readonly complete: number;
  readonly guessed: number;
}

/** What some ticks amount to. */
export interface Aggregate {
  /** Samples of the processes that the filter chooses: percentages are of this. */
  readonly samples: number;
  /** Functions that the filter chooses, in no order. */
  readonly functions: FunctionRow[];
  /** Processes with samples, in no order. */
  readonly processes: ProcessRow[];
  readonly outcomes: Readonly<Record<Outcome, number>>;
  /** Samples by the runtime of their leaf. */
  readonly runtimes: Readonly<Record<Runtime, number>>;
  /** For each runtime, samples with a frame of it anywhere, and how many of these are complete. */
  readonly health: Readonly<Record<Runtime, RuntimeHealth>>;
  readonly uniqueStacks: number;
  /** Time covered. */
  readonly seconds: number;
}

/** What is shown, and how much of it. */
export interface AggregateOptions extends Choice {
  /** Functions that are not among these may be left out: a busy machine has thousands in a refresh. */
  readonly first?: FirstRows;
}

const COMPLETE = OUTCOMES.indexOf("complete");
const GUESSED = OUTCOMES.indexOf("guessed");

/** Those of no ticks. */
const NO_FUNCTIONS = new Functions();

const NOTHING_COUNTED = { samples: 0, complete: 0, guessed: 0, anywhere: 0, leaves: 0 };

/** Sums beside those of functions. */
class Sums {
  /** Weights by place in OUTCOMES, and in EVERY_RUNTIME. */
  readonly #outcomes = OUTCOMES.map(() => 0);
  readonly #leaves = EVERY_RUNTIME.map(() => 0);
  readonly #held = EVERY_RUNTIME.map(() => ({ samples: 0, complete: 0, guessed: 0 }));
  /** For each store and number of a stack 1 if it was counted. */
  readonly #stacks = new Map<Store, Uint8Array>();
  uniqueStacks = 0;
  readonly processes: ProcessRow[] = [];
  samples = 0;
  /** Sums of the process whose stacks are counted now. */
  #process = { ...NOTHING_COUNTED };

  /** Counts a stack by its number, the runtime of its leaf, and the bits of all runtimes that it holds. */
  count(store: Store, stack: number, leaf: number, held: number, count: number): void {
    const outcome = store.columns.stackOutcomes.at(stack);
    const complete = outcome === COMPLETE ? count : 0;
    const guessed = outcome === GUESSED ? count : 0;
    this.#meet(store, stack);
    this.#outcomes[outcome] = (this.#outcomes[outcome] ?? 0) + count;
    this.#leaves[leaf] = (this.#leaves[leaf] ?? 0) + count;
    for (let i = 0; i < this.#held.length; i++) {
      const runtime = this.#held[i];
      if (!runtime || (held & (1 << i)) === 0) continue;
      runtime.samples += count;
      runtime.complete += complete;
      runtime.guessed += guessed;
    }
    const process = this.#process;
    process.samples += count;
    process.complete += complete;
    process.guessed += guessed;
    process.anywhere |= held;
    process.leaves |= 1 << leaf;
  }

  #meet(store: Store, stack: number): void {
    let met = this.#stacks.get(store);
    if (!met) {
      met = new Uint8Array(store.stackCount);
      this.#stacks.set(store, met);
    }
    if (met[stack] === 0) this.uniqueStacks++;
    met[stack] = 1;
  }

  /** What was counted since the last call was of this process. Says whether that was anything. */
  endProcess(task: Task): boolean {
    const process = this.#process;
    if (process.samples === 0) return false;
    this.samples += process.samples;
    this.processes.push(processRow(task, process));
    this.#process = { ...NOTHING_COUNTED };
    return true;
  }

  get outcomes(): Record<Outcome, number> {
    const [complete = 0, truncated = 0, broken = 0, guessed = 0] = this.#outcomes;
    return { complete, guessed, truncated, broken };
  }

  get runtimes(): Record<Runtime, number> {
    return byRuntime((_row, place) => this.#leaves[place] ?? 0);
  }

  get health(): Record<Runtime, RuntimeHealth> {
    return byRuntime((_row, place) => this.#held[place] ?? { samples: 0, complete: 0, guessed: 0 });
  }
}

/** Adds ticks up. Runs once a refresh over every frame: no allocation for each of them. */
export function aggregate(ticks: readonly Tick[], options: AggregateOptions): Aggregate {
  const selection = selectionOf(options);
  const functions = new FunctionCounts();
  const sums = new Sums();
  for (const { task, parts } of byProcess(ticks, selection)) {
    for (const { tick, places } of parts) {
      const { store, counts } = tick;
      const { stacks, weights } = counts;
      const shown = selection.of(store);
      const { length } = places;
      for (let i = 0; i < length; ) {
        const stack = stacks[places[i] ?? 0] ?? 0;
        let weight = 0;
        // Threads that have the same stack follow each other.
        for (; i < length && stacks[places[i] ?? 0] === stack; i++) {
          weight += Math.max(0, weights[places[i] ?? 0] ?? 0);
        }
        if (weight === 0 || !shown.counts(stack)) continue;
        const leaf = functions.count(shown, stack, weight);
        sums.count(store, stack, leaf, functions.held, weight);
      }
    }
    if (sums.endProcess(task)) functions.endProcess(task.pid);
  }
  const known = ticks[0]?.store.functions ?? NO_FUNCTIONS;
  return {
    samples: sums.samples,
    functions: functions.rows(known, options.filter, options.first),
    processes: sums.processes,
    outcomes: sums.outcomes,
    runtimes: sums.runtimes,
    health: sums.health,
    uniqueStacks: sums.uniqueStacks,
    seconds: ticks.reduce((sum, tick) => sum + tick.intervalSeconds, 0),
  };
}

interface ProcessSum {
  readonly samples: number;
  readonly complete: number;
  readonly guessed: number;
  readonly anywhere: number;
  readonly leaves: number;
}

function processRow(task: Task, sum: ProcessSum): ProcessRow {
  const runtimes = bitsToRuntimes((sum.anywhere & MANAGED_BITS) | sum.leaves);
  const { samples, complete, guessed } = sum;
  return { ...processOf(task), samples, complete, guessed, runtimes };
}

/** What a row says of the process of a thread. */
export function processOf({ pid, comm, uid, parentPid, startTime, facts }: Task) {
  return { pid, comm, uid, parentPid, startTime, ...(facts ? { facts } : {}) };
}
