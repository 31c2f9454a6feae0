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
import { CountLists } from "./count-lists.ts";
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

function highestId(ticks: readonly Tick[]): number {
  let highest = -1;
  for (const tick of ticks) {
    for (const { stack } of tick.counts) {
      for (const frame of stack.frames) {
        if (frame.function.id > highest) highest = frame.function.id;
      }
    }
  }
  return highest;
}

const BITS: Readonly<Record<Runtime, number>> = { perl: 1, dotnet: 2, native: 4, kernel: 8 };

type Touch = (slot: number, info: FunctionInfo, pid: number, count: number) => void;

/** Counts the leaf of a stack although it is folded. */
function unfold(stack: Stack, touch: Touch, pid: number, count: number): Frame | undefined {
  const leaf = stack.frames[0];
  if (leaf) touch(leaf.function.id + FIRST, leaf.function, pid, count);
  return leaf;
}

const noRuntimes = (): Record<Runtime, number> => ({ perl: 0, dotnet: 0, native: 0, kernel: 0 });

/** Adds ticks up. Runs once a refresh over every frame: no allocation for each of them. */
export function aggregate(ticks: readonly Tick[], options: AggregateOptions): Aggregate {
  const { filter, kernel, nativeFrames } = options;
  const slots = highestId(ticks) + 1 + FIRST;
  const self = new Float64Array(slots);
  const total = new Float64Array(slots);
  /** The last stack that counted a function: recursion counts once. */
  const seen = new Uint32Array(slots);
  const infos: (FunctionInfo | undefined)[] = new Array(slots);
  const notes = new Map<number, string>();
  const pids = new CountLists(slots);
  const lines = new CountLists(slots);
  const used: number[] = [];
  const outcomes = { complete: 0, truncated: 0, broken: 0 };
  const runtimes = noRuntimes();
  const present = noRuntimes();
  const whole = noRuntimes();
  const processes: ProcessRow[] = [];
  const unique = new Set<Stack>();
  let samples = 0;
  let stamp = 0;

  const touch: Touch = (slot, info, pid, count) => {
    if (total[slot] === 0) {
      infos[slot] = info;
      used.push(slot);
    }
    total[slot] = (total[slot] ?? 0) + count;
    pids.addLatest(slot, pid, count);
  };

  for (const { task, counts } of byProcess(ticks, filter)) {
    const { pid } = task;
    let processSamples = 0;
    let processComplete = 0;
    let anywhere = 0;
    let leaves = 0;
    for (const { stack, count } of counts) {
      if (count <= 0) continue;
      unique.add(stack);
      stamp++;
      processSamples += count;
      outcomes[stack.outcome] += count;
      if (stack.outcome === "complete") processComplete += count;
      let leaf: Frame | undefined;
      let held = 0;
      for (const frame of stack.frames) {
        const info = frame.function;
        const { runtime } = info;
        held |= BITS[runtime];
        if (runtime === "kernel" ? !kernel : frame.folded === true && !nativeFrames) continue;
        leaf ??= frame;
        const slot = info.id + FIRST;
        if (seen[slot] === stamp) continue;
        seen[slot] = stamp;
        touch(slot, info, pid, count);
        if (frame.line !== undefined) lines.add(slot, frame.line, count);
      }
      // Nothing but frames that are folded into none: better them than nothing.
      if (!leaf && (held & BITS.kernel) === 0) leaf = unfold(stack, touch, pid, count);
      let info: FunctionInfo;
      if (leaf) {
        info = leaf.function;
        self[info.id + FIRST] = (self[info.id + FIRST] ?? 0) + count;
        if (leaf.note !== undefined) notes.set(info.id + FIRST, leaf.note);
      } else {
        const slot = held === 0 ? 1 : 0;
        info = slot === 0 ? KERNEL_ONLY : NO_FRAMES;
        touch(slot, info, pid, count);
        self[slot] = (self[slot] ?? 0) + count;
      }
      runtimes[info.runtime] += count;
      for (const runtime of RUNTIMES) {
        if ((held & BITS[runtime]) === 0) continue;
        present[runtime] += count;
        if (stack.outcome === "complete") whole[runtime] += count;
      }
      leaves |= BITS[info.runtime];
      anywhere |= held;
    }
    if (processSamples === 0) continue;
    samples += processSamples;
    const shown = (anywhere & (BITS.perl | BITS.dotnet)) | leaves;
    processes.push({
      pid,
      comm: task.comm,
      uid: task.uid,
      parentPid: task.parentPid,
      startTime: task.startTime,
      cgroup: task.cgroup,
      samples: processSamples,
      complete: processComplete,
      runtimes: RUNTIMES.filter((runtime) => (shown & BITS[runtime]) !== 0),
    });
  }

  const functions: FunctionRow[] = [];
  for (const slot of used) {
    const info = infos[slot];
    if (!info || (filter?.hasFunctionTerms && !filter.matchesFunction(info))) continue;
    const counts = {
      slot,
      self: self[slot] ?? 0,
      total: total[slot] ?? 0,
      line: lines.busiest(slot),
      note: notes.get(slot),
    };
    functions.push(new LazyFunctionRow(info, counts, pids));
  }
  return {
    samples,
    functions,
    processes,
    outcomes,
    runtimes,
    health: {
      perl: { samples: present.perl, complete: whole.perl },
      dotnet: { samples: present.dotnet, complete: whole.dotnet },
      native: { samples: present.native, complete: whole.native },
      kernel: { samples: present.kernel, complete: whole.kernel },
    },
    uniqueStacks: unique.size,
    seconds: ticks.reduce((sum, tick) => sum + tick.intervalSeconds, 0),
  };
}
