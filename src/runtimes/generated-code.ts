/** Names of code that a process generated itself, and that no file holds. */
import type { NamedFunction } from "./frames.ts";
import { PerfMaps } from "./perf-map.ts";

/** What stands for the file of such code. */
const MODULE = "[jit]";

export class GeneratedCodeNames {
  readonly #maps = new PerfMaps();

  /** The function at an address of a process, from the map that its JIT compiler may write. */
  name(pid: number, address: bigint): NamedFunction {
    const found = this.#maps.resolve(pid, address);
    if ("name" in found) return { runtime: "native", name: found.name, module: MODULE };
    const { whyUnnamed } = found;
    return { runtime: "native", name: "[generated code]", module: MODULE, whyUnnamed };
  }
}
