/** Names of code that a process generated itself, and that no file holds. */
import type { NamedFunction } from "./frames.ts";
import { PerfMaps } from "./perf-map.ts";

/** What stands for the file of such code. */
const MODULE = "[jit]";
/** Naming all anew costs something: the first time soon, then less and less often. */
const FIRST_REST_MILLISECONDS = 1000;
const LONGEST_REST_MILLISECONDS = 8000;

export class GeneratedCodeNames {
  readonly #maps = new PerfMaps();
  #rest = FIRST_REST_MILLISECONDS;
  #restedFrom = 0;

  /** The function at an address of a process, from the map that its JIT compiler may write. */
  name(pid: number, address: bigint): NamedFunction {
    const found = this.#maps.resolve(pid, address);
    if ("name" in found) return { runtime: "native", name: found.name, module: MODULE };
    const { whyUnnamed } = found;
    return { runtime: "native", name: "[generated code]", module: MODULE, whyUnnamed };
  }

  /** Whether code that had no name when it was asked for has one now, and should be named anew. */
  hasNewNames(): boolean {
    const now = performance.now();
    if (now - this.#restedFrom < this.#rest || !this.#maps.findMissed()) return false;
    this.#restedFrom = now;
    this.#rest = Math.min(2 * this.#rest, LONGEST_REST_MILLISECONDS);
    return true;
  }
}
