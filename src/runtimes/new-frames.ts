/** The new frames of a drain (bpf/abi.h), read without a bigint for each: thousands come in a second. */
import {
  FRAME_FILE_SHIFT,
  FRAME_KIND_SHIFT,
  FRAME_NATIVE,
  FRAME_STOP,
  FRAME_VALUE_MASK,
  INTERPRETED_AWAITS,
  INTERPRETED_AWAITS_FIRST,
  INTERPRETED_FOLDED,
  INTERPRETED_KIND_MASK,
  INTERPRETED_NATIVE,
  INTERPRETED_OWNER_MASK,
  INTERPRETED_OWNER_SHIFT,
  INTERPRETED_SCHEDULED_BY,
  INTERPRETED_SCHEDULES,
  INTERPRETED_STOP,
} from "../../build/abi.ts";
import type { Drained } from "../addon/drained.ts";

const HALF = 2 ** 32;

/** Shifts within the high half of a word. */
const KIND_SHIFT = FRAME_KIND_SHIFT - 32;
const FILE_SHIFT = FRAME_FILE_SHIFT - 32;

/** Views words as low and high halves; polytop runs on little-endian machines only. */
const halvesOf = (words: BigUint64Array): Uint32Array =>
  new Uint32Array(words.buffer, words.byteOffset, words.length * 2);

/** The frames by index; the number of a frame is `first` and its index. */
export class NewFrames {
  readonly length: number;
  readonly first: number;
  readonly #drained: Drained;
  readonly #words: Uint32Array;
  readonly #extras: Uint32Array;

  constructor(drained: Drained) {
    this.length = drained.frames.length;
    this.first = drained.firstFrame;
    this.#drained = drained;
    this.#words = halvesOf(drained.frames);
    this.#extras = halvesOf(drained.extras);
  }

  /** All frame words as they came. */
  get words(): BigUint64Array {
    return this.#drained.frames;
  }

  word(index: number): bigint {
    return this.#drained.frames[index] ?? 0n;
  }

  /** The address or counter id of a frame that is neither native nor the kernel's nor an interpreter's. */
  value(index: number): bigint {
    return this.word(index) & FRAME_VALUE_MASK;
  }

  /** One of enum frame_kind; says nothing where there is a meta(). */
  kind(index: number): number {
    return this.#high(index) >>> KIND_SHIFT;
  }

  /** The id of the file of a native frame. */
  file(index: number): number {
    return this.#high(index) >>> FILE_SHIFT;
  }

  /** The offset in the file of a native frame. */
  offset(index: number): number {
    const high = this.#high(index) & ((1 << FILE_SHIFT) - 1);
    return high * HALF + (this.#words[index * 2] ?? 0);
  }

  /** Says whether a frame is code of a file. */
  isCode(index: number): boolean {
    const meta = this.meta(index);
    if (meta === 0 || this.isScheduler(index)) return this.kind(index) === FRAME_NATIVE;
    return (meta & INTERPRETED_KIND_MASK) === INTERPRETED_NATIVE || this.isFolded(index);
  }

  /** Says whether a frame is code of an interpreter, which executes the frame that is shown for it. */
  isFolded(index: number): boolean {
    return (this.meta(index) & INTERPRETED_KIND_MASK) === INTERPRETED_FOLDED;
  }

  /** Says whether a frame is of the scheduler that resumed what is further in, and those that await stand beside it. */
  isScheduler(index: number): boolean {
    return this.meta(index) === INTERPRETED_SCHEDULES;
  }

  /** Says whether a frame is a function that awaits what is further in: its word is the interpreter's number of it. */
  isAwaiting(index: number): boolean {
    return this.#isOwned(index, INTERPRETED_AWAITS);
  }

  /** Says whether several await the frame before, of which the next one is the first. */
  isFirstOfSeveral(index: number): boolean {
    return this.#isOwned(index, INTERPRETED_AWAITS_FIRST);
  }

  /** Says whether a frame stands for the scheduler: its word is one of enum scheduler. */
  isScheduledBy(index: number): boolean {
    return this.#isOwned(index, INTERPRETED_SCHEDULED_BY);
  }

  #isOwned(index: number, kind: number): boolean {
    return this.interpreter(index) !== 0 && this.interpretedKind(index) === kind;
  }

  /** Says whether a frame is the reason why a walk ended. */
  isStop(index: number): boolean {
    const meta = this.meta(index);
    return meta === 0
      ? this.kind(index) === FRAME_STOP
      : (meta & INTERPRETED_KIND_MASK) === INTERPRETED_STOP;
  }

  /** The number of the function of a frame (Drained.functions), 0 if that is not known. */
  functionNumber(index: number): number {
    return this.#drained.functions[index] ?? 0;
  }

  /** The process that the word means something in, 0 for all. */
  owner(index: number): number {
    return this.#drained.owners[index] ?? 0;
  }

  /** All of these as they came. */
  get owners(): Uint32Array {
    return this.#drained.owners;
  }

  /** The meta field (struct interpreted_frame) of a frame in a stack with interpreted ones; 0 in other stacks. */
  meta(index: number): number {
    return this.#extras[index * 2 + 1] ?? 0;
  }

  /** The interpreter (enum interpreter_kind) that the frame is of; 0 if it is native. */
  interpreter(index: number): number {
    return (this.meta(index) >>> INTERPRETED_OWNER_SHIFT) & INTERPRETED_OWNER_MASK;
  }

  /** What an interpreted frame is to its interpreter, or one of enum interpreted_kind. */
  interpretedKind(index: number): number {
    return this.meta(index) & INTERPRETED_KIND_MASK;
  }

  /** The line of an interpreted frame. */
  line(index: number): number {
    return this.#extras[index * 2] ?? 0;
  }

  #high(index: number): number {
    return this.#words[index * 2 + 1] ?? 0;
  }
}
