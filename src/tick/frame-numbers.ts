/** The frames that stacks may refer to, by their numbers: these go upwards without gaps. */

import { codeOf, idOfCode, NO_CODE } from "./function-code.ts";
import { Numbers } from "./numbers.ts";
import type { Frame, FunctionInfo } from "./tick.ts";
import type { WireFrames } from "./wire.ts";

export class FrameNumbers {
  /** By function id: a frame that says nothing more; all addresses of a function share it. */
  readonly plain: Frame[] = [];
  /** By function id: see codeOf. */
  readonly #functionCodes = new Numbers();
  /** By number less `first`: see codeOf; NO_CODE where the frame says more than its function. */
  #codes: Uint32Array = new Uint32Array(1024);
  #first = 0;
  #count = 0;
  /** Frames that say more, by number. */
  readonly #detailed = new Map<number, Frame>();

  /** Takes in functions; ids are from 0 and go on from those before. */
  learn(functions: readonly FunctionInfo[]): void {
    for (const info of functions) {
      this.plain.push({ function: info });
      this.#functionCodes.push(codeOf(info));
    }
  }

  /** Takes in frames, numbered on from `first`. */
  add(first: number, { functions, details }: WireFrames): void {
    if (this.#count === 0) this.#first = first;
    const begin = first - this.#first;
    this.#reserve(begin + functions.length);
    const known = this.#functionCodes.length;
    for (let index = 0; index < functions.length; index++) {
      const id = functions[index] ?? 0;
      if (id >= known) throw new Error(`frame ${first + index} is of an unknown function`);
      this.#codes[begin + index] = this.#functionCodes.at(id);
    }
    for (const [index, detail] of details) {
      const plain = this.plain[functions[index] ?? 0];
      if (!plain) continue;
      this.#codes[begin + index] = NO_CODE;
      this.#detailed.set(first + index, { ...plain, ...detail });
    }
  }

  /** The code of the function, NO_CODE where the frame says more or is not known. */
  code(number: number): number {
    const index = number - this.#first;
    return index >= 0 && index < this.#count ? (this.#codes[index] ?? NO_CODE) : NO_CODE;
  }

  /** The frame; undefined if it is not known. */
  frame(number: number): Frame | undefined {
    const code = this.code(number);
    return code === NO_CODE ? this.#detailed.get(number) : this.plain[idOfCode(code)];
  }

  /** Forgets all with a lower number. */
  forgetBelow(limit: number): void {
    const gone = Math.min(limit - this.#first, this.#count);
    if (gone <= 0) return;
    this.#codes = this.#codes.slice(gone, Math.max(this.#count, gone + 1024));
    this.#first += gone;
    this.#count -= gone;
    // They were put in by ascending numbers.
    for (const number of this.#detailed.keys()) {
      if (number >= limit) break;
      this.#detailed.delete(number);
    }
  }

  /** Makes room for `count` in all; those between are not known. */
  #reserve(count: number): void {
    if (count > this.#codes.length) {
      const larger = new Uint32Array(Math.max(count, this.#codes.length * 2));
      larger.set(this.#codes.subarray(0, this.#count));
      this.#codes = larger;
    }
    this.#codes.fill(NO_CODE, this.#count, count);
    this.#count = Math.max(this.#count, count);
  }
}
