/** How far the stacks can be trusted, in words. */
import { RUNTIMES, type Runtime, type Tick } from "../collector/tick.ts";
import type { Aggregate } from "./aggregate.ts";
import { RUNTIME_LABELS } from "./columns.ts";
import { rate, sharePercent } from "./format.ts";

/** What is said about one runtime. */
export interface HealthLine {
  readonly runtime: Runtime;
  readonly text: string;
  /** Below what a working unwinder reaches. */
  readonly poor: boolean;
}

/** Under this share something is wrong that its reader can mend. */
const POOR_BELOW = 0.97;

/** A line for each runtime that was met, e.g. "perl: 99.8 % of 81 stacks/s complete". */
export function healthLines(all: Aggregate): HealthLine[] {
  return RUNTIMES.flatMap((runtime) => {
    const { samples, complete } = all.health[runtime];
    if (samples === 0) return [];
    const perSecond = rate(all.seconds > 0 ? samples / all.seconds : 0);
    const text = `${RUNTIME_LABELS[runtime]}: ${sharePercent(complete, samples)} % of ${perSecond} stacks/s complete`;
    return [{ runtime, text, poor: complete < samples * POOR_BELOW }];
  });
}

/** Part of the CPUs that was busy: 0 to 1; what was missed was busy too. */
export function busyShare(tick: Tick): number {
  const possible = tick.frequency * tick.cpus * tick.intervalSeconds;
  return possible > 0 ? Math.min(1, (tick.samples + tick.missed) / possible) : 0;
}
