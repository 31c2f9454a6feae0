/** Says where the Perl frames of a stack belong among its native frames. */
import {
  FRAME_NATIVE,
  FRAME_STOP,
  INTERPRETED_FOLDED,
  INTERPRETED_NATIVE,
  INTERPRETED_STOP,
  INTERPRETER_PERL,
  OUTCOME_TRUNCATED,
  PERL_CUT,
  PERL_MAIN,
  PERL_XSUB,
  PERL_XSUB_CODE,
} from "../../../build/abi.ts";
import type { Drained, PerlInterpreter } from "../../addon/drained.ts";
import { forgetBelow } from "../forget-below.ts";
import type { NewFrames } from "../new-frames.ts";
import type { Interleaver, MergedFrame } from "../reader.ts";
import {
  type CalledXsub,
  interleave,
  type NativeFrame,
  type NativeRole,
  type PerlFrame,
} from "./interleave.ts";

export class PerlStacks implements Interleaver {
  readonly interpreter = INTERPRETER_PERL;
  readonly #interpreters = new Map<number, PerlInterpreter>();
  /** Roles of the native frames of interpreters and of stops, by number; any other frame is plain. */
  readonly #roles = new Map<number, NativeRole>();
  readonly #perl = new Map<number, PerlFrame>();
  /** Numbers of functions by the numbers of native frames beside Perl frames, and of XSUBs. */
  readonly #code = new Map<number, number>();
  /** How many stacks could not be paired since the last call of `takeUnpaired`. */
  #unpaired = 0;

  /** Takes in the interpreters of files, and new frames; forgets the frames that nothing refers to any more. */
  ingest({ files, forgottenFrames }: Drained, frames: NewFrames): void {
    for (const { id, perl } of files) {
      if (perl) this.#interpreters.set(id, perl);
      else this.#interpreters.delete(id);
    }
    for (const map of [this.#roles, this.#perl, this.#code]) forgetBelow(map, forgottenFrames);
    for (let index = 0; index < frames.length; index++) this.#registerFrame(frames, index);
  }

  #registerFrame(frames: NewFrames, index: number): void {
    const number = frames.first + index;
    if (frames.meta(index) === 0) {
      // Code of files has a mark beside Perl frames; what has none is plain, unless it is a stop.
      if (frames.kind(index) === FRAME_STOP) this.#roles.set(number, "stop");
      return;
    }
    if (frames.interpreter(index) !== INTERPRETER_PERL && !frames.isCode(index)) return;
    const kind = frames.interpretedKind(index);
    if (kind === INTERPRETED_NATIVE || kind === PERL_XSUB_CODE) {
      this.#code.set(number, frames.functionNumber(index));
    }
    if (kind === 0 || kind === INTERPRETED_NATIVE || kind === INTERPRETED_FOLDED) {
      const role = this.#role(frames, index);
      if (role !== "other") this.#roles.set(number, role);
    } else if (kind === PERL_CUT) this.#perl.set(number, { number, role: "cut" });
    else if (kind === INTERPRETED_STOP) this.#perl.set(number, { number, role: "stop" });
    else if (kind !== PERL_XSUB && kind !== PERL_XSUB_CODE) {
      this.#perl.set(number, { number, role: kind === PERL_MAIN ? "main" : "frame" });
    }
  }

  takeUnpaired(): number {
    const count = this.#unpaired;
    this.#unpaired = 0;
    return count;
  }

  interleave(
    numbers: Uint32Array,
    perlNumbers: Uint32Array,
    outcome: number,
  ): readonly MergedFrame[] {
    const native: NativeFrame[] = [];
    for (const number of numbers) native.push({ number, role: this.#roles.get(number) ?? "other" });
    const perl: PerlFrame[] = [];
    for (const number of perlNumbers) {
      const frame = this.#perl.get(number);
      if (frame) perl.push(frame);
    }
    // The outcome does not say which of the two walks hit its limit. A Perl walk that reached the code outside of
    // any sub did not.
    const truncated = outcome === OUTCOME_TRUNCATED && perl.at(-1)?.role === "main";
    const xsub = this.#findXsub(native, perlNumbers);
    const { frames, unpaired } = interleave(native, perl, { truncated, xsub });
    if (unpaired) this.#unpaired++;
    const hasPerl = perl.some(({ role }) => role === "frame" || role === "main");
    return hasPerl ? frames : frames.map((frame) => ({ ...frame, folded: false }));
  }

  /**
   * Finds the sub written in C that the leaf calls, if the thread is in its code: it is the native frame next to
   * the innermost run loop that has the sub's function.
   */
  #findXsub(
    native: readonly NativeFrame[],
    [sub = 0, xsubCode = 0]: Uint32Array,
  ): CalledXsub | undefined {
    const code = this.#perl.has(sub) ? undefined : this.#code.get(xsubCode);
    if (!code) return undefined;
    for (let at = native.findIndex(({ role }) => role === "run-loop") - 1; at >= 0; at--) {
      if (this.#code.get(native[at]?.number ?? -1) === code) return { number: sub, at };
    }
    return undefined;
  }

  #role(frames: NewFrames, index: number): NativeRole {
    const kind = frames.kind(index);
    if (kind !== FRAME_NATIVE) return "other";
    const perl = this.#interpreters.get(frames.file(index));
    if (!perl) return "other";
    const offset = frames.offset(index);
    const { runLoops, run, parse, destruct, callSub, callList } = perl.code;
    const isIn = ([start, end]: readonly [number, number]) => offset >= start && offset < end;
    if (runLoops.some(isIn)) return "run-loop";
    if (isIn(run)) return "perl-run";
    if (isIn(parse)) return "perl-parse";
    if (isIn(destruct)) return "perl-destruct";
    return isIn(callSub) || isIn(callList) ? "call" : "interpreter";
  }
}
