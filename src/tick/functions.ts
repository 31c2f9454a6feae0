/** The functions of a source, by their ids: they outlive the stores that refer to them. */
import { NumberMap } from "./columns/number-map.ts";
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

/**
 * Functions at places that are dense from 0, so that arrays by place stay short: the place of one that is forgotten is
 * given to another. The columns of stores name functions by their places, everything else by their ids.
 */
export class Functions {
  readonly #infos: FunctionInfo[] = [];
  /** By the ids that deltas have for them. */
  readonly #places = new NumberMap();
  readonly #free: number[] = [];
  /** Ids of functions that nothing new refers to, but that may be in stores. */
  readonly #leaving = new Set<number>();
  /** For each function the place of its runtime in EVERY_RUNTIME. */
  #runtimes = new Uint8Array(1024);

  constructor() {
    this.append(STAND_INS);
  }

  /** How many places there are. */
  get length(): number {
    return this.#infos.length;
  }

  /** Places in EVERY_RUNTIME by the place of a function; longer than there are functions. */
  get runtimes(): Uint8Array {
    return this.#runtimes;
  }

  /** Takes in functions that are new, or come again after they left. */
  append(infos: readonly FunctionInfo[]): void {
    for (const info of infos) {
      this.#leaving.delete(info.id);
      const known = this.#places.get(info.id);
      const place = known >= 0 ? known : (this.#free.pop() ?? this.#infos.length);
      this.#infos[place] = info;
      this.#places.set(info.id, place);
      if (place === this.#runtimes.length) this.#runtimes = longer(this.#runtimes);
      this.#runtimes[place] = PLACES[info.runtime];
    }
  }

  /** The place of a function by the id that deltas have for it; what is not there has no frames either. */
  placeOf(id: number): number {
    const place = this.#places.get(id);
    return place >= 0 ? place : NO_FRAMES.id;
  }

  /** The function at a place. */
  info(place: number): FunctionInfo {
    return this.#infos[place] ?? NO_FRAMES;
  }

  /**
   * Says that nothing new has these ids until they are appended again; the functions stay for as long as something old
   * refers to them.
   */
  leave(ids: readonly number[]): void {
    for (const id of ids) {
      if (id >= FIRST_FUNCTION && this.#places.get(id) >= 0) this.#leaving.add(id);
    }
  }

  /** Whether functions wait for the end of what refers to them. */
  get hasLeaving(): boolean {
    return this.#leaving.size > 0;
  }

  /** Forgets functions that nothing new refers to; `used` is 1 at the places of those that something old does. */
  forget(used: Uint8Array): void {
    for (const id of this.#leaving) {
      const place = this.placeOf(id);
      if (used[place] === 1) continue;
      this.#leaving.delete(id);
      this.#places.delete(id);
      this.#infos[place] = NO_FRAMES;
      this.#free.push(place);
    }
  }
}

function longer(column: Uint8Array): Uint8Array<ArrayBuffer> {
  const made = new Uint8Array(2 * column.length);
  made.set(column);
  return made;
}
