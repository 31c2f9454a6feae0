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
import { SlidingColumn } from "../../tick/sliding-column.ts";
import type { MergedFrames } from "../merged-frames.ts";
import type { NewFrames } from "../new-frames.ts";
import type { Interleaver } from "../reader.ts";
import {
  type CalledXsub,
  type FrameList,
  interleave,
  type NativeRole,
  type PerlRole,
} from "./interleave.ts";

/** Roles by their numbers in columns; 0 stands for a frame that has none of its own. */
const NATIVE_ROLES: readonly [NativeRole, ...NativeRole[]] = [
  "other",
  "run-loop",
  "perl-run",
  "perl-parse",
  "perl-destruct",
  "call",
  "interpreter",
  "stop",
];
const PERL_ROLES: readonly [PerlRole, ...PerlRole[]] = ["mark", "frame", "main", "cut", "stop"];

export class PerlStacks implements Interleaver {
  readonly interpreter = INTERPRETER_PERL;
  readonly #interpreters = new Map<number, PerlInterpreter>();
  /** Roles of the native frames of interpreters and of stops, by number; any other frame is plain. */
  readonly #nativeRoles = new SlidingColumn();
  readonly #perlRoles = new SlidingColumn();
  /** Numbers of functions by the numbers of native frames beside Perl frames, and of XSUBs. */
  readonly #code = new SlidingColumn();
  /** How many stacks could not be paired since the last call of `takeUnpaired`. */
  #unpaired = 0;

  /** Takes in the interpreters of files, and new frames; forgets the frames that nothing refers to any more. */
  ingest({ files, forgottenFrames }: Drained, frames: NewFrames): void {
    for (const { id, perl } of files) {
      if (perl) this.#interpreters.set(id, perl);
      else this.#interpreters.delete(id);
    }
    for (const column of [this.#nativeRoles, this.#perlRoles, this.#code]) {
      column.forgetBelow(forgottenFrames);
    }
    for (let index = 0; index < frames.length; index++) this.#registerFrame(frames, index);
  }

  #registerFrame(frames: NewFrames, index: number): void {
    const number = frames.first + index;
    if (frames.meta(index) === 0) {
      // Code of files has a mark beside Perl frames; what has none is plain, unless it is a stop.
      if (frames.kind(index) === FRAME_STOP) this.#setNativeRole(number, "stop");
      return;
    }
    if (frames.interpreter(index) !== INTERPRETER_PERL && !frames.isCode(index)) return;
    const kind = frames.interpretedKind(index);
    if (kind === INTERPRETED_NATIVE || kind === PERL_XSUB_CODE) {
      this.#code.set(number, frames.functionNumber(index));
    }
    if (kind === 0 || kind === INTERPRETED_NATIVE || kind === INTERPRETED_FOLDED) {
      this.#setNativeRole(number, this.#role(frames, index));
    } else if (kind === PERL_CUT) this.#setPerlRole(number, "cut");
    else if (kind === INTERPRETED_STOP) this.#setPerlRole(number, "stop");
    else if (kind !== PERL_XSUB && kind !== PERL_XSUB_CODE) {
      this.#setPerlRole(number, kind === PERL_MAIN ? "main" : "frame");
    }
  }

  #setNativeRole(number: number, role: NativeRole): void {
    if (role !== "other") this.#nativeRoles.set(number, NATIVE_ROLES.indexOf(role));
  }

  #setPerlRole(number: number, role: PerlRole): void {
    this.#perlRoles.set(number, PERL_ROLES.indexOf(role));
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
    into: MergedFrames,
  ): void {
    const native = withRoles(numbers, this.#nativeRoles, NATIVE_ROLES);
    const perl = withRoles(perlNumbers, this.#perlRoles, PERL_ROLES);
    // The outcome does not say which of the two walks hit its limit. A Perl walk that reached the code outside of
    // any sub did not.
    const truncated = outcome === OUTCOME_TRUNCATED && lastRole(perl.roles) === "main";
    const xsub = this.#findXsub(native, perlNumbers);
    if (interleave(native, perl, into, { truncated, xsub })) this.#unpaired++;
  }

  /**
   * Finds the sub written in C that the leaf calls, if the thread is in its code: it is the native frame next to
   * the innermost run loop that has the sub's function.
   */
  #findXsub(
    { numbers, roles }: FrameList<NativeRole>,
    perlNumbers: Uint32Array,
  ): CalledXsub | undefined {
    const sub = perlNumbers[0] ?? 0;
    const code = this.#perlRoles.get(sub) === 0 ? this.#code.get(perlNumbers[1] ?? 0) : 0;
    if (code === 0) return undefined;
    for (let at = roles.indexOf("run-loop") - 1; at >= 0; at--) {
      if (this.#code.get(numbers[at] ?? 0) === code) return { number: sub, at };
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

function withRoles<Role>(
  numbers: Uint32Array,
  column: SlidingColumn,
  names: readonly [Role, ...Role[]],
): FrameList<Role> {
  const roles: Role[] = [];
  for (let at = 0; at < numbers.length; at++) {
    roles.push(names[column.get(numbers[at] ?? 0)] ?? names[0]);
  }
  return { numbers, roles };
}

/** The role of the outermost word that is more than a mark. */
const lastRole = (roles: readonly PerlRole[]): PerlRole | undefined =>
  roles.findLast((role) => role !== "mark");
