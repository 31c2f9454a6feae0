/** Says where the Python frames of a stack belong among its native frames. */
import {
  INTERPRETED_KIND_MASK,
  INTERPRETED_STOP,
  INTERPRETER_PYTHON,
  OUTCOME_TRUNCATED,
  PYTHON_CALL,
  PYTHON_EVALUATION,
  PYTHON_FRAME,
  PYTHON_PLACE,
} from "../../../build/abi.ts";
import type { Drained } from "../../addon/drained.ts";
import { SlidingColumn } from "../../tick/sliding-column.ts";
import type { InterpreterFiles } from "../interpreter-files.ts";
import type { MergedFrames } from "../merged-frames.ts";
import type { NewFrames } from "../new-frames.ts";
import type { Interleaver } from "../reader.ts";
import { interleave, type NativeFrame, type NativeRole, type PythonWord } from "./interleave.ts";

/** Roles by their numbers in columns; 0 stands for a frame that has none of its own. */
const NATIVE_ROLES: readonly NativeRole[] = ["other", "evaluation", "interpreter", "stop"];

const ROLES: ReadonlyMap<number, PythonWord["role"]> = new Map([
  [PYTHON_FRAME, "frame"],
  [PYTHON_CALL, "call"],
  [PYTHON_EVALUATION, "evaluation"],
  [PYTHON_PLACE, "place"],
  [INTERPRETED_STOP, "stop"],
]);

/** Where the place lies in a word of the column. */
const PLACE_SHIFT = 4;

export class PythonStacks implements Interleaver {
  readonly interpreter = INTERPRETER_PYTHON;
  readonly #files: InterpreterFiles;
  /** Roles of native frames of interpreters and of stops, by number; any other frame is plain. */
  readonly #nativeRoles = new SlidingColumn();
  /** What Python's words are, by number: one of enum python_kind, and above it the place. */
  readonly #words = new SlidingColumn();
  /** How many stacks could not be paired since the last call of `takeUnpaired`. */
  #unpaired = 0;

  constructor(files: InterpreterFiles) {
    this.#files = files;
  }

  /** Takes in new frames, once their files are known; forgets the frames that nothing refers to any more. */
  ingest({ forgottenFrames }: Drained, frames: NewFrames): void {
    for (const column of [this.#nativeRoles, this.#words]) column.forgetBelow(forgottenFrames);
    for (let index = 0; index < frames.length; index++) this.#registerFrame(frames, index);
  }

  #registerFrame(frames: NewFrames, index: number): void {
    const number = frames.first + index;
    if (frames.interpreter(index) === INTERPRETER_PYTHON) {
      const kind = frames.interpretedKind(index);
      if (!ROLES.has(kind)) return;
      const place = Number(frames.word(index) & 0xffffn);
      this.#words.set(number, (place << PLACE_SHIFT) | kind);
      return;
    }
    if (frames.isCode(index)) {
      // Only beside interpreted frames a native frame is ever hidden, and has a mark.
      if (frames.meta(index) === 0) return;
      const evaluates = this.#files.evaluates(frames.file(index), frames.offset(index));
      if (evaluates !== undefined)
        this.#setNativeRole(number, evaluates ? "evaluation" : "interpreter");
    } else if (frames.isStop(index) && frames.meta(index) === 0) {
      this.#setNativeRole(number, "stop");
    }
  }

  #setNativeRole(number: number, role: NativeRole): void {
    this.#nativeRoles.set(number, NATIVE_ROLES.indexOf(role));
  }

  interleave(native: Uint32Array, own: Uint32Array, outcome: number, into: MergedFrames): void {
    const natives: NativeFrame[] = [];
    for (let at = 0; at < native.length; at++) {
      const number = native[at] ?? 0;
      natives.push({ number, role: NATIVE_ROLES[this.#nativeRoles.get(number)] ?? "other" });
    }
    const words: PythonWord[] = [];
    for (let at = 0; at < own.length; at++) {
      const number = own[at] ?? 0;
      const word = this.#words.get(number);
      const role = ROLES.get(word & INTERPRETED_KIND_MASK);
      if (role) words.push({ number, role, place: word >>> PLACE_SHIFT });
    }
    if (interleave(natives, words, into, outcome === OUTCOME_TRUNCATED)) this.#unpaired++;
  }

  takeUnpaired(): number {
    const count = this.#unpaired;
    this.#unpaired = 0;
    return count;
  }
}
