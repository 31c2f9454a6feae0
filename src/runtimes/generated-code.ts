/** Names of code that a process generated itself, and that no file holds. */
import type { NamedFunction } from "./frames.ts";

export class GeneratedCodeNames {
  /** The function at an address of a process. */
  name(_pid: number, _address: bigint): NamedFunction {
    return {
      runtime: "native",
      name: "[generated code]",
      module: "",
      whyUnnamed: "code that the process generated, and of which it says no names",
    };
  }
}
