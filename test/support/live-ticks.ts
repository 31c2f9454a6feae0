/** Ticks of the built program: its collecting thread alone, without the command line around it. */
import { Worker } from "node:worker_threads";
import type { CollectingReply, CollectingSetup } from "../../src/sources/collecting.ts";
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

/** Samples for a while, and returns its ticks, one a second. */
export async function liveTicks(options: LiveTicksOptions): Promise<Tick[]> {
  const { seconds, frequency, samples = 0, pids = [], byFunction = false, onReady } = options;
  const setup: CollectingSetup = {
    sampler: {
      objectPath: `${dist}polytop.bpf.o`,
      sweepPath: `${dist}wait.bpf.o`,
      event: "cpu",
      frequency,
      drainSeconds: 1,
      targets: pids,
      byFunction,
      cacheFolder: "",
    },
    delaySeconds: 1,
    firstDelaySeconds: 1,
    budgetPercent: 0,
  };
  warm(pids);
  const worker = new Worker(`${dist}worker.js`, { workerData: setup });
  const assembler = new TickAssembler();
  const ticks: Tick[] = [];
  let taken = 0;
  await new Promise<void>((resolve, reject) => {
    worker.on("error", reject);
    worker.on("message", (reply: CollectingReply) => {
      if (reply.kind === "ready") onReady?.();
      if (reply.kind === "failed") reject(new Error(reply.message));
      if (reply.kind === "tick") {
        const tick = assembler.assemble(reply.delta);
        taken += tick.samples;
        ticks.push(tick);
        if (ticks.length >= (taken < samples ? 6 * seconds : seconds)) resolve();
      }
    });
  });
  const exited = new Promise((resolve) => worker.once("exit", resolve));
  worker.postMessage({ kind: "close" });
  await exited;
  return ticks;
}
