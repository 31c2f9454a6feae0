/** Says in words how far the stacks can be trusted. */
import type { Tick } from "../tick/tick.ts";

/** Under this share something is wrong that its reader can mend. */
const POOR_BELOW = 0.97;

/** So few stacks say nothing. */
const FEW = 20;

/** Makes a sentence about the stacks of a runtime. */
export function healthWord(complete: number, guessed: number, samples: number): string {
  const rest = samples - complete;
  if (rest === 0) return "all stacks complete";
  if (samples < FEW) return `${rest} of few stacks not complete`;
  if (complete >= samples * 0.995) return "good";
  if (complete >= samples * POOR_BELOW) return "usable: counters below say what is missing";
  if (complete + guessed >= samples * POOR_BELOW) return "partly guessed: callers may be missing";
  return "poor: totals of outer functions are too low; enter on a counter says who";
}

/** Returns which part of the CPUs was busy, from 0 to 1, if weights are samples; what was missed was busy too. */
export function busyShare(tick: Tick): number {
  const possible = tick.frequency * tick.cpus * tick.intervalSeconds;
  return possible > 0 ? Math.min(1, (tick.samples + tick.missed) / possible) : 0;
}
