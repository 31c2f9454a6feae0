/** Ticks of the built program: its live source alone, without the command line around it. */
import type * as Live from "../../src/sources/live.ts";
import type { Tick } from "../../src/tick/tick.ts";
import { dist } from "./polytop.ts";
import { warm } from "./warm.ts";

export interface LiveTicksOptions {
  readonly seconds: number;
  readonly frequency: number;
  /** Goes on until there are so many, six times as long at most: on a busy machine a program gets less of a CPU. */
  readonly samples?: number;
  /** Only these; every process where it is left out. */
  readonly pids?: readonly number[];
  /** Stacks of the same functions are one. */
  readonly byFunction?: boolean;
  /** Called when sampling has begun. */
  readonly onReady?: () => void;
}

/** Begins to sample, without the command line around it; whoever asks for the source closes it. */
export async function openSource({
  frequency,
  pids = [],
  byFunction = false,
}: Omit<LiveTicksOptions, "seconds">): Promise<Live.LiveSource> {
  const { openLiveSource } = (await import(`${dist}live.js`)) as typeof Live;
  return openLiveSource({
    event: "cpu",
    frequency,
    pids,
    byFunction,
    delaySeconds: 1,
    budgetPercent: 0,
  });
}

/** Samples for a while, and returns its ticks, one a second. */
export async function liveTicks(options: LiveTicksOptions): Promise<Tick[]> {
  const { seconds, samples = 0, pids = [], onReady } = options;
  warm(pids);
  const ticks: Tick[] = [];
  let taken = 0;
  const done = Promise.withResolvers<void>();
  const source = await openSource(options);
  source.subscribe((event) => {
    if (!("tick" in event)) return;
    taken += event.tick.samples;
    ticks.push(event.tick);
    if (ticks.length >= (taken < samples ? 6 * seconds : seconds)) done.resolve();
  });
  source.ended.catch(done.reject);
  try {
    onReady?.();
    await done.promise;
  } finally {
    await source.close();
  }
  return ticks;
}
