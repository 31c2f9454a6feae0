/**
 * From ticks to what is listed: functions with their own and total samples, processes,
 * shares by runtime, and how the walks ended.
 */
import {
  type Frame,
  type FunctionInfo,
  type Outcome,
  RUNTIMES,
  type Runtime,
  type Stack,
  type StackCount,
  type Task,
  type Tick,
} from "../collector/tick.ts";
import { CountLists, grown } from "./count-lists.ts";
import type { Filter } from "./filter.ts";

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
  /** Show kernel frames. */
  readonly kernel: boolean;
  /** Show the interpreter's own frames. */
  readonly nativeFrames: boolean;
}

const MAX_PIDS = 20;

const hidden = (name: string, runtime: Runtime, why: string): FunctionInfo => ({
  id: -1,
  runtime,
  name,
  module: runtime === "kernel" ? "kernel" : "",
  whyUnnamed: why,
});

/** Stands for stacks that have no frame left to show: their samples stay in the sum. */
const KERNEL_ONLY = hidden("[kernel]", "kernel", "kernel frames are left out");
const NO_FRAMES = hidden("[no frames]", "native", "the stack is empty");

/** Slots of the two stand-ins come first; function `id` has slot `id + FIRST`. */
const FIRST = 2;

interface SlotCounts {
  readonly slot: number;
  readonly self: number;
  readonly total: number;
  readonly line: number | undefined;
  readonly note: string | undefined;
}

/** A row whose list of processes is made when somebody looks at it: few rows are shown. */
class LazyFunctionRow implements FunctionRow {
  readonly function: FunctionInfo;
  readonly self: number;
  readonly total: number;
  readonly line?: number;
  readonly note?: string;
  readonly #lists: CountLists;
  readonly #slot: number;
  #made: { pids: PidCount[]; all: number } | undefined;

  constructor(info: FunctionInfo, counts: SlotCounts, lists: CountLists) {
    this.function = info;
    this.self = counts.self;
    this.total = counts.total;
    if (counts.line !== undefined) this.line = counts.line;
    if (counts.note !== undefined) this.note = counts.note;
    this.#lists = lists;
    this.#slot = counts.slot;
  }

  get pids(): readonly PidCount[] {
    return this.#processes().pids;
  }

  get processCount(): number {
    return this.#processes().all;
  }

  #processes(): { pids: PidCount[]; all: number } {
    if (!this.#made) {
      const entries = this.#lists.entries(this.#slot);
      const pids = entries.slice(0, MAX_PIDS).map(({ key, count }) => ({ pid: key, count }));
      this.#made = { pids, all: entries.length };
    }
    return this.#made;
  }
}

interface ProcessCounts {
  readonly task: Task;
  readonly counts: StackCount[];
}

/** Counts grouped by process, so that a function meets a process once. */
function byProcess(ticks: readonly Tick[], filter: Filter | undefined): Iterable<ProcessCounts> {
  const groups = new Map<number, ProcessCounts[]>();
  for (const tick of ticks) {
    for (const count of tick.counts) {
      const { task } = count;
      if (filter?.hasTaskTerms && !filter.matchesTask(task)) continue;
      let lives = groups.get(task.pid);
      if (!lives) {
        lives = [];
        groups.set(task.pid, lives);
      }
      // A pid that was used again is another process.
      let life = lives.find((other) => other.task.startTime === task.startTime);
      if (!life) {
        life = { task, counts: [] };
        lives.push(life);
      }
      life.counts.push(count);
    }
  }
  return [...groups.values()].flat();
}

/** A bit for each runtime, in the order of RUNTIMES. */
const BITS: Readonly<Record<Runtime, number>> = { perl: 1, dotnet: 2, native: 4, kernel: 8 };

/** The same without a look-up by name, for the inner loop. */
const bitOf = (runtime: Runtime): number =>
  runtime === "perl" ? 1 : runtime === "dotnet" ? 2 : runtime === "native" ? 4 : 8;

const bitsToRuntimes = (bits: number): Runtime[] =>
  RUNTIMES.filter((runtime) => (bits & BITS[runtime]) !== 0);

/**
 * Samples by function. Within a process they are added up in one array, so that the inner loop
 * touches nothing else; `endProcess` carries them over.
 */
class FunctionCounts {
  readonly #kernel: boolean;
  readonly #nativeFrames: boolean;
  readonly #pids = new CountLists();
  readonly #lines = new CountLists();
  readonly #infos: (FunctionInfo | undefined)[] = [];
  readonly #notes = new Map<number, string>();
  /** Slots with samples. */
  readonly #used: number[] = [];
  /** The last stack that counted a function: recursion counts once. */
  #seen: Int32Array = new Int32Array(highestSlot + 1);
  #within: Int32Array = new Int32Array(highestSlot + 1);
  #self: Int32Array = new Int32Array(highestSlot + 1);
  #total: Int32Array = new Int32Array(highestSlot + 1);
  /** Slots with samples in this process. */
  #touched: number[] = [];
  #stamp = 0;
  /** Runtimes of the frames of the stack that was added last, hidden ones too. */
  held = 0;

