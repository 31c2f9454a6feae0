/** Ticks of the built program: what collects alone, without the command line around it. */
import type {
  Collecting,
  CollectingListener,
  CollectingSetup,
} from "../../src/sources/collecting.ts";
import { TickAssembler } from "../../src/tick/delta.ts";
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

/** Begins to collect, without the command line around it; who asks for it closes it. */
export async function beginCollecting(
  { frequency, pids = [], byFunction = false }: Omit<LiveTicksOptions, "seconds">,
  listener: CollectingListener,
): Promise<Collecting> {
  const setup: CollectingSetup = {
    sampler: {
      objectPath: `${dist}polytop.bpf.o`,
      sweepPath: `${dist}wait.bpf.o`,
      event: "cpu",
      frequency,
      targets: pids,
      byFunction,
      cacheFolder: "",
    },
    delaySeconds: 1,
    firstDelaySeconds: 1,
    budgetPercent: 0,
  };
  const { Collecting: Built } = (await import(`${dist}collecting.js`)) as {
    readonly Collecting: typeof Collecting;
  };
  return new Built(setup, listener);
}

/** Samples for a while, and returns its ticks, one a second. */
export async function liveTicks(options: LiveTicksOptions): Promise<Tick[]> {
  const { seconds, samples = 0, pids = [], onReady } = options;
  warm(pids);
  const assembler = new TickAssembler();
  const ticks: Tick[] = [];
  let taken = 0;
  const done = Promise.withResolvers<void>();
  const collecting = await beginCollecting(options, {
    tick: (delta) => {
      const tick = assembler.assemble(delta);
      taken += tick.samples;
      ticks.push(tick);
      if (ticks.length >= (taken < samples ? 6 * seconds : seconds)) done.resolve();
    },
    failed: done.reject,
  });
  try {
    onReady?.();
    await done.promise;
  } finally {
    await collecting.close();
  }
  return ticks;
}
