/** What the machine that starts the virtual ones and what runs inside of them tell each other. */
import { root } from "../../support/polytop.ts";

/** A program to sample. */
export interface Program {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  /** It is one file: it is run from a copy in the virtual machine, and not from the machine around that. */
  readonly isCopied: boolean;
  /** A function of it that must be seen. */
  readonly function: string;
}

/** The programs of waits and of events: built before too. */
export const WAITS_FILE = `${root}build/workloads/waits`;
export const EVENTS_FILE = `${root}build/workloads/touches`;

/** The program of changes with its two libraries, the same but for a name, and that of softirqs: built before too. */
export const FILES = {
  loader: `${root}build/workloads/loader`,
  first: `${root}build/workloads/in_first.so`,
  other: `${root}build/workloads/in_other.so`,
  datagrams: `${root}build/workloads/datagrams`,
};

/** The list of programs: written before the virtual machine starts, which cannot build any. */
export const PROGRAMS_FILE = `${root}build/kernels/programs.json`;

/** What sampling a program brought. */
export interface ProgramFindings {
  readonly name: string;
  readonly samples: number;
  readonly complete: number;
  /** Samples whose function has a name. */
  readonly named: number;
  readonly hasFunction: boolean;
}

/** What a kernel did with polytop. */
export interface Findings {
  readonly release: string;
  /** The doctor's failures and warnings. */
  readonly doctor: readonly string[];
  /** Why it did not run to its end, empty if it did. */
  readonly error: string;
  readonly event: string;
  /** Until the first refresh was written; emulated CPUs are some ten times slower than real ones. */
  readonly startSeconds: number;
  readonly programs: readonly ProgramFindings[];
  readonly waits: WaitFindings;
  readonly events: EventFindings;
  readonly changes: readonly ChangeFindings[];
}

/** What came of events that were counted beside each other. */
export interface EventFindings {
  /** The events that were refused or counted wrong, and what was said of them. */
  readonly wrong: readonly string[];
  /** Hits of all of them. */
  readonly hits: number;
  /** Share of the hits whose stack is complete, and of those that belong to the function that causes them. */
  readonly complete: number;
  readonly inFunction: number;
}

/** What came of something that changed under a running polytop. */
export interface ChangeFindings {
  readonly what: string;
  /** In words; empty where all was right. */
  readonly wrong: readonly string[];
}

/** What came of threads that wait. */
export interface WaitFindings {
  /** Functions that wait for something else than test/support/waits.ts says, or that were not seen. */
  readonly wrong: readonly string[];
  /** Shares of three functions that wait 60, 30 and 10 % of the time, in percent. */
  readonly shares: readonly number[];
  /** Share of the waiting whose stack is complete. */
  readonly complete: number;
  /** Whether the two threads that hold each other's lock were told of. */
  readonly hasDeadlock: boolean;
}

/** A line of the console: the machine is to stand still for a while. */
export const FREEZE_MARK = "polytop-stand-still";

/** Begins the line of the console that holds the findings. */
export const MARK = "polytop-findings ";
