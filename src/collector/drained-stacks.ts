/**
 * The frames and stacks that were drained, by their numbers there, until they are forgotten. What is counted gets a
 * number of the store; what is never counted never reaches it.
 */
import type { NamedFrames, NumberedFrame } from "../runtimes/frame-reader.ts";
import { firstWhere } from "../tick/binary-search.ts";
import { NumberMap } from "../tick/columns/number-map.ts";
import { release } from "../tick/columns/numbers.ts";
import { SlidingColumn } from "../tick/columns/sliding-column.ts";
import type { Store } from "../tick/store.ts";
import { type FrameDetail, OUTCOMES, type Outcome } from "../tick/tick.ts";
import type { TickWriter } from "../tick/tick-writer.ts";
import { WAIT_IDLE, type Wait } from "../tick/waits.ts";

/** How the walk of a stack ends that lacks no frame. */
const WHOLE: readonly Outcome[] = ["complete", "guessed"];

/** Stacks that came together, as Drained.stacks has them. */
interface Batch {
  readonly words: Uint32Array<ArrayBuffer>;
  /** The number of its last stack. */
  readonly last: number;
}

/** Words of a stack before its frames: number, outcome, how many frames it shares with the one before, count of frames. */
const HEADER_WORDS = 4;

export class DrainedStacks {
  readonly #writer: TickWriter;
  /** Frames of one function that say nothing more are one, whatever their addresses. */
  readonly #mergesFrames: boolean;
  /** Says of a function by its id that it belongs to the probe that a stack was taken at, no part of the program. */
  readonly #isProbe: (id: number) => boolean;
  /** The store that numbers are of. */
  #store: Store | undefined;
  /** For each frame the id of its function, and its number in the store: above 0, since stand-ins come first. */
  readonly #functions = new SlidingColumn();
  readonly #frameNumbers = new SlidingColumn();
  #details = new Map<number, FrameDetail>();
  /** The frames of the stack that is entered, as far as they are not those of the latest one, and what is left of others. */
  readonly #frames: number[] = [];
  /** The stack that was entered latest, where its frames mean what they did then, and how many were; -1: none. */
  #latest = -1;
  #latestLength = 0;
  /** For each function the number in the store of the frame that stands for all that are merged. */
  readonly #mergedFrames = new NumberMap();
  /** The stacks as they came, in the order of their numbers; for each where it begins in its batch, and 1. */
  #batches: Batch[] = [];
  /** The place of the batch that was looked into last. */
  #batch = 0;
  readonly #places = new SlidingColumn();
  /** Numbers in the store, and 1. */
  readonly #stackNumbers = new SlidingColumn();
  /** Numbers in the store, and 1, of stacks whose threads wait for work: a stack may be counted as both. */
  readonly #idleNumbers = new SlidingColumn();

  constructor(
    writer: TickWriter,
    mergesFrames: boolean,
    isProbe: (id: number) => boolean = () => false,
  ) {
    this.#isProbe = isProbe;
    this.#writer = writer;
    this.#mergesFrames = mergesFrames;
  }

  /** Takes in frames, numbered on from `first`. */
  registerFrames(first: number, { functions, details }: NamedFrames): void {
    for (let i = 0; i < functions.length; i++) {
      this.#functions.set(first + i, functions[i] ?? 0);
      this.#frameNumbers.set(first + i, 0);
    }
    for (const [index, detail] of details) this.#details.set(first + index, detail);
  }

  /** Takes in stacks, numbered on, as Drained.stacks has them. */
  registerStacks(words: Uint32Array<ArrayBuffer>): void {
    const [first] = words;
    if (first === undefined) return;
    // What they hold of the others is 0 too.
    this.#stackNumbers.set(first, 0);
    this.#idleNumbers.set(first, 0);
    let last = first;
    const end = words.length - HEADER_WORDS;
    for (let at = 0; at <= end; at += HEADER_WORDS + (words[at + 3] ?? 0)) {
      last = words[at] ?? 0;
      this.#places.set(last, at + 1);
    }
    this.#batches.push({ words, last });
  }

  /** The batch that a stack came in, if it was not forgotten: mostly that of the one before. */
  #batchOf(stack: number): Batch | undefined {
    const batches = this.#batches;
    if (!this.#isIn(this.#batch, stack)) {
      const reaches = (at: number): boolean => (batches[at]?.last ?? 0) >= stack;
      this.#batch = firstWhere(0, batches.length, reaches);
    }
    return batches[this.#batch];
  }

  #isIn(batch: number, stack: number): boolean {
    const last = this.#batches[batch]?.last ?? 0;
    const before = batch > 0 ? (this.#batches[batch - 1]?.last ?? 0) : 0;
    return before < stack && stack <= last;
  }

