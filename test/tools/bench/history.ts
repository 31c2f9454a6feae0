/**
 * Memory of ten minutes of history: 200 stacks of 30 frames a second that never come again.
 * Run with the project's Node: node --expose-gc test/tools/bench/history.ts
 */

import { History } from "../../../src/model/history.ts";
import type { FunctionInfo, Tick } from "../../../src/tick/tick.ts";

const SECONDS = 700;
const STACKS = 200;
const FRAMES = 30;

const functions: FunctionInfo[] = Array.from({ length: 5000 }, (_, id) => ({
  id,
  runtime: "native",
  name: `f${id}`,
  module: "m",
}));

function tickAt(second: number): Tick {
  const counts = Array.from({ length: STACKS }, (_, i) => ({
    stack: {
      id: second * STACKS + i,
      outcome: "complete" as const,
      frames: Array.from({ length: FRAMES }, (_, f) => ({
        function: functions[(i * 31 + f * 7 + second * 13) % 5000] as FunctionInfo,
      })),
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
  return {
    time: second * 1000,
    intervalSeconds: 1,
    event: "cpu-clock",
    frequency: 99,
    cpus: 2,
    host: "h",
    pids: [],
    samples: STACKS,
    missed: 0,
    counts,
    metrics: Object.fromEntries(Array.from({ length: 80 }, (_, i) => [`Counter${i}`, i + second])),
    self: { cpuPercent: 0, bpfCpuPercent: 0, rssBytes: 0, bpfNanosecondsPerSample: 0 },
    notices: [],
  };
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
}
const megabytes = (used() - before) / 1e6;
console.log(`${history.length} refreshes: ${megabytes.toFixed(1)} MB (bar: 40 MB)`);
console.log(`longest time to take one: ${longest.toFixed(1)} ms`);
