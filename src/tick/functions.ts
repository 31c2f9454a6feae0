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

/** So many functions that left are found again by names of so many characters: an attacker may make thousands a second. */
const MOST_LEFT = { functions: 20_000, characters: 2_000_000 };

/** A function that left, and the id that it had last. */
interface Left {
  readonly info: WeakRef<FunctionInfo>;
  readonly id: number;
}

const keyOf = ({ runtime, name, module }: FunctionInfo): string => `${runtime}\0${module}\0${name}`;

/**
 * Functions at places that are dense from 0, so that arrays by place stay short: the place of one that is forgotten is
 * given to another. The columns of stores name functions by their places, everything else by their ids.
 */
export class Functions {
  readonly #infos: FunctionInfo[] = [];
  /** By the ids that deltas have for them. */
  readonly #places = new Map<number, number>();
  readonly #free: number[] = [];
  /** Places of functions that will come no more under their ids, but may be in stores. */
  readonly #leaving = new Map<number, number>();
  /** By its names each function that left and that somebody may still hold: a sum, a mark. */
  readonly #left = new Map<string, Left>();
  /** The ids that deltas have for functions that came again, by their own. */
  readonly #again = new Map<number, number>();
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

  /** Takes in functions that are new. One that had left is what it was to all who still hold it, its id too. */
  append(infos: readonly FunctionInfo[]): void {
    for (const info of infos) {
      const left = this.#takeLeft(info);
      const place = this.#placeOfLeft(left) ?? this.#free.pop() ?? this.#infos.length;
      const held = left?.info.deref();
      if (held) this.#again.set(held.id, info.id);
      this.#infos[place] = held ?? info;
      this.#places.set(info.id, place);
      if (place === this.#runtimes.length) this.#runtimes = longer(this.#runtimes);
      this.#runtimes[place] = PLACES[info.runtime];
    }
  }

  #takeLeft(info: FunctionInfo): Left | undefined {
    if (this.#left.size === 0) return undefined;
    const key = keyOf(info);
    const left = this.#left.get(key);
    this.#left.delete(key);
    return left;
  }

  /** The place of a function that left, where stores still refer to it. */
  #placeOfLeft(left: Left | undefined): number | undefined {
    const place = left && this.#places.get(left.id);
    if (left === undefined || place === undefined) return undefined;
    this.#leaving.delete(place);
    this.#places.delete(left.id);
    return place;
  }

  /** The place of a function by the id that deltas have for it; what is not there has no frames either. */
  placeOf(id: number): number {
    return this.#places.get(id) ?? NO_FRAMES.id;
  }

  /** The id that deltas have for a function by its own. */
  sentId(id: number): number {
    return this.#again.get(id) ?? id;
  }

  /** The function at a place. */
  info(place: number): FunctionInfo {
    return this.#infos[place] ?? NO_FRAMES;
  }

  /** Says that nothing new will have these ids; the functions stay for as long as something old refers to them. */
  leave(ids: readonly number[]): void {
    for (const id of ids) {
      const place = this.#places.get(id);
      if (place === undefined || place < FIRST_FUNCTION) continue;
      const info = this.info(place);
      this.#leaving.set(place, id);
      this.#left.set(keyOf(info), { info: new WeakRef(info), id });
    }
  }

  /** Whether functions wait for the end of what refers to them. */
  get hasLeaving(): boolean {
    return this.#leaving.size > 0;
  }

  /** Forgets functions that nothing new refers to; `used` is 1 at the places of those that something old does. */
  forget(used: Uint8Array): void {
    for (const [place, id] of this.#leaving) {
      if (used[place] === 1) continue;
      this.#leaving.delete(place);
      this.#places.delete(id);
      this.#again.delete(this.info(place).id);
      this.#infos[place] = NO_FRAMES;
      this.#free.push(place);
    }
    this.#boundLeft();
  }

  #boundLeft(): void {
    let functions = this.#left.size;
    let characters = 0;
    for (const key of this.#left.keys()) characters += key.length;
    // The oldest come first.
    for (const [key, { info }] of this.#left) {
      const isMuch = functions > MOST_LEFT.functions || characters > MOST_LEFT.characters;
      if (!isMuch && info.deref() !== undefined) continue;
      this.#left.delete(key);
      functions--;
      characters -= key.length;
    }
  }
}

function longer(column: Uint8Array): Uint8Array<ArrayBuffer> {
  const made = new Uint8Array(2 * column.length);
  made.set(column);
  return made;
}
