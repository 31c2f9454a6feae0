/**
 * Memory of ten minutes of history: 200 stacks of 30 frames a second that never come again.
 * Run with the project's Node: node --expose-gc test/tools/bench/history.ts
 */
import { setImmediate } from "node:timers/promises";
import { History } from "../../../src/model/history.ts";
import { NO_FRAMES } from "../../../src/tick/functions.ts";
import type { Tick } from "../../../src/tick/tick.ts";
import { functionInfo, makeTick, StoreMaker } from "../../support/ticks.ts";

const SECONDS = 700;
const STACKS = 200;
const FRAMES = 30;

/** So many ticks share a store: a source begins a new one about as often when no stack comes again. */
const TICKS_OF_STORE = 60;

const functions = Array.from({ length: 5000 }, (_, id) =>
  functionInfo({ runtime: "native", name: `f${id}`, module: "m" }),
);
const plain = functions.map((info) => ({ function: info }));
const maker = new StoreMaker();

function tickAt(second: number): Tick {
  const counts = Array.from({ length: STACKS }, (_, i) => ({
    stack: {
      outcome: "complete" as const,
      frames: Array.from(
        { length: FRAMES },
        (_, f) => plain[(i * 31 + f * 7 + second * 13) % 5000] ?? { function: NO_FRAMES },
      ),
    },
    task: {
      pid: 1000 + (i % 50),
      tid: 5000 + i,
      comm: `command ${i}`,
      thread: `thread ${i}`,
      parentPid: 1,
      uid: 0,
      cgroup: String(i),
      startTime: i,
    },
    count: 1,
  }));
  const metrics = Object.fromEntries(
    Array.from({ length: 80 }, (_, i) => [`Counter${i}`, i + second]),
  );
  if (second % TICKS_OF_STORE === 0) maker.renew();
  return makeTick(counts, { time: second * 1000, intervalSeconds: 1, metrics }, maker);
}

const used = (): number => {
  globalThis.gc?.();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
};

const history = new History();
const before = used();
let longest = 0;
for (let second = 0; second < SECONDS; second++) {
  const tick = tickAt(second);
  const start = performance.now();
  history.push(tick);
  longest = Math.max(longest, performance.now() - start);
  // Stores are compressed beside this thread.
  await setImmediate();
}
const megabytes = (used() - before) / 1e6;
console.log(`${history.length} refreshes: ${megabytes.toFixed(1)} MB (bar: 40 MB)`);
console.log(`longest time to take one: ${longest.toFixed(1)} ms`);
