/**
 * What is shown: the one rule by which every view and output leaves out threads, stacks and frames. Kernel frames are
 * left out on request; frames of an interpreter that are folded into those that it executes are, unless they are asked
 * for or nothing else is there. Where async functions are followed, those that await stand in place of the scheduler's
 * frames; else these do. A stack of which nothing is left is shown as a stand-in, so that no sample is lost.
 */
import { innermostOwn } from "../tick/application.ts";
import { grown } from "../tick/columns/numbers.ts";
import { KERNEL_ONLY, NO_FRAMES } from "../tick/functions.ts";
import { ROOT } from "../tick/prefix-tree.ts";
import { PLACES } from "../tick/runtimes.ts";
import {
  FRAME_AWAITS,
  FRAME_FOLDED,
  FRAME_MARK,
  FRAME_SCHEDULES,
  type Store,
} from "../tick/store.ts";
import type { Task, Tick } from "../tick/tick.ts";
import { stateOf } from "../tick/waits.ts";
import type { Filter } from "./filter/filter.ts";

/** What its reader chose to see. */
export interface Choice {
  readonly filter?: Filter | undefined;
  /** Show kernel frames. */
  readonly kernel: boolean;
  /** Show the interpreter's own frames. */
  readonly nativeFrames: boolean;
  /** Show waits for work. */
  readonly idle?: boolean;
  /** Show the scheduler's frames in place of those that await: the stack as the thread has it. */
  readonly physical?: boolean;
}

/** Says whether two choices show the same. */
export const isSameChoice = (a: Choice, b: Choice): boolean =>
  a.filter === b.filter &&
  a.kernel === b.kernel &&
  a.nativeFrames === b.nativeFrames &&
  (a.idle ?? false) === (b.idle ?? false) &&
  (a.physical ?? false) === (b.physical ?? false);

const KERNEL = PLACES.kernel;

/**
 * A frame as counting reads it, in one number: the place of its function (Functions), above it the place of its runtime
 * in EVERY_RUNTIME, whether the frame is left out wherever it stands, and whether it has a line. No source tells as many
 * functions apart as there are places.
 */
export const KEY_PLACE = 0xff_ffff;
export const KEY_RUNTIME_SHIFT = 24;
export const KEY_RUNTIME = 0xf;
export const KEY_HIDDEN = 1 << 28;
export const KEY_HAS_LINE = 1 << 29;
/** The function awaits what is further in. */
export const KEY_AWAITS = 1 << 30;

/** The stand-in frames that every store begins with. */
const KERNEL_FRAME = KERNEL_ONLY.id;
const NO_FRAME = NO_FRAMES.id;

/** Whether a frame is shown only where async functions are followed, or only where they are not, and this is the other. */
function isOfOtherPicture(flags: number, physical: boolean): boolean {
  const role = flags & FRAME_MARK;
  return physical ? (role & FRAME_AWAITS) !== 0 : role === FRAME_SCHEDULES;
}

/** What of one store is shown. */
export class Shown {
  readonly store: Store;
  readonly #choice: Choice;
  #keys: Int32Array = new Int32Array(0);
  #judged = 0;
  readonly #wanted = new Map<number, boolean>();
  /** By stack of a thread that waits: its innermost frame that is the application's own, -1 where it has none. */
  readonly #own = new Map<number, number>();

  constructor(store: Store, choice: Choice) {
    this.store = store;
    this.#choice = choice;
  }

