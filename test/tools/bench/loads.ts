/** The loads that polytop's cost is measured beside, each with what it may cost there. */
import {
  compilationStorms,
  compileLoop,
  crowd,
  dotnetBuilds,
  dotnetStarts,
  execLoops,
  hotLoops,
  largePrograms,
  perlLoop,
  podLoops,
  pythonLoops,
  rustLoop,
} from "../../support/loads.ts";
import type { Running } from "../../support/profile.ts";

/** What a load may cost at 99 Hz, in percent of one CPU and in MB, and how many stacks must be whole. */
export interface Bars {
  /** The process and its children, with `--json`. */
  readonly process: number;
  /** The same with the live view in 200×60. */
  readonly live: number;
  /** BPF and the ticks that run it. */
  readonly kernel: number;
  /** Maps in the kernel. */
  readonly megabytes: number;
  readonly complete: number;
}

/** What polytop may take beside any load, in MB. */
export const MEMORY = { process: 110, live: 130 };

export interface BenchLoad {
  readonly name: string;
  readonly title: string;
  readonly start: () => readonly Running[];
  readonly bars: Bars;
}

export const LOADS: readonly BenchLoad[] = [
  {
    name: "hot",
    title: "hot loops on all CPUs",
    start: hotLoops,
    bars: { process: 0.3, live: 0.8, kernel: 0.15, megabytes: 20, complete: 99.9 },
  },
  {
    name: "compile",
    title: "C++ compile on all CPUs",
    start: () => [compileLoop()],
    bars: { process: 0.6, live: 1.2, kernel: 0.4, megabytes: 34, complete: 98.5 },
  },
  {
    name: "execs",
    title: "1,400 starts a second",
    start: execLoops,
    bars: { process: 0.8, live: 1.5, kernel: 0.5, megabytes: 20, complete: 98 },
  },
  {
    name: "perls",
    title: "perls of 15 ms",
    start: () => [perlLoop()],
    bars: { process: 0.8, live: 1.5, kernel: 0.5, megabytes: 20, complete: 98 },
  },
  {
    name: "pod",
    title: "Pod::Man on all CPUs",
    start: podLoops,
    bars: { process: 0.8, live: 1.5, kernel: 0.5, megabytes: 20, complete: 98 },
  },
  {
    name: "python",
    title: "Python of many stacks on all CPUs",
    start: pythonLoops,
    bars: { process: 1, live: 1.5, kernel: 1, megabytes: 34, complete: 99.5 },
  },
  {
    name: "jit",
    title: "Node compiling new functions on all CPUs",
    start: compilationStorms,
    bars: { process: 1, live: 1.5, kernel: 1, megabytes: 34, complete: 99.5 },
  },
  {
    name: "dotnet-starts",
    title: "single-file .NET starts",
    start: () => [dotnetStarts()],
    bars: { process: 2.5, live: 3, kernel: 0.5, megabytes: 20, complete: 98 },
  },
  {
    name: "dotnet-build",
    title: "dotnet build",
    start: () => [dotnetBuilds()],
    bars: { process: 3, live: 4, kernel: 0.5, megabytes: 34, complete: 98 },
  },
  {
    name: "rust",
    title: "rustc -O of one line",
    start: () => [rustLoop()],
    bars: { process: 0.8, live: 1.5, kernel: 0.5, megabytes: 34, complete: 99.5 },
  },
  {
    name: "large",
    title: "programs of 115 MB in turns, 20 million rows",
    start: largePrograms,
    bars: { process: 3, live: 4, kernel: 0.5, megabytes: 40, complete: 97 },
  },
];

/** Loads that a machine grows by; what they may cost is not bounded, and stands in a table. */
export const CROWD: Pick<BenchLoad, "title" | "start"> = {
  title: "2,000 processes of 50 programs, 20,000 threads",
  start: crowd,
};