  constructor(kernel: boolean, nativeFrames: boolean) {
    this.#kernel = kernel;
    this.#nativeFrames = nativeFrames;
  }

  /** Adds a stack and says whose its innermost visible frame is. */
  add(stack: Stack, count: number): FunctionInfo {
    const kernel = this.#kernel;
    const nativeFrames = this.#nativeFrames;
    const stamp = ++this.#stamp;
    const { frames } = stack;
    let leaf: Frame | undefined;
    let held = 0;
    let last: Runtime | undefined;
    for (let i = 0; i < frames.length; i++) {
      const frame = frames[i] as Frame;
      const info = frame.function;
      const { runtime } = info;
      if (runtime !== last) {
        held |= bitOf(runtime);
        last = runtime;
      }
      if (runtime === "kernel" ? !kernel : frame.folded === true && !nativeFrames) continue;
      leaf ??= frame;
      const slot = info.id + FIRST;
      if (this.#seen[slot] === stamp) continue;
      this.#touch(slot, info, count, stamp);
      if (frame.line !== undefined) this.#lines.add(slot, frame.line, count);
    }
    this.held = held;
    // Nothing but frames that are folded into none: better them than nothing.
    if (!leaf && (held & BITS.kernel) === 0) leaf = frames[0];
    const info = leaf?.function ?? (held === 0 ? NO_FRAMES : KERNEL_ONLY);
    const slot = leaf ? info.id + FIRST : held === 0 ? 1 : 0;
    if (this.#seen[slot] !== stamp) this.#touch(slot, info, count, stamp);
    this.#self[slot] = (this.#self[slot] ?? 0) + count;
    if (leaf?.note !== undefined) this.#notes.set(slot, leaf.note);
    return info;
  }

  #touch(slot: number, info: FunctionInfo, count: number, stamp: number): void {
    if (slot >= this.#seen.length) this.#grow(slot);
    this.#seen[slot] = stamp;
    const before = this.#within[slot] ?? 0;
    if (before === 0) {
      this.#touched.push(slot);
      this.#infos[slot] ??= info;
    }
    this.#within[slot] = before + count;
  }

  #grow(slot: number): void {
    highestSlot = Math.max(slot, highestSlot);
    this.#seen = grown(this.#seen, slot + 1);
    this.#within = grown(this.#within, slot + 1);
    this.#self = grown(this.#self, slot + 1);
    this.#total = grown(this.#total, slot + 1);
  }

  /** The stacks added since the last call were those of `pid`. */
  endProcess(pid: number): void {
    for (const slot of this.#touched) {
      const count = this.#within[slot] ?? 0;
      this.#within[slot] = 0;
      if (this.#total[slot] === 0) this.#used.push(slot);
      this.#total[slot] = (this.#total[slot] ?? 0) + count;
      this.#pids.push(slot, pid, count);
    }
    this.#touched = [];
  }

  /** A row for each function that `filter` lets pass. */
  rows(filter: Filter | undefined): FunctionRow[] {
    const rows: FunctionRow[] = [];
    for (const slot of this.#used) {
      const info = this.#infos[slot];
      if (!info || (filter?.hasFunctionTerms && !filter.matchesFunction(info))) continue;
      const counts = {
        slot,
        self: this.#self[slot] ?? 0,
        total: this.#total[slot] ?? 0,
        line: this.#lines.busiest(slot),
        note: this.#notes.get(slot),
      };
      rows.push(new LazyFunctionRow(info, counts, this.#pids));
    }
    return rows;
  }
}

/** The highest slot met so far: what arrays start with, so that they need not grow. */
let highestSlot = 1023;

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

  for (const { task, counts } of byProcess(ticks, filter)) {
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
    functions: functions.rows(filter),
    processes,
    outcomes,
    runtimes,
    health: { perl, dotnet, native, kernel },
    uniqueStacks: unique.count,
    seconds: ticks.reduce((sum, tick) => sum + tick.intervalSeconds, 0),
  };
}

/** Counts different ids; a bit map where they are dense, as those of the collector are. */
class UniqueIds {
  readonly #bits = new Uint8Array(1 << 16);
  readonly #others = new Set<number>();
  #dense = 0;

  add(id: number): void {
    if (id < 0 || id >= this.#bits.length) {
      this.#others.add(id);
    } else if (this.#bits[id] === 0) {
      this.#bits[id] = 1;
      this.#dense++;
    }
  }

  get count(): number {
    return this.#dense + this.#others.size;
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
