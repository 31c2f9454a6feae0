/** What polytop is beside its work: a thread that ticks once a second, and a main one that prints what it says. */
import { writeSync } from "node:fs";
import { isMainThread, parentPort, Worker } from "node:worker_threads";

if (isMainThread) {
  const functions = Array.from({ length: 50 }, (_, at) => ({
    runtime: "native",
    name: `function_${at}`,
    module: "libc.so.6",
    self: at * 1.37,
    total: at * 3.3,
    pids: [at],
  }));
  const metrics = Object.fromEntries(Array.from({ length: 90 }, (_, at) => [`Metric${at}`, at]));
  new Worker(new URL(import.meta.url)).on("message", ({ weights }) => {
    for (const [at, row] of functions.entries()) row.self += weights[at] ?? 0;
    writeSync(1, `${JSON.stringify({ functions, metrics })}\n`);
  });
} else {
  let ticks = 0;
  setInterval(() => {
    const weights = Float64Array.from({ length: 500 }, (_, at) => at * ticks);
    ticks++;
    parentPort?.postMessage({ weights });
  }, 1000);
}
