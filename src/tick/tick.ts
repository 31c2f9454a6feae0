/**
 * The one thing that flows through polytop: a refresh. The live screen, plain
 * output, recordings and profiles all consume ticks; the sampler and a replay
 * produce them. Ticks are immutable.
 */

import type { Runtime } from "./runtimes.ts";

/** How the walk of a stack ended; see the contract of `stacks` in the JSON output. */
export type Outcome = "complete" | "truncated" | "broken";

/** By their number in bpf/abi.h (a test compares them with the addon's). */
export const OUTCOMES: readonly Outcome[] = ["complete", "truncated", "broken"];

/** A function is (runtime, name, module), never an address and never a pid. Interned: equal functions are the same object. */
export interface FunctionInfo {
  /** Stable in one run, dense from 0. */
  readonly id: number;
  readonly runtime: Runtime;
  /** Clean: no control characters, at most 512 characters. `[reason]` for the end of a broken stack. */
  readonly name: string;
  readonly module: string;
  /** Why there is no better name, where there is none. */
  readonly whyUnnamed?: string;
}

/** One frame of a stack. */
export interface Frame {
  readonly function: FunctionInfo;
  /** Source line, where the runtime tells it. */
  readonly line?: number;
  /** What the frame is doing, e.g. the current Perl op. */
  readonly note?: string;
  /** Which body of the function runs, where the runtime made several: how, and for which generic arguments. */
  readonly body?: string;
  /** A native frame of the interpreter that executes the frame shown for it: hidden unless native frames are asked for. */
  readonly folded?: boolean;
}

/** A stack; ticks that follow each other share the object. */
export interface Stack {
  readonly id: number;
  /** Leaf first. A broken stack ends in a frame that says why. */
  readonly frames: readonly Frame[];
  readonly outcome: Outcome;
}

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
}

/** How often a stack was met in a thread during one refresh. */
export interface StackCount {
  readonly stack: Stack;
  readonly task: Task;
  readonly count: number;
}

/** The counts of a refresh: a list, or what can be gone through like one. */
export interface Counts extends Iterable<StackCount> {
  readonly length: number;
}

/** The counts of some refreshes, one after the other. */
export const countsOf = (ticks: readonly Tick[]): StackCount[] =>
  ticks.flatMap(({ counts }) => [...counts]);

/** What polytop itself cost during one refresh. */
export interface OwnCost {
  /** Process and BPF programs, percent of one CPU. */
  readonly cpuPercent: number;
  /** Of which the BPF programs. */
  readonly bpfCpuPercent: number;
  readonly rssBytes: number;
  readonly bpfNanosecondsPerSample: number;
}

export interface Tick {
  /** End of the refresh, milliseconds since 1970. */
  readonly time: number;
  /** Measured, not the one asked for. */
  readonly intervalSeconds: number;
  /** `cpu-clock`, `cycles`. */
  readonly event: string;
  /** Samples a second on each CPU. */
  readonly frequency: number;
  readonly cpus: number;
  readonly host: string;
  /** Pids that sampling is narrowed to in the kernel; empty: all. */
  readonly pids: readonly number[];
  readonly samples: number;
  readonly missed: number;
  readonly counts: Counts;
  /** Increments of every counter of bpf/counters.json, by its name. */
  readonly metrics: Readonly<Record<string, number>>;
  readonly self: OwnCost;
  /** What the reader must know, e.g. that a fallback is in use. */
  readonly notices: readonly string[];
}
