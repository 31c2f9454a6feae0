/** Says where the JavaScript frames of a stack belong among its native frames. */
import { INTERPRETER_V8, V8_PLACE } from "../../../build/abi.ts";
import type { Drained } from "../../addon/drained.ts";
import { forgetBelow } from "../forget-below.ts";
import type { InterpreterFiles } from "../interpreter-files.ts";
import type { NewFrames } from "../new-frames.ts";
import type { Interleaver, MergedFrame } from "../reader.ts";
import { interleave } from "./interleave.ts";

export class JavaScriptStacks implements Interleaver {
  readonly interpreter = INTERPRETER_V8;
  readonly #files: InterpreterFiles;
  /** Numbers of native frames that are code of an interpreter, and the places that words say. */
  readonly #evaluating = new Map<number, true>();
  readonly #places = new Map<number, number>();

  constructor(files: InterpreterFiles) {
    this.#files = files;
  }

  /** Takes in new frames, once their files are known; forgets the frames that nothing refers to any more. */
  ingest({ forgottenFrames }: Drained, frames: NewFrames): void {
    forgetBelow(this.#evaluating, forgottenFrames);
    forgetBelow(this.#places, forgottenFrames);
    for (let index = 0; index < frames.length; index++) this.#registerFrame(frames, index);
  }

  #registerFrame(frames: NewFrames, index: number): void {
    const number = frames.first + index;
    if (frames.interpreter(index) === INTERPRETER_V8) {
      if (frames.interpretedKind(index) === V8_PLACE)
        this.#places.set(number, Number(frames.word(index) & 0xffffn));
      return;
    }
    // Only beside interpreted frames a native frame is ever hidden, and has a mark.
    if (!frames.isCode(index) || frames.meta(index) === 0) return;
    if (this.#files.evaluates(frames.file(index), frames.offset(index)))
      this.#evaluating.set(number, true);
  }

  interleave(native: Uint32Array, own: Uint32Array): readonly MergedFrame[] {
    const natives = Array.from(native, (number) => ({
      number,
      evaluates: this.#evaluating.has(number),
    }));
    const words = Array.from(own, (number) => {
      const place = this.#places.get(number);
      return place === undefined ? { number } : { number, place };
    });
    return interleave(natives, words);
  }
}
