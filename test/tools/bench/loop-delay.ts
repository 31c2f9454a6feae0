/**
 * Runs inside the program that is measured (`node --import`): how late the events of its main thread
 * come. Starts to count at SIGUSR2, and writes the figures to $LOOP_DELAY_FILE at the end.
 */
import { writeFileSync } from "node:fs";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { isMainThread } from "node:worker_threads";

const RESOLUTION_MS = 5;

const path = process.env.LOOP_DELAY_FILE;
if (isMainThread && path !== undefined) {
  const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  delay.enable();
  process.on("SIGUSR2", () => delay.reset());
  process.on("exit", () => {
    // A timer's own period is in what it measures.
    const toMs = (nanoseconds: number): number => nanoseconds / 1e6 - RESOLUTION_MS;
    const [p99, max] = [toMs(delay.percentile(99)), toMs(delay.max)];
    writeFileSync(path, JSON.stringify({ p99, max }));
  });
}