  /** The key of each frame of the store: see KEY_PLACE. */
  keys(): Int32Array {
    const length = this.store.frameCount;
    if (this.#judged === length) return this.#keys;
    if (length > this.#keys.length) this.#keys = grown(this.#keys, length);
    const { kernel, nativeFrames, physical } = this.#choice;
    const { runtimes } = this.store.functions;
    const { frameFunctions, frameLines, frameFlags } = this.store.columns;
    for (let frame = this.#judged; frame < length; frame++) {
      const place = frameFunctions.at(frame);
      const runtime = runtimes[place] ?? 0;
      const flags = frameFlags.at(frame);
      const isFolded = (flags & FRAME_FOLDED) !== 0;
      const isOther = flags !== 0 && isOfOtherPicture(flags, physical ?? false);
      const isHidden = runtime === KERNEL ? !kernel : isOther || (isFolded && !nativeFrames);
      this.#keys[frame] =
        place |
        (runtime << KEY_RUNTIME_SHIFT) |
        (isHidden ? KEY_HIDDEN : 0) |
        ((flags & FRAME_MARK) === FRAME_AWAITS ? KEY_AWAITS : 0) |
        (frameLines.at(frame) === 0 ? 0 : KEY_HAS_LINE);
    }
    this.#judged = length;
    return this.#keys;
  }

  /** Whether a frame is left out, wherever it stands. */
  hides(frame: number): boolean {
    return ((this.keys()[frame] ?? 0) & KEY_HIDDEN) !== 0;
  }

  /** What stands for a stack whose frames are all left out. Leaf first. */
  standIn(stack: number): readonly number[] {
    const frames = this.store
      .framesOf(stack)
      .filter((frame) => !isOfOtherPicture(this.#flags(frame), this.#choice.physical ?? false));
    if (frames.length === 0) return [NO_FRAME];
    const isKernel = (frame: number): boolean => this.store.functionOf(frame).runtime === "kernel";
    return frames.some(isKernel) ? [KERNEL_FRAME] : frames;
  }

  #flags(frame: number): number {
    return this.store.columns.frameFlags.at(frame);
  }

  /** The frames of a stack that are shown, at least one. Leaf first. */
  frames(stack: number): readonly number[] {
    const shown = this.store.framesOf(stack).filter((frame) => !this.hides(frame));
    return shown.length > 0 ? shown : this.standIn(stack);
  }

  /** Whether the counts of a stack are a part of the picture: waits for work are not, unless they are asked for. */
  counts(stack: number): boolean {
    const wait = this.store.columns.stackWaits.at(stack);
    const { filter, idle } = this.#choice;
    if (wait !== 0 && stateOf(wait) === "idle" && !idle && !filter?.asksForIdle) return false;
    return !filter?.hasWaitTerms || filter.matchesWait(wait);
  }

  /**
   * The frame that a wait is told by: the innermost one of the application that is shown, else the innermost one
   * outside of the kernel. -1: the stack does not wait, or has no such frame.
   */
  own(stack: number): number {
    if (this.store.columns.stackWaits.at(stack) === 0) return -1;
    const known = this.#own.get(stack);
    if (known !== undefined) return known;
    const frames = this.frames(stack);
    const functions = frames.map((frame) => this.store.functionOf(frame));
    const place = innermostOwn(functions);
    const user = functions.findIndex(({ runtime }) => runtime !== "kernel");
    const own = frames[place < 0 ? user : place] ?? -1;
    this.#own.set(stack, own);
    return own;
  }

  /** The frame that a stack is told by: its innermost one that is shown, or what own() says of a wait. */
  leaf(stack: number): number {
    const own = this.own(stack);
    return own < 0 ? this.#innermost(stack) : own;
  }

  #innermost(stack: number): number {
    const { stackLeaves, nodeBacks, nodeFrames } = this.store.columns;
    for (let node = stackLeaves.at(stack); node !== ROOT; node -= nodeBacks.at(node)) {
      const frame = nodeFrames.at(node);
      if (!this.hides(frame)) return frame;
    }
    return this.standIn(stack)[0] ?? NO_FRAME;
  }

  /** Whether the filter's words about functions choose a stack: one of its shown functions is named. */
  wants(stack: number): boolean {
    const { filter } = this.#choice;
    if (!filter?.hasFunctionTerms) return true;
    const known = this.#wanted.get(stack);
    if (known !== undefined) return known;
    const wanted = this.frames(stack).some((frame) =>
      filter.matchesFunction(this.store.functionOf(frame)),
    );
    this.#wanted.set(stack, wanted);
    return wanted;
  }
}

/** A count of a thread that is wanted, with its weight. */
export interface SelectedCount {
  readonly shown: Shown;
  readonly stack: number;
  readonly task: Task;
  readonly weight: number;
}

/** Selections that are in use: of now, of everything, of a mark. */
const MAX_KEPT = 6;
let kept: readonly Selection[] = [];

/** The selection of a choice; what it knows of stores is kept while the choice is in use. */
export function selectionOf(choice: Choice): Selection {
  const known = kept.find((one) => isSameChoice(one.choice, choice));
  const selection = known ?? new Selection(choice);
  if (selection !== kept[0]) {
    kept = [selection, ...kept.filter((one) => one !== selection)].slice(0, MAX_KEPT);
  }
  return selection;
}

/** One choice, applied to threads and to the stores of a source. */
export class Selection {
  readonly choice: Choice;
  readonly #shown = new WeakMap<Store, Shown>();

  constructor(choice: Choice) {
    this.choice = choice;
  }

  /** Whether the filter's words about threads and processes choose one of a store. */
  wants(task: Task, { family }: Store): boolean {
    const { filter } = this.choice;
    return !filter?.hasTaskTerms || filter.matchesTask(task, family);
  }

  /** What of a store is shown. */
  of(store: Store): Shown {
    let shown = this.#shown.get(store);
    if (!shown) {
      shown = new Shown(store, this.choice);
      this.#shown.set(store, shown);
    }
    return shown;
  }

  /** The counts of some ticks whose threads are wanted. */
  *counts(ticks: readonly Tick[]): Generator<SelectedCount> {
    for (const { store, counts } of ticks) {
      const shown = this.of(store);
      const wanted = new Map<number, Task | undefined>();
      for (let i = 0; i < counts.length; i++) {
        const weight = counts.weights[i] ?? 0;
        if (weight <= 0) continue;
        const number = counts.tasks[i] ?? 0;
        let task = wanted.get(number);
        if (!task && !wanted.has(number)) {
          task = store.tasks[number];
          if (task && !this.wants(task, store)) task = undefined;
          wanted.set(number, task);
        }
        const stack = counts.stacks[i] ?? 0;
        if (task && shown.counts(stack)) yield { shown, stack, task, weight };
      }
    }
  }
}
