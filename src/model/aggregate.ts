/**
 * From ticks to what is listed: functions with their own and total samples, processes,
 * shares by runtime, and how the walks ended.
 */
import type { PlainCounts } from "../tick/plain-counts.ts";
import {
  bitsToRuntimes,
  byRuntime,
  EVERY_RUNTIME,
  MANAGED_BITS,
  type Runtime,
} from "../tick/runtimes.ts";
import {
  type FunctionInfo,
  OUTCOMES,
  type Outcome,
  type StackCount,
  type Task,
  type Tick,
} from "../tick/tick.ts";
import { Processes } from "./by-process.ts";
import type { Family } from "./family.ts";
import type { Filter } from "./filter.ts";
import { type FirstRows, FunctionCounts } from "./function-counts.ts";

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
  /** Its line with the most samples. */
  readonly line?: number;
  /** What it was doing there, e.g. the Perl op, where it is the leaf. */
  readonly note?: string;
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
  readonly cgroup: string;
  readonly samples: number;
  /** Of which had a complete stack. */
  readonly complete: number;
  /** Managed runtimes where any frame is theirs; the others where a leaf is. */
  readonly runtimes: readonly Runtime[];
}

/** Samples whose stack holds a frame of some runtime. */
export interface RuntimeHealth {
  readonly samples: number;
  readonly complete: number;
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

/** What is left out. */
export interface AggregateOptions {
  readonly filter?: Filter;
  /** Knows parents that were not sampled, for `tree:`. */
  readonly parents?: Family;
  /** Show kernel frames. */
  readonly kernel: boolean;
  /** Show the interpreter's own frames. */
  readonly nativeFrames: boolean;
  /** Functions that are not among these may be left out: a busy machine has thousands in a refresh. */
  readonly first?: FirstRows;
}

const COMPLETE = OUTCOMES.indexOf("complete");

/** What is added up beside functions. */
class Sums {
  /** By place in OUTCOMES, and in EVERY_RUNTIME. */
  readonly #outcomes = OUTCOMES.map(() => 0);
  readonly #leaves = EVERY_RUNTIME.map(() => 0);
  readonly #held = EVERY_RUNTIME.map(() => ({ samples: 0, complete: 0 }));
  readonly unique = new UniqueIds();
  readonly processes: ProcessRow[] = [];
  samples = 0;
  /** Of the process that is added up. */
  #process = { samples: 0, complete: 0, anywhere: 0, leaves: 0 };

  /** Adds a stack by its id, its outcome, the runtime of its leaf, and the bits of all that it holds. */
  add(id: number, outcome: number, leaf: number, held: number, count: number): void {
    const complete = outcome === COMPLETE ? count : 0;
    this.unique.add(id);
    this.#outcomes[outcome] = (this.#outcomes[outcome] ?? 0) + count;
    this.#leaves[leaf] = (this.#leaves[leaf] ?? 0) + count;
    for (let i = 0; i < this.#held.length; i++) {
      const runtime = this.#held[i];
      if (!runtime || (held & (1 << i)) === 0) continue;
      runtime.samples += count;
      runtime.complete += complete;
    }
    const process = this.#process;
    process.samples += count;
    process.complete += complete;
    process.anywhere |= held;
    process.leaves |= 1 << leaf;
  }

  /** What was added since the last call was of this process. Says whether that was anything. */
  endProcess(task: Task): boolean {
    const process = this.#process;
    if (process.samples === 0) return false;
    this.samples += process.samples;
    this.processes.push(processRow(task, process));
    this.#process = { samples: 0, complete: 0, anywhere: 0, leaves: 0 };
    return true;
  }

  get outcomes(): Record<Outcome, number> {
    const [complete = 0, truncated = 0, broken = 0] = this.#outcomes;
    return { complete, truncated, broken };
  }

  get runtimes(): Record<Runtime, number> {
    return byRuntime((_row, place) => this.#leaves[place] ?? 0);
  }

  get health(): Record<Runtime, RuntimeHealth> {
    const none: RuntimeHealth = { samples: 0, complete: 0 };
    return byRuntime((_row, place) => this.#held[place] ?? none);
  }
}

/** Adds ticks up. Runs once a refresh over every frame: no allocation for each of them. */
export function aggregate(ticks: readonly Tick[], options: AggregateOptions): Aggregate {
  const { filter } = options;
  const functions = new FunctionCounts(options.kernel, options.nativeFrames);
  const sums = new Sums();
  for (const { task, counts, plain } of new Processes(ticks, options).all) {
    for (const one of counts) addObject(one, functions, sums);
    for (const { of, places } of plain) addPlain(of, places, functions, sums);
    if (sums.endProcess(task)) functions.endProcess(task.pid);
  }
  return {
    samples: sums.samples,
    functions: functions.rows(filter, options.first),
    processes: sums.processes,
    outcomes: sums.outcomes,
    runtimes: sums.runtimes,
    health: sums.health,
    uniqueStacks: sums.unique.count,
    seconds: ticks.reduce((sum, tick) => sum + tick.intervalSeconds, 0),
  };
}

function addObject({ stack, count }: StackCount, functions: FunctionCounts, sums: Sums): void {
  if (count <= 0) return;
  const leaf = functions.add(stack, count);
  sums.add(stack.id, OUTCOMES.indexOf(stack.outcome), leaf, functions.held, count);
}

function addPlain(
  counts: PlainCounts,
  places: Int32Array,
  functions: FunctionCounts,
  sums: Sums,
): void {
  for (let i = 0; i < places.length; i++) {
    const place = places[i] ?? 0;
    const count = counts.countOf(place);
    if (count <= 0) continue;
    const leaf = functions.addPlain(counts, place);
    sums.add(counts.idOf(place), counts.outcomeOf(place), leaf, functions.held, count);
  }
}

/** Ids on either side of the first that are counted in a bit map: those of the collector lie close. */
const NEAR = 1 << 15;

/** Counts different ids. */
class UniqueIds {
  readonly #near = new Uint8Array(2 * NEAR);
  readonly #others = new Set<number>();
  #first: number | undefined;
  #count = 0;

  add(id: number): void {
    this.#first ??= id;
    const place = id - this.#first + NEAR;
    if (place < 0 || place >= this.#near.length) {
      this.#others.add(id);
    } else if (this.#near[place] === 0) {
      this.#near[place] = 1;
      this.#count++;
    }
  }

  get count(): number {
    return this.#count + this.#others.size;
  }
}

interface ProcessSum {
  readonly samples: number;
  readonly complete: number;
  readonly anywhere: number;
  readonly leaves: number;
}

function processRow(task: Task, sum: ProcessSum): ProcessRow {
  const { pid, comm, uid, parentPid, startTime, cgroup } = task;
  const shown = (sum.anywhere & MANAGED_BITS) | sum.leaves;
  const runtimes = bitsToRuntimes(shown);
  const { samples, complete } = sum;
  return { pid, comm, uid, parentPid, startTime, cgroup, samples, complete, runtimes };
}
