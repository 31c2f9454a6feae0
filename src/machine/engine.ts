/** How V8 weighs its own work and memory against those of the program. */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** Each time takes a thread some 30 ms. */
const COMPACT_MILLISECONDS = 5 * 60_000;

/**
 * Has V8 optimise functions later, and with fewer threads (Node.js 22 to 26 know the flag). A refresh is done in some
 * milliseconds however it is compiled, and V8's optimising compiler took a fifth of all that polytop cost in its first
 * half minute.
 */
export function compileSparingly(): void {
  setFlagsFromString("--efficiency-mode");
}

/** Compacts the heap of the calling thread every few minutes. */
export function compactRegularly(): void {
  setInterval(compact, COMPACT_MILLISECONDS).unref();
}

/**
 * Moves what is in use in the heap of the calling thread together, and gives the rest back to the system. V8 by itself
 * leaves holes where functions and stacks were forgotten: its heaps grew for hours by what was never in use at once.
 */
export function compact(): void {
  setFlagsFromString("--expose-gc");
  // Only a context that is made after that has the function.
  const collect = runInNewContext("gc") as NodeJS.GCFunction;
  setFlagsFromString("--compact-on-every-full-gc");
  collect({ type: "major", execution: "sync" });
  setFlagsFromString("--no-compact-on-every-full-gc");
}
