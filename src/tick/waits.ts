/** How a thread waits: the number that a stack carries for it, and the words for that. */
import {
  WAIT_CPU,
  WAIT_REASON_MASK,
  WAIT_REASON_WORDS,
  WAIT_UNINTERRUPTIBLE,
} from "../../build/abi.ts";

/** One of enum wait_reason in bpf/wait/abi.h. */
export type Reason = (typeof WAIT_REASON_WORDS)[number];

/** Reasons by their numbers there. */
export const REASONS: readonly Reason[] = WAIT_REASON_WORDS;

/** What a column and the filter call a reason; the filter takes each word of it too. */
export const REASON_LABELS: Readonly<Record<Reason, string>> = {
  none: "",
  cpu: "cpu queue",
  futex: "futex",
  lock: "lock",
  "file-lock": "file lock",
  socket: "socket",
  accept: "socket accept",
  pipe: "pipe",
  file: "file",
  disk: "disk",
  fault: "page fault",
  sleep: "sleep",
  child: "child",
  poll: "poll",
  signal: "signal",
  device: "device",
  ipc: "ipc",
  stopped: "stopped",
  unknown: "unknown",
};

/** A thread's state, as the header counts it. */
export type ThreadState = "running" | "runnable" | "blocked" | "idle";

export const THREAD_STATES: readonly ThreadState[] = ["running", "runnable", "blocked", "idle"];

/** How a stack's thread waits: a reason with these bits beside it, one byte; 0 where it ran. */
export type Wait = number;

/** The wait is for work: nobody waits for the thread. */
export const WAIT_IDLE = 0x40;

/** The first number that is no wait. */
export const WAITS = 0x100;

/** The reason of a wait; one that this version does not know is unknown. */
export const reasonOf = (wait: Wait): Reason => REASONS[wait & WAIT_REASON_MASK] ?? "unknown";

/** The same wait for another reason. */
export const withReason = (wait: Wait, reason: Reason): Wait =>
  (wait & ~WAIT_REASON_MASK) | REASONS.indexOf(reason);

/** Whether no signal ends the wait: state D. */
export const isUninterruptible = (wait: Wait): boolean => (wait & WAIT_UNINTERRUPTIBLE) !== 0;

/** The state of a thread that waits so. */
export function stateOf(wait: Wait): ThreadState {
  if (wait === 0) return "running";
  if ((wait & WAIT_REASON_MASK) === WAIT_CPU) return "runnable";
  return (wait & WAIT_IDLE) !== 0 ? "idle" : "blocked";
}

/** Which threads are looked at: those that run, those that wait, or all. */
export type Activity = "running" | "waiting" | "both";

export const ACTIVITIES: readonly Activity[] = ["running", "waiting", "both"];

/** How long the threads of a process were in each state during a refresh, by the scheduler's own sums. */
export interface ProcessTimes {
  readonly pid: number;
  /** Milliseconds since boot. */
  readonly startTime: number;
  readonly threads: number;
  /** Nanoseconds, as are the next. */
  readonly running: number;
  readonly runnable: number;
  /** For anything but a CPU, work included. */
  readonly blocked: number;
}

/** A thread whose present wait says more than its time: it has lasted, or somebody holds what it waits for. */
export interface LongWait {
  /** Number of the thread in the tick's store. */
  readonly task: number;
  /** Number of the stack there. */
  readonly stack: number;
  readonly seconds: number;
  /** The thread that holds the lock; 0 if that is not known. */
  readonly owner: number;
}

/** What the sweeps over all threads found during a refresh. */
export interface Waiting {
  readonly processes: readonly ProcessTimes[];
  readonly longWaits: readonly LongWait[];
  /** How often all threads were visited. */
  readonly sweeps: number;
  /** Nanoseconds of waiting that could not be counted. */
  readonly lost: number;
}
