/** Says where the Python frames of a stack belong among its native frames. */
import {
  INTERPRETED_STOP,
  INTERPRETER_PYTHON,
  OUTCOME_TRUNCATED,
  PYTHON_CALL,
  PYTHON_EVALUATION,
  PYTHON_FRAME,
  PYTHON_PLACE,
} from "../../../build/abi.ts";
import type { Drained } from "../../addon/drained.ts";
import { forgetBelow } from "../forget-below.ts";
import type { InterpreterFiles } from "../interpreter-files.ts";
import type { NewFrames } from "../new-frames.ts";
import type { Interleaver, MergedFrame } from "../reader.ts";
import { interleave, type NativeFrame, type NativeRole, type PythonWord } from "./interleave.ts";

const ROLES: ReadonlyMap<number, PythonWord["role"]> = new Map([
  [PYTHON_FRAME, "frame"],
  [PYTHON_CALL, "call"],
  [PYTHON_EVALUATION, "evaluation"],
  [PYTHON_PLACE, "place"],
  [INTERPRETED_STOP, "stop"],
]);

export class PythonStacks implements Interleaver {
  readonly interpreter = INTERPRETER_PYTHON;
  readonly #files: InterpreterFiles;
  /** Roles of native frames of interpreters and of stops, by number; any other frame is plain. */
  readonly #roles = new Map<number, NativeRole>();
  readonly #words = new Map<number, PythonWord>();
  /** How many stacks could not be paired since the last call of `takeUnpaired`. */
  #unpaired = 0;

  constructor(files: InterpreterFiles) {
    this.#files = files;
  }

  /** Takes in new frames, once their files are known; forgets the frames that nothing refers to any more. */
  ingest({ forgottenFrames }: Drained, frames: NewFrames): void {
    for (const map of [this.#roles, this.#words]) forgetBelow(map, forgottenFrames);
    for (let index = 0; index < frames.length; index++) this.#registerFrame(frames, index);
  }

  #registerFrame(frames: NewFrames, index: number): void {
    const number = frames.first + index;
    if (frames.interpreter(index) === INTERPRETER_PYTHON) {
      const role = ROLES.get(frames.interpretedKind(index));
      if (role)
        this.#words.set(number, { number, role, place: Number(frames.word(index) & 0xffffn) });
      return;
    }
    if (frames.isCode(index)) {
      // Only beside interpreted frames a native frame is ever hidden, and has a mark.
      if (frames.meta(index) === 0) return;
      const evaluates = this.#files.evaluates(frames.file(index), frames.offset(index));
      if (evaluates !== undefined)
        this.#roles.set(number, evaluates ? "evaluation" : "interpreter");
    } else if (frames.isStop(index) && frames.meta(index) === 0) this.#roles.set(number, "stop");
  }

  interleave(native: Uint32Array, own: Uint32Array, outcome: number): readonly MergedFrame[] {
    const natives: NativeFrame[] = [];
    for (const number of native) natives.push({ number, role: this.#roles.get(number) ?? "other" });
    const words: PythonWord[] = [];
    for (const number of own) {
      const word = this.#words.get(number);
      if (word) words.push(word);
    }
    const { frames, unpaired } = interleave(natives, words, outcome === OUTCOME_TRUNCATED);
    if (unpaired) this.#unpaired++;
    return frames;
  }

  takeUnpaired(): number {
    const count = this.#unpaired;
    this.#unpaired = 0;
    return count;
  }
}
