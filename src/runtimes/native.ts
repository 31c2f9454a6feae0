/** Names of functions in files: by symbol, else by the start of the enclosing unwind entry. */
import type { SampledFile, Sampler } from "../addon/sampler.ts";
import type { NamedFunction } from "./frames.ts";

/** The base name of a path; an open file that was deleted or is in memory keeps what there is. */
export function moduleName(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1) || path;
}

export class NativeNames {
  readonly #sampler: Pick<Sampler, "name">;
  readonly #files = new Map<number, { readonly module: string; readonly why: string }>();

  constructor(sampler: Pick<Sampler, "name">) {
    this.#sampler = sampler;
  }

  /** Takes in what became known of files; an id may be given to another file later. */
  learn(files: readonly SampledFile[]): void {
    for (const { id, path, why } of files) this.#files.set(id, { module: moduleName(path), why });
  }

  name(id: number, offset: number): NamedFunction {
    const file = this.#files.get(id);
    const module = file?.module ?? "";
    const [name, address] = this.#sampler.name(id, offset);
    if (name !== "") return { runtime: "native", name, module };
    if (address > 0) {
      return {
        runtime: "native",
        name: `${module}+0x${address.toString(16)}`,
        module,
        whyUnnamed: "the file has no symbol for it; this is the start of the function",
      };
    }
    return {
      runtime: "native",
      name: `[${module || "unknown file"}]`,
      module,
      whyUnnamed: file?.why || "the file has neither a symbol nor an unwind entry for this code",
    };
  }
}
