/** Counts drained waits: judges each stack once by its names, and finds the waits that say more than their time. */
import type { Drained, DrainedWaitCounts } from "../addon/drained.ts";
import type { FunctionInfo } from "../tick/tick.ts";
import type { TickWriter } from "../tick/tick-writer.ts";
import {
  isUninterruptible,
  type LongWait,
  type ProcessTimes,
  reasonOf,
  WAIT_IDLE,
  type Waiting,
} from "../tick/waits.ts";
import type { DrainedStacks } from "./drained-stacks.ts";
import type { DrainedTasks } from "./drained-tasks.ts";
import { LockOwners } from "./lock-owners.ts";
import {
  type IdleRule,
  type JudgedWait,
  judgeWait,
  LONG_SECONDS,
  type OwnerWord,
} from "./wait-rules.ts";

const TIME_WORDS = 6;

/** Words of DrainedWaitCounts.owners for each wait, and the place of each. */
const OWNER_WORDS = 3;
const OWNER_PLACES: Readonly<Record<OwnerWord, number>> = { mutex: 0, writer: 1, writerForRead: 2 };

const NANOSECONDS = 1e9;

/** Counts waits, and keeps what is to be told of them with the next tick. */
export class DrainedWaits {
  readonly #writer: TickWriter;
  readonly #stacks: DrainedStacks;
  readonly #tasks: DrainedTasks;
  readonly #infoOf: (id: number) => FunctionInfo;
  /** How the kernel side says that threads with a stack wait, by the stack's number; and what that was judged to be. */
  readonly #waits = new Map<number, number>();
  readonly #judged = new Map<number, JudgedWait>();
  readonly #times = new Map<number, ProcessTimes>();
  #longWaits: LongWait[] = [];
  #sweeps = 0;

  constructor(
    writer: TickWriter,
    stacks: DrainedStacks,
    tasks: DrainedTasks,
    infoOf: (id: number) => FunctionInfo,
  ) {
    this.#writer = writer;
    this.#stacks = stacks;
    this.#tasks = tasks;
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

  /** Counts the waits of a drain. */
  count({ waits, waitTimes, sweeps }: Drained): void {
    const pools = this.#poolsOf(waits);
    const holders = new LockOwners();
    // A drain without a sweep knows no better than the one before it.
    if (sweeps > 0) this.#longWaits = [];
    for (let i = 0; i < waits.ages.length; i++) {
      const [number = 0, thread = 0, age = 0] = [waits.stacks[i], waits.tasks[i], waits.ages[i]];
      const task = this.#tasks.number(thread);
      const judged = this.#judge(number);
      if (task === undefined || !judged) continue;
      const seconds = Math.abs(age) / NANOSECONDS;
      const isIdle = isIdleNow(
        judged.idle,
        seconds,
        () => (pools.get(this.#poolOf(number, thread)) ?? 0) > 1,
      );
      const wait = judged.wait | (isIdle ? WAIT_IDLE : 0);
      const stack = this.#stacks.stack(number, wait);
      if (stack === undefined) continue;
      this.#writer.count(stack, task, waits.nanoseconds[i] ?? 0);
      if (age < 0 || isIdle) continue;
      const owner = this.#ownerOf(judged, waits, i, holders);
      if (owner > 0 || seconds >= LONG_SECONDS || isUninterruptible(wait)) {
        this.#longWaits.push({ task, stack, seconds, owner });
      }
    }
    this.#addTimes(waitTimes);
    this.#sweeps += sweeps;
  }

  /** How many threads of a process have waited long with the same stack, where that tells whether they are idle. */
  #poolsOf({ stacks, tasks, ages }: DrainedWaitCounts): Map<string, number> {
    const pools = new Map<string, number>();
    for (let i = 0; i < ages.length; i++) {
      const [stack = 0, task = 0, age = 0] = [stacks[i], tasks[i], ages[i]];
      if (Math.abs(age) < LONG_SECONDS * NANOSECONDS) continue;
      if (this.#judge(stack)?.idle !== "shared") continue;
      const pool = this.#poolOf(stack, task);
      pools.set(pool, (pools.get(pool) ?? 0) + 1);
    }
    return pools;
  }

  /** A name for each stack in a thread's process. */
  #poolOf(stack: number, task: number): string {
    return `${stack} ${this.#tasks.task(task)?.pid}`;
  }

  /** The thread that holds what a thread waits for; of a file lock the process. 0: not known. */
  #ownerOf(
    { wait, owner }: JudgedWait,
    { tasks, owners }: DrainedWaitCounts,
    place: number,
    holders: LockOwners,
  ): number {
    const pid = this.#tasks.task(tasks[place] ?? 0)?.pid ?? 0;
    if (owner) return holders.thread(pid, owners[OWNER_WORDS * place + OWNER_PLACES[owner]] ?? 0);
    return reasonOf(wait) === "file-lock" ? holders.fileLock(pid) : 0;
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

function isIdleNow(rule: IdleRule, seconds: number, isShared: () => boolean): boolean {
  if (rule === "always") return true;
  if (seconds < LONG_SECONDS) return false;
  return rule === "long" || (rule === "shared" && isShared());
}
