/** Threads that wait in a function's name: since when, where in the kernel, who holds the lock, and what that thread does. */
import type { FunctionInfo, Task, Tick } from "../../tick/tick.ts";
import {
  isUninterruptible,
  type LongWait,
  type Reason,
  reasonOf,
  stateOf,
} from "../../tick/waits.ts";
import { type Choice, type Shown, selectionOf } from "../selection.ts";
import { wholeTick } from "./activity.ts";

/** Who holds what a thread waits for: a thread; of a file lock a process, which is told by its first thread. */
export interface Holder {
  readonly tid: number;
  readonly isProcess: boolean;
  /** Missing where none of its stacks was met. */
  readonly task?: Task;
  /** What it does itself: it runs, or waits for this. */
  readonly does?: "runs" | Reason;
  /** For how long it does that, if it waits and that is known. */
  readonly seconds?: number;
  /** Where it mostly was, leaf first; frames of the kernel and of the interpreter's own are left out. */
  readonly stack: readonly FunctionInfo[];
}

/** A thread that waits, and who holds what it waits for. */
export interface WaitingThread {
  readonly task: Task;
  readonly reason: Reason;
  /** It waited so long in the time looked at. */
  readonly nanoseconds: number;
  /** How long its present wait has lasted; missing where that is less than a second, or over. */
  readonly seconds?: number;
  readonly isUninterruptible: boolean;
  /** Functions of the kernel in which it waits, innermost first. */
  readonly kernel: readonly string[];
  readonly holder?: Holder;
  /** Why nobody is named who holds the lock. */
  readonly whyNoHolder?: string;
}

/** Frames of the application alone say what a holder does. */
const HOLDER_CHOICE: Choice = { kernel: false, nativeFrames: false, idle: true };

/** The threads of a refresh that wait in a function, the longest wait first. */
export function waitingThreads(tick: Tick, functionId: number, choice: Choice): WaitingThread[] {
  const whole = wholeTick(tick);
  const { store, counts, waiting } = whole;
  if (!waiting) return [];
  const selection = selectionOf(choice);
  const shown = selection.of(store);
  const isIn = new Map<number, boolean>();
  const holds = (stack: number): boolean => {
    const known =
      isIn.get(stack) ??
      (stateOf(store.waitOf(stack)) !== "running" &&
        shown.counts(stack) &&
        shown.frames(stack).some((frame) => store.functionOf(frame).id === functionId));
    isIn.set(stack, known);
    return known;
  };
  const long = new Map(waiting.longWaits.map((wait) => [`${wait.task} ${wait.stack}`, wait]));
  const found: WaitingThread[] = [];
  for (let i = 0; i < counts.length; i++) {
    const [stack = 0, number = 0] = [counts.stacks[i], counts.tasks[i]];
    const task = store.tasks[number];
    if (!task || !holds(stack) || !selection.wants(task, store)) continue;
    const wait = store.waitOf(stack);
    const present = long.get(`${number} ${stack}`);
    const reason = reasonOf(wait);
    found.push({
      task,
      reason,
      nanoseconds: counts.weights[i] ?? 0,
      ...(present ? { seconds: present.seconds } : {}),
      isUninterruptible: isUninterruptible(wait),
      kernel: functionsOf(whole, stack)
        .filter(isKernel)
        .map(({ name }) => name),
      ...holderOf(whole, stack, reason, present),
    });
  }
  return found.sort((a, b) => (b.seconds ?? 0) - (a.seconds ?? 0) || b.nanoseconds - a.nanoseconds);
}

const isKernel = ({ runtime }: FunctionInfo): boolean => runtime === "kernel";

const functionsOf = ({ store }: Tick, stack: number): FunctionInfo[] =>
  store.framesOf(stack).map((frame) => store.functionOf(frame));

function holderOf(
  whole: Tick,
  stack: number,
  reason: Reason,
  present: LongWait | undefined,
): Pick<WaitingThread, "holder" | "whyNoHolder"> {
  if (reason !== "lock" && reason !== "file-lock") return {};
  if (present && present.owner > 0) {
    return { holder: holderIn(whole, present.owner, reason === "file-lock") };
  }
  return { whyNoHolder: whyNoHolder(functionsOf(whole, stack), reason) };
}

/** A reader must know that nobody was forgotten. */
function whyNoHolder(stack: readonly FunctionInfo[], reason: Reason): string {
  if (reason === "file-lock") return "the kernel names no single process that holds it";
  const user = stack.filter((info) => !isKernel(info));
  const lock = user.find(({ name }) => /mutex|rwlock|spin_lock|lll_lock|Monitor|Lock/.test(name));
  if (lock?.runtime === "dotnet") return "a lock of .NET notes its holder where only .NET finds it";
  if (lock && /wrlock/.test(lock.name)) return "readers hold it, who leave no number";
  return "no thread of the process has left its number in it";
}

/** Where the counts of each thread stand, and what holders do, by their numbers: asked for by each of those who wait. */
class Holders {
  readonly #whole: Tick;
  readonly #places = new Map<number, number[]>();
  readonly #known = new Map<string, Holder>();

  constructor(whole: Tick) {
    this.#whole = whole;
    const { counts, store } = whole;
    for (let i = 0; i < counts.length; i++) {
      const tid = store.tasks[counts.tasks[i] ?? 0]?.tid ?? 0;
      const places = this.#places.get(tid);
      if (places) places.push(i);
      else this.#places.set(tid, [i]);
    }
  }

  find(tid: number, isProcess: boolean): Holder {
    const key = `${isProcess} ${tid}`;
    const holder = this.#known.get(key) ?? { tid, isProcess, ...this.#doing(tid, isProcess) };
    this.#known.set(key, holder);
    return holder;
  }

  #doing(tid: number, isProcess: boolean): Omit<Holder, "tid" | "isProcess"> {
    const { store, counts, waiting, frequency } = this.#whole;
    // Samples stand for time that it ran: what it did longest is what it does.
    const period = frequency > 0 ? 1e9 / frequency : 1e9;
    let best = { stack: -1, time: 0, number: -1 };
    for (const i of this.#places.get(tid) ?? []) {
      const stack = counts.stacks[i] ?? 0;
      const time = (counts.weights[i] ?? 0) * (store.waitOf(stack) === 0 ? period : 1);
      if (time > best.time) best = { stack, time, number: counts.tasks[i] ?? 0 };
    }
    const task = store.tasks[best.number];
    // All time that a thread of the process waits is counted: without any it runs. Other processes may not be looked at.
    if (!task) return isProcess ? { stack: [] } : { does: "runs", stack: [] };
    const wait = store.waitOf(best.stack);
    const present = waiting?.longWaits.find(
      (it) => it.task === best.number && it.stack === best.stack,
    );
    return {
      task,
      does: wait === 0 ? "runs" : reasonOf(wait),
      ...(present ? { seconds: present.seconds } : {}),
      stack: userFunctions(selectionOf(HOLDER_CHOICE).of(store), best.stack),
    };
  }
}

const holders = new WeakMap<Tick, Holders>();

/** What the thread does in a tick that is told to hold something. */
export function holderIn(tick: Tick, tid: number, isProcess: boolean): Holder {
  const whole = wholeTick(tick);
  const known = holders.get(whole) ?? new Holders(whole);
  holders.set(whole, known);
  return known.find(tid, isProcess);
}

const userFunctions = (shown: Shown, stack: number): FunctionInfo[] =>
  shown.frames(stack).map((frame) => shown.store.functionOf(frame));
