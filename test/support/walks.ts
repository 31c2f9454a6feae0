/** What the counters of an interpreter's walks add up to. */
import counterFile from "../../bpf/counters.json" with { type: "json" };
import type { CounterName } from "../../build/abi.ts";
import type { Tick } from "../../src/tick/tick.ts";

/** How much a counter grew. */
export const sumMetric = (ticks: readonly Tick[], name: string): number =>
  ticks.reduce((sum, { metrics }) => sum + (metrics[name] ?? 0), 0);

const OUTCOMES = ["complete", "truncated", "error"];

/** Every walk of an interpreter ends in exactly one way; `attempts` counts them. */
export function expectWalkSums(
  ticks: readonly Tick[],
  runtime: string,
  attempts: CounterName,
): void {
  const sum = counterFile.counters
    .filter((it) => it.runtime === runtime && OUTCOMES.includes(it.kind))
    .reduce((all, { name }) => all + sumMetric(ticks, name), 0);
  // A walk under way while the counters are read is in one of them only.
  const difference = Math.abs(sumMetric(ticks, attempts) - sum);
  if (difference > 2) throw new Error(`${difference} walks ended in no way, or in two`);
}
