/** How V8 weighs its own work and memory against those of the program. */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/**
 * Each time takes a thread 30 to 170 ms, and what V8 compiles anew behind it: 0.05 to 0.08 % of a CPU. With 10 minutes
 * between two, a live view on churn held 215 MB after two hours and still grew, with 3 it holds 174.
 */
const COMPACT_MILLISECONDS = 3 * 60_000;
/** No compaction begins so soon after another: who makes ever new names would have it done all the time. */
const LEAST_MILLISECONDS = 60_000;

/** The first picture is on the screen by then, and what runs now is what will run. */
const FIRST_RELEASE_MILLISECONDS = 1500;
const RELEASE_MILLISECONDS = 30_000;
/** To release takes 5 ms, as the kernel walks all of the program's pages for it: not where so little has come since. */
const RELEASED_AT_LEAST_BYTES = 10e6;

let compactedAt = -Infinity;

/** Has V8 optimise functions later (Node.js 22 to 26 know the flags). */
export function compileSparingly(): void {
  // A refresh is done in some milliseconds however it is compiled, and V8's optimising compiler took a fifth of all that
  // polytop cost in its first half minute.
  setFlagsFromString("--efficiency-mode");
  // Maglev, the compiler before it, waits for 2,000 calls instead of 400: most functions of a refresh are called too
  // rarely to win back what compiling them takes. With 6,000 calls a refresh beside compilers costs more.
  setFlagsFromString("--invocation-count-for-maglev=2000");
  setFlagsFromString("--invocation-count-for-maglev-osr=600");
}

/** Gives unused memory back to the system by a call, after the start and from time to time, where that is worth its time. */
export function releaseRegularly(releaseUnusedMemory: () => void): void {
  let left = 0;
  const release = (): void => {
    if (process.memoryUsage.rss() < left + RELEASED_AT_LEAST_BYTES) return;
    releaseUnusedMemory();
    left = process.memoryUsage.rss();
  };
  setTimeout(release, FIRST_RELEASE_MILLISECONDS).unref();
  setInterval(release, RELEASE_MILLISECONDS).unref();
}

/** Compacts the heap every few minutes. */
export function compactRegularly(): void {
  setInterval(compactSoon, COMPACT_MILLISECONDS).unref();
}

/** Compacts the heap behind this turn, unless that was done in the last minute. */
export function compactSoon(): void {
  if (performance.now() - compactedAt < LEAST_MILLISECONDS) return;
  compactedAt = performance.now();
  setImmediate(compact);
}

/**
 * Moves what is in use in the heap together, and gives the rest back to the system. V8 by itself leaves holes where
 * functions and stacks were forgotten: the heap grew for hours by what was never in use at once.
 */
export function compact(): void {
  compactedAt = performance.now();
  setFlagsFromString("--expose-gc");
  // Only a context that is made after that has the function.
  const collect = runInNewContext("gc") as NodeJS.GCFunction;
  // Of this kind alone V8 keeps no empty pages for itself.
  collect({ type: "major", execution: "sync", flavor: "last-resort" });
}
