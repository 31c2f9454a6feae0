/** Counts drained waits: judges each stack once by its names, and finds the waits that say more than their time. */
import type { Drained } from "../addon/drained.ts";
import type { FunctionInfo } from "../tick/tick.ts";
import {
  isUninterruptible,
  type LongWait,
  type ProcessTimes,
  reasonOf,
  WAIT_IDLE,
  type Waiting,
} from "../tick/waits.ts";
import type { DrainedStacks } from "./drained-stacks.ts";
import { LockOwners } from "./lock-owners.ts";
import { type JudgedWait, judgeWait, LONG_SECONDS, type OwnerWord } from "./wait-rules.ts";

const WAIT_WORDS = 7;
const TIME_WORDS = 6;

/** One drained wait. */
interface Row {
  readonly stack: number;
  /** Index in Drained.tasks. */
  readonly task: number;
  readonly weight: number;
  /** Seconds that the thread's latest wait there has lasted, or had when it ended. */
  readonly seconds: number;
  readonly isPresent: boolean;
  /** Numbers that a lock may hold. */
  readonly owners: Readonly<Record<OwnerWord, number>>;
}

/** Counts a stack of the store in a thread of the store. */
export type Count = (stack: number, task: number, weight: number) => void;

export class DrainedWaits {
  readonly #stacks: DrainedStacks;
  readonly #infoOf: (id: number) => FunctionInfo;
  /** How the kernel side says that threads with a stack wait, by the stack's number; and what that was judged to be. */
  readonly #waits = new Map<number, number>();
  readonly #judged = new Map<number, JudgedWait>();
  readonly #times = new Map<number, ProcessTimes>();
  #longWaits: LongWait[] = [];
  #sweeps = 0;

  constructor(stacks: DrainedStacks, infoOf: (id: number) => FunctionInfo) {
    this.#stacks = stacks;
    this.#infoOf = infoOf;
  }

  /** Takes in how threads wait that have new stacks, and forgets stacks. */
  register({ stackWaits, forgottenStacks }: Drained): void {
    for (let at = 0; at + 1 < stackWaits.length; at += 2) {
      this.#waits.set(stackWaits[at] ?? 0, stackWaits[at + 1] ?? 0);
    }
    for (const known of [this.#waits, this.#judged]) {
      // Numbers only grow: the lowest were put in first.
      for (const stack of known.keys()) {
        if (stack >= forgottenStacks) break;
        known.delete(stack);
      }
    }
  }

  /** Counts the waits of a drain; `tasks` are the numbers of its threads in the store. */
  count(drained: Drained, tasks: readonly number[], count: Count): void {
    const rows = rowsOf(drained.waits);
    const pools = poolsOf(rows, drained);
    const holders = new LockOwners();
    // A drain without a sweep knows no better than the one before it.
    if (drained.sweeps > 0) this.#longWaits = [];
    for (const row of rows) {
      const task = tasks[row.task];
      const judged = this.#judge(row.stack);
      if (task === undefined || !judged) continue;
      const isIdle = isIdleNow(judged, row, (pools.get(poolOf(row, drained)) ?? 0) > 1);
      const wait = judged.wait | (isIdle ? WAIT_IDLE : 0);
      const stack = this.#stacks.stack(row.stack, wait);
      if (stack === undefined) continue;
      count(stack, task, row.weight);
      const owner = row.isPresent
        ? ownerOf(judged, row, drained.tasks[row.task]?.pid ?? 0, holders)
        : 0;
      const saysMore = owner > 0 || row.seconds >= LONG_SECONDS || isUninterruptible(wait);
      if (row.isPresent && !isIdle && saysMore) {
        this.#longWaits.push({ task, stack, seconds: row.seconds, owner });
      }
    }
    this.#addTimes(drained.waitTimes);
    this.#sweeps += drained.sweeps;
  }

  #judge(stack: number): JudgedWait | undefined {
    const known = this.#judged.get(stack);
    const wait = this.#waits.get(stack);
    if (known || wait === undefined) return known;
    const { functions, isWhole } = this.#stacks.describe(stack);
    const judged = judgeWait(wait, functions.map(this.#infoOf), isWhole);
    this.#judged.set(stack, judged);
    return judged;
  }

  #addTimes(words: Float64Array): void {
    for (let at = 0; at + TIME_WORDS <= words.length; at += TIME_WORDS) {
      const [pid = 0, startTime = 0, threads = 0, running = 0, runnable = 0, blocked = 0] =
        words.subarray(at, at + TIME_WORDS);
      const before = this.#times.get(pid);
      const isSame = before?.startTime === startTime;
      this.#times.set(pid, {
        pid,
        startTime,
        threads,
        running: running + (isSame ? before.running : 0),
        runnable: runnable + (isSame ? before.runnable : 0),
        blocked: blocked + (isSame ? before.blocked : 0),
      });
    }
  }

  /** Whether threads were visited since the last call of take(). */
  get hasSweeps(): boolean {
    return this.#sweeps > 0;
  }

  /** What there was since the last call, and the long waits of now, by the numbers of the store of now. */
  take(lost: number): Waiting {
    const found = {
      processes: [...this.#times.values()],
      longWaits: this.#longWaits,
      sweeps: this.#sweeps,
      lost,
    };
    this.#times.clear();
    this.#longWaits = [];
    this.#sweeps = 0;
    return found;
  }
}

function rowsOf(words: Float64Array): Row[] {
  const rows: Row[] = [];
  for (let at = 0; at + WAIT_WORDS <= words.length; at += WAIT_WORDS) {
    const [stack = 0, task = 0, weight = 0, age = 0, mutex = 0, writer = 0, writerForRead = 0] =
      words.subarray(at, at + WAIT_WORDS);
    const owners = { mutex, writer, writerForRead };
    rows.push({ stack, task, weight, seconds: Math.abs(age) / 1e9, isPresent: age >= 0, owners });
  }
  return rows;
}

/** The thread that holds what a thread of a process waits for; of a file lock the process. 0: not known. */
function ownerOf(judged: JudgedWait, row: Row, pid: number, holders: LockOwners): number {
  if (judged.owner) return holders.thread(pid, row.owners[judged.owner]);
  return reasonOf(judged.wait) === "file-lock" ? holders.fileLock(pid) : 0;
}

/** More than any pid (PID_MAX_LIMIT, Linux 6.18). */
const PIDS = 2 ** 22 + 1;

/** A number for each process and stack. */
const poolOf = ({ stack, task }: Row, { tasks }: Drained): number =>
  stack * PIDS + (tasks[task]?.pid ?? 0);

/** How many threads of a process have waited long with the same stack. */
function poolsOf(rows: readonly Row[], drained: Drained): Map<number, number> {
  const pools = new Map<number, number>();
  for (const row of rows) {
    if (row.seconds < LONG_SECONDS) continue;
    const pool = poolOf(row, drained);
    pools.set(pool, (pools.get(pool) ?? 0) + 1);
  }
  return pools;
}

function isIdleNow({ idle }: JudgedWait, { seconds }: Row, isPool: boolean): boolean {
  if (idle === "always") return true;
  if (seconds < LONG_SECONDS) return false;
  return idle === "long" || (idle === "shared" && isPool);
}