  /** Gives frames other functions: what is counted from now on enters the store with these. */
  rename(renamed: ReadonlyMap<number, NumberedFrame>): void {
    if (renamed.size === 0) return;
    this.#latest = -1;
    let areEntered = false;
    for (const [number, { id, detail }] of renamed) {
      areEntered ||= this.#frameNumbers.get(number) !== 0;
      this.#functions.set(number, id);
      this.#frameNumbers.set(number, 0);
      this.#setDetail(number, detail);
    }
    // Mostly no stack that was counted has one of them.
    if (!areEntered) return;
    // Every frame of a stack that was entered has a number in the store, but for those that were just renamed.
    for (const { words } of this.#batches) {
      for (let at = 0; at + HEADER_WORDS <= words.length; ) {
        const stack = words[at] ?? 0;
        const end = at + HEADER_WORDS + (words[at + 3] ?? 0);
        for (at += HEADER_WORDS; at < end && this.#frameNumbers.get(words[at] ?? 0) !== 0; at++);
        if (at < end) {
          this.#stackNumbers.set(stack, 0);
          this.#idleNumbers.set(stack, 0);
        }
        at = end;
      }
    }
  }

  #setDetail(number: number, detail: FrameDetail | undefined): void {
    const isLate = detail && !this.#details.has(number);
    if (detail) this.#details.set(number, detail);
    else this.#details.delete(number);
    if (isLate) this.#details = new Map([...this.#details].sort(([a], [b]) => a - b));
  }

  /**
   * The number in the store of a stack, which is entered there if it is new; undefined if it was forgotten. The wait of
   * a stack is always the same but for being idle.
   */
  stack(number: number, wait: Wait = 0): number | undefined {
    this.#followStore();
    const numbers = wait & WAIT_IDLE ? this.#idleNumbers : this.#stackNumbers;
    const known = numbers.get(number);
    if (known !== 0) return known - 1;
    const place = this.#places.get(number) - 1;
    const words = this.#batchOf(number)?.words;
    if (place < 0 || !words) return undefined;
    const frames = this.#frames;
    let first = place + HEADER_WORDS;
    const end = first + (words[place + 3] ?? 0);
    while (first < end - 1 && this.#isProbe(this.#functions.get(words[first] ?? 0))) first++;
    const length = end - first;
    // The one before it is mostly the latest: what both have in common is in the store.
    const follows = place > 0 && this.#latest === number - 1;
    const shared = follows ? Math.min(words[place + 2] ?? 0, length, this.#latestLength) : 0;
    for (let at = first; at < end - shared; at++) frames[at - first] = this.#frame(words[at] ?? 0);
    const entered = this.#writer.stack(frames, words[place + 1] ?? 0, wait, length, shared);
    this.#latest = number;
    this.#latestLength = length;
    numbers.set(number, entered + 1);
    return entered;
  }

  /** The ids of a stack's functions, leaf first, and whether none is missing. */
  describe(number: number): { readonly functions: readonly number[]; readonly isWhole: boolean } {
    const place = this.#places.get(number) - 1;
    const words = this.#batchOf(number)?.words;
    if (place < 0 || !words) return { functions: [], isWhole: false };
    const first = place + HEADER_WORDS;
    const frames = words.subarray(first, first + (words[place + 3] ?? 0));
    return {
      functions: Array.from(frames, (frame) => this.#functions.get(frame)),
      isWhole: WHOLE.includes(OUTCOMES[words[place + 1] ?? 0] ?? "broken"),
    };
  }

  /** The ids of the functions of all frames; one may be there for each of many. */
  functions(): Uint32Array {
    return this.#functions.values();
  }

  /** The number in the store of a frame; undefined if it is not in use there. */
  frameNumber(number: number): number | undefined {
    this.#followStore();
    const known = this.#frameNumbers.get(number);
    return known === 0 ? undefined : known;
  }

  /** The store that numbers are of now. */
  get store(): Store {
    return this.#writer.store;
  }

  #frame(number: number): number {
    const known = this.#frameNumbers.get(number);
    if (known !== 0) return known;
    const entered = this.#enterFrame(this.#functions.get(number), this.#details.get(number));
    this.#frameNumbers.set(number, entered);
    return entered;
  }

  #enterFrame(id: number, detail: FrameDetail | undefined): number {
    if (detail || !this.#mergesFrames) return this.#writer.frame(id, detail);
    const known = this.#mergedFrames.get(id);
    if (known >= 0) return known;
    const entered = this.#writer.frame(id);
    this.#mergedFrames.set(id, entered);
    return entered;
  }

  /** Where the writer began a new store everything is entered anew when it is counted again. */
  #followStore(): void {
    if (this.#store === this.#writer.store) return;
    this.#store = this.#writer.store;
    this.#latest = -1;
    this.#mergedFrames.clear();
    for (const column of [this.#frameNumbers, this.#stackNumbers, this.#idleNumbers]) {
      column.clear();
    }
  }

  /** Forgets stacks and frames with lower numbers. */
  forgetBelow(stack: number, frame: number): void {
    this.#functions.forgetBelow(frame);
    this.#frameNumbers.forgetBelow(frame);
    // They are in the order of their numbers.
    for (const number of this.#details.keys()) {
      if (number >= frame) break;
      this.#details.delete(number);
    }
    if (!this.#places.holdsBelow(stack)) return;
    this.#stackNumbers.forgetBelow(stack);
    this.#idleNumbers.forgetBelow(stack);
    this.#places.forgetBelow(stack);
    const kept = this.#batches.filter(({ last }) => last >= stack);
    for (const { words, last } of this.#batches) if (last < stack) release(words);
    this.#batches = kept;
    this.#batch = 0;
  }
}
