/** The functions of a source, by their ids: they outlive the stores that refer to them. */
import { PLACES } from "./runtimes.ts";
import type { FunctionInfo } from "./tick.ts";

/** Stands for stacks of which kernel frames are left out and nothing else is there. */
export const KERNEL_ONLY: FunctionInfo = {
  id: 0,
  runtime: "kernel",
  name: "[kernel]",
  module: "kernel",
  whyUnnamed: "kernel frames are left out",
};

/** Stands for stacks without a frame. */
export const NO_FRAMES: FunctionInfo = {
  id: 1,
  runtime: "native",
  name: "[no frames]",
  module: "",
  whyUnnamed: "the stack is empty",
};

/** Functions that every source has; the frames of a store begin with one of each. */
export const STAND_INS: readonly FunctionInfo[] = [KERNEL_ONLY, NO_FRAMES];

/** The id of the first function that a source names itself. */
export const FIRST_FUNCTION = STAND_INS.length;

export class Functions {
  readonly #infos: FunctionInfo[] = [];
  /** For each function the place of its runtime in EVERY_RUNTIME. */
  #runtimes = new Uint8Array(1024);

  constructor() {
    this.append(STAND_INS);
  }

  get length(): number {
    return this.#infos.length;
  }

  /** Places in EVERY_RUNTIME by function id; longer than there are functions. */
  get runtimes(): Uint8Array {
    return this.#runtimes;
  }

  /** Takes in functions whose ids go on from those before. */
  append(infos: readonly FunctionInfo[]): void {
    for (const info of infos) {
      const id = this.#infos.push(info) - 1;
      if (id === this.#runtimes.length) {
        const longer = new Uint8Array(2 * id);
        longer.set(this.#runtimes);
        this.#runtimes = longer;
      }
      this.#runtimes[id] = PLACES[info.runtime];
    }
  }

  /** A function by its id; what is not there has no frames either. */
  info(id: number): FunctionInfo {
    return this.#infos[id] ?? NO_FRAMES;
  }
}
