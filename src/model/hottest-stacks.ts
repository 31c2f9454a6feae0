/** The stacks that weigh most of those that each function is in. */
import type { Tick } from "../tick/tick.ts";
import { type Choice, type Shown, selectionOf } from "./selection.ts";

/** A stack as it is shown. */
export interface WeighedStack {
  readonly shown: Shown;
  readonly stack: number;
  readonly weight: number;
}

/** For each function of a tick, by its id, the `most` stacks of greatest weight that it appears in, heaviest first. */
export function hottestStacks(
  tick: Tick,
  choice: Choice,
  most: number,
): ReadonlyMap<number, readonly WeighedStack[]> {
  const weights = new Map<number, WeighedStack>();
  for (const { shown, stack, weight } of selectionOf(choice).counts([tick])) {
    const sum = (weights.get(stack)?.weight ?? 0) + weight;
    weights.set(stack, { shown, stack, weight: sum });
  }
  const found = new Map<number, WeighedStack[]>();
  for (const one of [...weights.values()].sort((a, b) => b.weight - a.weight)) {
    const { store } = one.shown;
    const functions = new Set(one.shown.frames(one.stack).map((it) => store.functionOf(it).id));
    for (const id of functions) {
      const stacks = found.get(id) ?? [];
      if (stacks.length < most) stacks.push(one);
      found.set(id, stacks);
    }
  }
  return found;
}
