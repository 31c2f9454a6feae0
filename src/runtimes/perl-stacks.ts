/** Stacks that have Perl frames: from the two lists of the kernel side to one. */
import type { AbiConstants, Drained, PerlInterpreter, SampledFile } from "../collector/sampler.ts";
import {
  type CalledXsub,
  interleave,
  type NativeFrame,
  type NativeRole,
  type PerlFrame,
} from "./perl-interleave.ts";

const TRUNCATED_OR_OPEN = 1;

export class PerlStacks {
  readonly #abi: AbiConstants;
  readonly #interpreters = new Map<number, PerlInterpreter>();
  /** Native frames of interpreters and stops, by number; others are plain. */
  readonly #roles = new Map<number, NativeRole>();
  readonly #perl = new Map<number, PerlFrame>();
  /** Words of the first byte of the functions of native frames beside Perl frames, and of XSUBs. */
  readonly #code = new Map<number, bigint>();
  /** Stacks in which the frames could not be paired, since the last call of `takeUnpaired`. */
  #unpaired = 0;

  constructor(abi: AbiConstants) {
    this.#abi = abi;
  }

  /** Takes in what became known of files, and new frames. */
  learn(drained: Drained): void {
    this.#learnFiles(drained.files);
    this.#learnFrames(drained);
  }

  /** An id may be given to another file later. */
  #learnFiles(files: readonly SampledFile[]): void {
    for (const { id, perl } of files) {
      if (perl) this.#interpreters.set(id, perl);
      else this.#interpreters.delete(id);
    }
  }

  /** Frames that will not be referred to again are forgotten. */
  #learnFrames({ firstFrame, frames, extras, starts, forgottenFrames }: Drained): void {
    for (const map of [this.#roles, this.#perl, this.#code]) forgetBelow(map, forgottenFrames);
    const fileMask = ~((1n << BigInt(this.#abi.frameFileShift)) - 1n);
    frames.forEach((word, index) => {
      const number = firstFrame + index;
      const kind = this.#kind(extras[index] ?? 0n);
      const { native, folded, cut, stop, main, xsubCode } = this.#abi.perl;
      if (kind === native) this.#code.set(number, (word & fileMask) | BigInt(starts[index] ?? 0));
      if (kind === xsubCode) this.#code.set(number, word);
      if (kind === 0 || kind === native || kind === folded) {
        const role = this.#role(word);
        if (role !== "other") this.#roles.set(number, role);
      } else if (kind === cut) this.#perl.set(number, { number, role: "cut" });
      else if (kind === stop) this.#perl.set(number, { number, role: "stop" });
      else if (kind !== this.#abi.perl.xsub && kind !== xsubCode) {
        this.#perl.set(number, { number, role: kind === main ? "main" : "frame" });
      }
    });
  }

  /** The stacks as the wire has them (number, outcome, count, frames): with the lists merged. */
  merge(stacks: Uint32Array): Uint32Array<ArrayBuffer> {
    const merged: number[] = [];
    for (let at = 0; at + 3 < stacks.length; ) {
      const [number = 0, outcome = 0, count = 0, perlCount = 0] = stacks.subarray(at, at + 4);
      const native = stacks.subarray(at + 4, at + 4 + count);
      const perl = stacks.subarray(at + 4 + count, at + 4 + count + perlCount);
      at += 4 + count + perlCount;
      const frames = perlCount === 0 ? native : this.#mergeOne(native, perl, outcome);
      merged.push(number, outcome, frames.length);
      for (const frame of frames) merged.push(frame);
    }
    return Uint32Array.from(merged);
  }

  takeUnpaired(): number {
    const count = this.#unpaired;
    this.#unpaired = 0;
    return count;
  }

  #mergeOne(numbers: Uint32Array, perlNumbers: Uint32Array, outcome: number): number[] {
    const native: NativeFrame[] = [];
    for (const number of numbers) native.push({ number, role: this.#roles.get(number) ?? "other" });
    const perl: PerlFrame[] = [];
    for (const number of perlNumbers) {
      const frame = this.#perl.get(number);
      if (frame) perl.push(frame);
    }
    // Which of the two walks hit its limit is not said: the code outside of any sub ends one that did not.
    const truncated = outcome === TRUNCATED_OR_OPEN && perl.at(-1)?.role === "main";
    const xsub = this.#findXsub(native, perlNumbers);
    const { frames, unpaired } = interleave(native, perl, { truncated, xsub });
    if (unpaired) this.#unpaired++;
    const hasPerl = perl.some(({ role }) => role === "frame" || role === "main");
    // The number after that of a native frame is the same frame, hidden.
    return frames.map(({ number, folded }) => (folded && hasPerl ? number + 1 : number));
  }

  /**
   * The sub written in C that the kernel side found to be called, if the thread is in its code: the
   * native frame next to the innermost run loop whose function it is.
   */
  #findXsub(
    native: readonly NativeFrame[],
    [sub = 0, code = 0]: Uint32Array,
  ): CalledXsub | undefined {
    const start = this.#perl.has(sub) ? undefined : this.#code.get(code);
    if (start === undefined) return undefined;
    for (let at = native.findIndex(({ role }) => role === "run-loop") - 1; at >= 0; at--) {
      if (this.#code.get(native[at]?.number ?? -1) === start) return { number: sub, at };
    }
    return undefined;
  }

  #kind(extra: bigint): number {
    return Number(extra >> 32n) & this.#abi.perl.kindMask;
  }

  #role(word: bigint): NativeRole {
    const kind = Number(word >> BigInt(this.#abi.frameKindShift));
    if (kind === this.#abi.kindStop) return "stop";
    if (kind !== this.#abi.kindNative) return "other";
    const fileShift = BigInt(this.#abi.frameFileShift);
    const perl = this.#interpreters.get(Number(word >> fileShift));
    if (!perl) return "other";
    const offset = Number(word & ((1n << fileShift) - 1n));
    const { runLoops, run, parse, destruct, callSub, callList } = perl.code;
    const isIn = ([start, end]: readonly [number, number]) => offset >= start && offset < end;
    if (runLoops.some(isIn)) return "run-loop";
    if (isIn(run)) return "perl-run";
    if (isIn(parse)) return "perl-parse";
    if (isIn(destruct)) return "perl-destruct";
    return isIn(callSub) || isIn(callList) ? "call" : "interpreter";
  }
}

/** Numbers are inserted in ascending order, so that the lowest come first. */
function forgetBelow(map: Map<number, unknown>, limit: number): void {
  for (const number of map.keys()) {
    if (number >= limit) return;
    map.delete(number);
  }
}
