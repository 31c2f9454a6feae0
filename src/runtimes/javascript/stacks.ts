/** Says where the JavaScript frames of a stack belong among its native frames. */
import { INTERPRETER_V8, V8_PLACE } from "../../../build/abi.ts";
import type { Drained, JavaScriptEngine } from "../../addon/drained.ts";
import { forgetBelow } from "../forget-below.ts";
import type { NewFrames } from "../new-frames.ts";
import type { Interleaver, MergedFrame } from "../reader.ts";
import { interleave } from "./interleave.ts";

export class JavaScriptStacks implements Interleaver {
  readonly interpreter = INTERPRETER_V8;
  /** By the id of its file. */
  readonly #engines = new Map<number, JavaScriptEngine>();
  /** Numbers of native frames that are code of an interpreter, and the places that words say. */
  readonly #evaluating = new Map<number, true>();
  readonly #places = new Map<number, number>();

  /** Takes in the engines of files, and new frames; forgets the frames that nothing refers to any more. */
  ingest({ files, forgottenFrames }: Drained, frames: NewFrames): void {
    for (const { id, v8 } of files) {
      if (v8) this.#engines.set(id, v8);
      else this.#engines.delete(id);
    }
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
    const engine = this.#engines.get(frames.file(index));
    const offset = frames.offset(index);
    if (engine?.evaluation.some(([start, end]) => offset >= start && offset < end))
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
