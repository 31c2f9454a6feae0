/** The new frames of a drain (bpf/abi.h), read without a bigint for each: thousands come in a second. */
import {
  FRAME_FILE_SHIFT,
  FRAME_KIND_SHIFT,
  FRAME_NATIVE,
  FRAME_STOP,
  FRAME_VALUE_MASK,
  PERL_FOLDED,
  PERL_KIND_MASK,
  PERL_NATIVE,
  PERL_STOP,
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

  /** The address or counter id of a frame that is neither native nor the kernel's nor Perl's. */
  value(index: number): bigint {
    return this.word(index) & FRAME_VALUE_MASK;
  }

  /** One of enum frame_kind; says nothing where there is a perlMeta(). */
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
    const meta = this.perlMeta(index);
    if (meta === 0) return this.kind(index) === FRAME_NATIVE;
    return (meta & PERL_KIND_MASK) === PERL_NATIVE || this.isFolded(index);
  }

  /** Says whether a frame is code of an interpreter, which executes the frame that is shown for it. */
  isFolded(index: number): boolean {
    return (this.perlMeta(index) & PERL_KIND_MASK) === PERL_FOLDED;
  }

  /** Says whether a frame is the reason why a walk ended. */
  isStop(index: number): boolean {
    const meta = this.perlMeta(index);
    return meta === 0 ? this.kind(index) === FRAME_STOP : (meta & PERL_KIND_MASK) === PERL_STOP;
  }

  /** The number of the function of a frame (Drained.functions), 0 if that is not known. */
  functionNumber(index: number): number {
    return this.#drained.functions[index] ?? 0;
  }

  /** The process that the word means something in, 0 for all. */
  owner(index: number): number {
    return this.#drained.owners[index] ?? 0;
  }

  /** The meta field (bpf/perl/abi.h) of a frame in a stack with Perl frames; 0 for frames of other stacks. */
  perlMeta(index: number): number {
    return this.#extras[index * 2 + 1] ?? 0;
  }

  /** The line of a Perl frame. */
  perlLine(index: number): number {
    return this.#extras[index * 2] ?? 0;
  }

  #high(index: number): number {
    return this.#words[index * 2 + 1] ?? 0;
  }
}
