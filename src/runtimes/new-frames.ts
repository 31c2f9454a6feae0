/** The new frames of a drain (bpf/abi.h), read without a bigint for each: thousands come in a second. */
import type { AbiConstants, Drained } from "../addon/sampler.ts";

const HALF = 2 ** 32;

/** Low and high halves; polytop runs on little-endian machines only. */
const halvesOf = (words: BigUint64Array): Uint32Array =>
  new Uint32Array(words.buffer, words.byteOffset, words.length * 2);

export class NewFrames {
  readonly length: number;
  /** Number of the first. */
  readonly first: number;
  readonly #abi: AbiConstants;
  readonly #drained: Drained;
  readonly #words: Uint32Array;
  readonly #extras: Uint32Array;
  /** Shifts within the high half of a word. */
  readonly #kindShift: number;
  readonly #fileShift: number;

  constructor(drained: Drained, abi: AbiConstants) {
    this.#abi = abi;
    this.length = drained.frames.length;
    this.first = drained.firstFrame;
    this.#drained = drained;
    this.#words = halvesOf(drained.frames);
    this.#extras = halvesOf(drained.extras);
    this.#kindShift = abi.frameKindShift - 32;
    this.#fileShift = abi.frameFileShift - 32;
  }

  /** All of them as they came. */
  get words(): BigUint64Array {
    return this.#drained.frames;
  }

  word(index: number): bigint {
    return this.#drained.frames[index] ?? 0n;
  }

  kind(index: number): number {
    return this.#high(index) >>> this.#kindShift;
  }

  /** Id of the file of a native frame. */
  file(index: number): number {
    return this.#high(index) >>> this.#fileShift;
  }

  /** Offset in the file of a native frame. */
  offset(index: number): number {
    const high = this.#high(index) & ((1 << this.#fileShift) - 1);
    return high * HALF + (this.#words[index * 2] ?? 0);
  }

  /** Whether it is code of a file. */
  isCode(index: number): boolean {
    const kind = this.perlMeta(index) & this.#abi.perl.kindMask;
    if (this.perlMeta(index) === 0) return this.kind(index) === this.#abi.kindNative;
    return kind === this.#abi.perl.native || kind === this.#abi.perl.folded;
  }

  /** The number of the function of a native frame (Drained.functions), 0 if that is not known. */
  functionNumber(index: number): number {
    return this.#drained.functions[index] ?? 0;
  }

  /** The process that the word means something in, 0 for all. */
  owner(index: number): number {
    return this.#drained.owners[index] ?? 0;
  }

  /** What a frame of a stack with Perl frames is, as bpf/perl/abi.h defines it; 0 in others. */
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
