/** Names functions in files: by symbol, else by the start of the unwind entry that holds the code, or by the range without one. */
import type { Drained } from "../../addon/drained.ts";
import type { Sampler } from "../../addon/sampler.ts";
import { cleanName } from "../../tick/clean-name.ts";
import type { NamedFunction, RuntimeReader } from "../reader.ts";
import { Told } from "../told.ts";

/** The base name of a path; an open file that was deleted or is in memory keeps what there is. */
function moduleName(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1) || path;
}

const START = "this is the start of the function";
const NO_SYMBOL = "the file has no symbol for it";
const RANGE = "these are all the functions between two addresses, however many there are";
const NO_ENTRY = "the file has neither a symbol nor an unwind entry for it";

/** Names any code of files: the other readers are asked before it. */
export class NativeReader implements RuntimeReader {
  readonly #sampler: Pick<Sampler, "name">;
  /** What is known of files, by their ids. */
  readonly #files = new Map<number, { readonly module: string; readonly why: string }>();
  readonly #refusals = new Told();

  constructor(sampler: Pick<Sampler, "name">) {
    this.#sampler = sampler;
  }

  ingest({ files }: Drained): void {
    for (const { id, path, why, refusal } of files) {
      this.#files.set(id, { module: moduleName(path), why });
      if (refusal !== "") this.#refusals.tell(`${cleanName(path)} ${refusal}`);
    }
  }

  /** Tells which files take more than a file may take. */
  notices(): string[] {
    return this.#refusals.take();
  }

  symbolizeCode(id: number, offset: number): NamedFunction {
    const { module, why } = this.#files.get(id) ?? { module: "", why: "" };
    const named = this.#sampler.name(id, offset);
    if (typeof named === "string") return { runtime: "native", name: named, module };
    const { address, end, why: whyNotRead } = named;
    if (address > 0) {
      const start = `${module}+0x${address.toString(16)}`;
      const [noSymbol, place] = end > 0 ? [NO_ENTRY, RANGE] : [NO_SYMBOL, START];
      return {
        runtime: "native",
        name: end > 0 ? `${start}-0x${end.toString(16)}` : start,
        module,
        whyUnnamed: `${whyNotRead || noSymbol}; ${place}`,
      };
    }
    return {
      runtime: "native",
      name: `[${module || "unknown file"}]`,
      module,
      whyUnnamed:
        why || whyNotRead || "the file has neither a symbol nor an unwind entry for this code",
    };
  }
}
