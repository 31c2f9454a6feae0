/**
 * The one thing that flows through polytop: a refresh. The live screen, plain
 * output, recordings and profiles all consume ticks; the sampler and a replay
 * produce them. Ticks are immutable.
 */
import { OUTCOME_WORDS } from "../../build/abi.ts";
import type { Runtime } from "./runtimes.ts";
import type { Store } from "./store.ts";
import type { Activity, Waiting } from "./waits.ts";

/** How the walk of a stack ended; see the contract of `stacks` in the JSON output. */
export type Outcome = (typeof OUTCOME_WORDS)[number];

/** Outcomes by their number in bpf/abi.h. */
export const OUTCOMES: readonly Outcome[] = OUTCOME_WORDS;

/** A function is (runtime, name, module), never an address and never a pid. Interned: equal functions are the same object. */
export interface FunctionInfo {
  /** Never given to another function in one run; one that comes again keeps it for whoever holds on to it. */
  readonly id: number;
  readonly runtime: Runtime;
  /** Clean: no control characters, at most 512 characters. `[reason]` for the end of a broken stack. */
  readonly name: string;
  readonly module: string;
  /** Why there is no better name, where there is none. */
  readonly whyUnnamed?: string;
}

/** What a frame may say beside its function. */
export interface FrameDetail {
  /** Source line, where the runtime tells it. */
  readonly line?: number;
  /** What the frame is doing, e.g. the current Perl op. */
  readonly note?: string;
  /** Which body of the function runs, where the runtime made several: how, and for which generic arguments. */
  readonly body?: string;
  /** A native frame of the interpreter that executes the frame shown for it: hidden unless native frames are asked for. */
  readonly folded?: boolean;
  /** What the frame is where async functions are followed; missing where it is an ordinary frame. */
  readonly awaits?: AwaitRole;
}

/**
 * A function that awaits what is further in, a row that says something of these, or a frame of the scheduler in place
 * of which both are shown.
 */
export type AwaitRole = "awaits" | "mark" | "schedules";

/** A thread that was sampled. */
export interface Task {
  readonly pid: number;
  readonly tid: number;
  /** Name of the process. */
  readonly comm: string;
  /** Name of the thread. */
  readonly thread: string;
  readonly parentPid: number;
  readonly uid: number;
  /** Id of its cgroup in the unified hierarchy, as a decimal string. */
  readonly cgroup: string;
  /** Start of the process, milliseconds since boot: tells a reused pid. */
  readonly startTime: number;
  /** More of its process; missing where that was not read, or is a recording of an older version. */
  readonly facts?: ProcessFacts;
}

/** Whose a process is and what it runs, as far as its source could tell; what is empty is not known, or is none. */
export interface ProcessFacts {
  readonly user: string;
  /** The container or pod that it runs in. */
  readonly container: string;
  /** The unit of systemd that it belongs to. */
  readonly unit: string;
  /** What names its control group best. */
  readonly group: string;
  /** Its program, with the script, module or archive that an interpreter runs. */
  readonly command: string;
  /** The same with all arguments. These may be secrets: recordings do not keep them. */
  readonly arguments?: string;
}

/** What a weight counts: `samples`, `nanoseconds`, `bytes`, `events`, or a word that a newer recording brings. */
export type Unit = string;

/** How much a stack weighed in a thread during one refresh: columns of equal length. */
export interface Counts {
  readonly length: number;
  /** Numbers of stacks in the tick's store. */
  readonly stacks: Uint32Array;
  /** Numbers of threads in the tick's store. */
  readonly tasks: Uint32Array;
  /**
   * Weights in the tick's unit; how many samples there were, where that is the unit. In a tick with `waiting`, as a
   * source makes it, stacks that wait have nanoseconds whatever the unit; src/model/waits/activity.ts makes one unit of both.
   */
  readonly weights: Float64Array;
}

/** What polytop itself cost during one refresh. */
export interface OwnCost {
  /** All of it, percent of one CPU. */
  readonly cpuPercent: number;
  /** The part of `cpuPercent` that the BPF programs take. */
  readonly bpfCpuPercent: number;
  readonly rssBytes: number;
  readonly bpfNanosecondsPerSample: number;
  /** The other parts of `cpuPercent`; recordings do not keep them. */
  readonly parts?: CostParts;
}

/** What polytop costs beside its BPF programs, percent of one CPU. */
export interface CostParts {
  /** Its own threads. */
  readonly processPercent: number;
  /** Its child processes, once they have ended. */
  readonly childrenPercent: number;
  /** The ticks of the sampling event: the interrupts, and what a hypervisor does for them. */
  readonly ticksPercent: number;
  /** What one tick costs, as measured at the start. */
  readonly tickNanoseconds: number;
}

/** One of several events that a tick counts. */
export interface EventInfo {
  /** As it was asked for. */
  readonly name: string;
  readonly unit: Unit;
  /** How many hits a stack stands for, on average; 0: not known. */
  readonly period: number;
  /** Sum of its weights. */
  readonly samples: number;
  readonly missed: number;
}

/** Everything of a tick but its counts. */
export interface TickHeader {
  /** End of the refresh, milliseconds since 1970. */
  readonly time: number;
  /** Measured, not the one asked for. */
  readonly intervalSeconds: number;
  /** `cpu-clock`, `cycles`. */
  readonly event: string;
  readonly unit: Unit;
  /** Samples a second on each CPU. */
  readonly frequency: number;
  readonly cpus: number;
  readonly host: string;
  /** Pids that sampling is narrowed to in the kernel; empty: all. */
  readonly pids: readonly number[];
  /** Sum of all weights. */
  readonly samples: number;
  readonly missed: number;
  /** Increments of every counter of bpf/counters.json, by its name. */
  readonly metrics: Readonly<Record<string, number>>;
  readonly self: OwnCost;
  /** Which threads were asked for, where that is not only those that run. */
  readonly activity?: Activity;
  /** Threads that do not run; missing where they were not looked at. */
  readonly waiting?: Waiting;
  /** What the reader must know, e.g. that a fallback is in use. */
  readonly notices: readonly string[];
  /** The events that are counted, where these are not the CPU's time or waits alone. `event` and what goes with it is the first. */
  readonly events?: readonly EventInfo[];
}

export interface Tick extends TickHeader {
  readonly counts: Counts;
  /** The counts of the events behind the first, in their order. */
  readonly others?: readonly Counts[];
  /** What the numbers of `counts` stand for; ticks that follow each other mostly share it. */
  readonly store: Store;
}

/** The tasks of a tick, each once. */
export const tasksOf = ({ counts, store }: Tick): Task[] =>
  [...new Set(counts.tasks)].flatMap((number) => store.tasks[number] ?? []);
