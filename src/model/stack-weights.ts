/** Weights by stack: many threads have the same one, whose frames are looked at once then. */
import type { Counts } from "../tick/tick.ts";
import { grownWeights } from "./count-lists.ts";

/** Adds up what stacks weigh, in an array that is used again. */
export class StackWeights {
  /** By number of a stack; zeros between two uses. */
  #weights = new Float64Array(1024);
  readonly #stacks: number[] = [];

  /** Calls `count` for each stack of some places in counts, with its weight in all of them. */
  each(
    { stacks, weights }: Counts,
    places: Int32Array,
    stackCount: number,
    count: (stack: number, weight: number) => void,
  ): void {
    if (stackCount > this.#weights.length) this.#weights = grownWeights(this.#weights, stackCount);
    for (const place of places) {
      const [stack = 0, weight = 0] = [stacks[place], weights[place]];
      if (weight <= 0) continue;
      const before = this.#weights[stack] ?? 0;
      if (before === 0) this.#stacks.push(stack);
      this.#weights[stack] = before + weight;
    }
    for (const stack of this.#stacks) {
      count(stack, this.#weights[stack] ?? 0);
      this.#weights[stack] = 0;
    }
    this.#stacks.length = 0;
  }
}
