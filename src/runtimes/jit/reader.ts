/** Names code that a process generated itself and that no file holds. */
import { FRAME_ANONYMOUS } from "../../../build/abi.ts";
import type { NewFrames } from "../new-frames.ts";
import type { NamedFrame, RuntimeReader } from "../reader.ts";
import { PerfMaps } from "./perf-map.ts";

/** What stands for the file of such code. */
const MODULE = "[jit]";
/** Naming all anew costs something: the first time soon, then less and less often. */
const FIRST_REST_MILLISECONDS = 1000;
const LONGEST_REST_MILLISECONDS = 8000;

/** Names functions by the maps that JIT compilers may write. */
export class JitReader implements RuntimeReader {
  readonly #maps = new PerfMaps();
  #rest = FIRST_REST_MILLISECONDS;
  #restedFrom = 0;

  symbolize(frames: NewFrames, index: number): NamedFrame | undefined {
    if (frames.kind(index) !== FRAME_ANONYMOUS) return undefined;
    const found = this.#maps.resolve(frames.owner(index), frames.value(index));
    if ("name" in found) return generated(found.name);
    return generated("[generated code]", found.whyUnnamed);
  }

  hasNewNames(): boolean {
    const now = performance.now();
    if (now - this.#restedFrom < this.#rest || !this.#maps.findMissed()) return false;
    this.#restedFrom = now;
    this.#rest = Math.min(2 * this.#rest, LONGEST_REST_MILLISECONDS);
    return true;
  }
}

const generated = (name: string, whyUnnamed?: string): NamedFrame => ({
  function: {
    runtime: "native",
    name,
    module: MODULE,
    ...(whyUnnamed === undefined ? {} : { whyUnnamed }),
  },
});
