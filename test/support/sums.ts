/** Whether what a refresh says adds up. */
import type { Snapshot } from "./profile.ts";

const add = (values: readonly number[]): number => values.reduce((sum, it) => sum + it, 0);

/** What does not add up in a refresh with all its functions; empty: all does. */
export function wrongSums({ samples, stacks, functions, processes }: Snapshot): string {
  const { complete, guessed, truncated, broken } = stacks;
  const sums = {
    stacks: complete + guessed + truncated + broken,
    functions: add(functions.map((it) => it.self)),
    processes: add(processes.map((it) => it.samples)),
  };
  return Object.entries(sums)
    .filter(([, sum]) => sum !== samples)
    .map(([what, sum]) => `${what} ${sum} of ${samples}`)
    .join(", ");
}
