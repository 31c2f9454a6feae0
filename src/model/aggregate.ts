/**
 * From ticks to what is listed: functions with their own and total samples, processes,
 * shares by runtime, and how the walks ended.
 */
import {
  type FunctionInfo,
  type Outcome,
  RUNTIMES,
  type Runtime,
  type StackCount,
  type Task,
  type Tick,
} from "../collector/tick.ts";
import type { Family } from "./family.ts";
import type { Filter } from "./filter.ts";
import { BITS, bitsToRuntimes, type FirstRows, FunctionCounts } from "./function-counts.ts";

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
  /** Perl and .NET where any frame is theirs; native and kernel where a leaf is. */
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

interface ProcessCounts {
  readonly task: Task;
  readonly counts: StackCount[];
}

/** Counts grouped by process, so that a function meets a process once. */
function byProcess(
  ticks: readonly Tick[],
  { filter, parents }: AggregateOptions,
): readonly ProcessCounts[] {
  const processes: ProcessCounts[] = [];
  const lives = new Map<number, ProcessCounts[]>();
  // Few tasks have many counts; undefined is for those that the filter leaves out.
  const known = new Map<Task, ProcessCounts | undefined>();
  const processOf = (task: Task): ProcessCounts | undefined => {
    if (filter?.hasTaskTerms && !filter.matchesTask(task, parents)) return undefined;
    const others = lives.get(task.pid) ?? [];
    // A pid that was used again is another process.
    const same = others.find((other) => other.task.startTime === task.startTime);
    if (same) return same;
    const made = { task, counts: [] };
    processes.push(made);
    lives.set(task.pid, [...others, made]);
    return made;
  };
  for (const tick of ticks) {
    for (const count of tick.counts) {
      let process = known.get(count.task);
      if (!process && !known.has(count.task)) {
        process = processOf(count.task);
        known.set(count.task, process);
      }
      process?.counts.push(count);
    }
  }
  return processes;
}

const noRuntimes = (): Record<Runtime, number> => ({ perl: 0, dotnet: 0, native: 0, kernel: 0 });

/** Adds ticks up. Runs once a refresh over every frame: no allocation for each of them. */
export function aggregate(ticks: readonly Tick[], options: AggregateOptions): Aggregate {
  const { filter } = options;
  const functions = new FunctionCounts(options.kernel, options.nativeFrames);
  const processes: ProcessRow[] = [];
  const outcomes = { complete: 0, truncated: 0, broken: 0 };
  const runtimes = noRuntimes();
  const health = RUNTIMES.map(() => ({ samples: 0, complete: 0 }));
  const unique = new UniqueIds();
  let samples = 0;

  for (const { task, counts } of byProcess(ticks, options)) {
    const sum = { samples: 0, complete: 0, anywhere: 0, leaves: 0 };
    for (const { stack, count } of counts) {
      if (count <= 0) continue;
      const leaf = functions.add(stack, count);
      const complete = stack.outcome === "complete" ? count : 0;
      unique.add(stack.id);
      outcomes[stack.outcome] += count;
      runtimes[leaf.runtime] += count;
      for (let i = 0; i < health.length; i++) {
        const runtime = health[i];
        if (!runtime || (functions.held & (1 << i)) === 0) continue;
        runtime.samples += count;
        runtime.complete += complete;
      }
      sum.samples += count;
      sum.complete += complete;
      sum.anywhere |= functions.held;
      sum.leaves |= BITS[leaf.runtime];
    }
    if (sum.samples === 0) continue;
    functions.endProcess(task.pid);
    samples += sum.samples;
    processes.push(processRow(task, sum));
  }

  const none: RuntimeHealth = { samples: 0, complete: 0 };
  const [perl = none, dotnet = none, native = none, kernel = none] = health;
  return {
    samples,
    functions: functions.rows(filter, options.first),
    processes,
    outcomes,
    runtimes,
    health: { perl, dotnet, native, kernel },
    uniqueStacks: unique.count,
    seconds: ticks.reduce((sum, tick) => sum + tick.intervalSeconds, 0),
  };
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
  const shown = (sum.anywhere & (BITS.perl | BITS.dotnet)) | sum.leaves;
  const runtimes = bitsToRuntimes(shown);
  const { samples, complete } = sum;
  return { pid, comm, uid, parentPid, startTime, cgroup, samples, complete, runtimes };
}
