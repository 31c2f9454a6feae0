/** The functions of the kernel by address. */

import type { KernelSymbolColumns } from "../../addon/binding.ts";
import { firstWhere } from "../../tick/binary-search.ts";
import { cleanName } from "../../tick/clean-name.ts";

/** The module of the kernel's own image. */
export const KERNEL = "kernel";
/** The module of BPF programs. */
export const BPF = "bpf";

export interface KernelFunction {
  readonly name: string;
  readonly module: string;
}

/** A symbol, and what is known about where it ends. */
export interface FoundFunction {
  /** Undefined where the address lies behind the end of code. */
  readonly function: KernelFunction | undefined;
  /** Bytes from the symbol to the address. */
  readonly distance: number;
  /** No symbol of the same module follows, so that the end of the function is not known. */
  readonly lastOfModule: boolean;
}

/** The prefix that kallsyms puts before the name of a function for the padding in front of it. */
const PADDING_PREFIX = "__pfx_";
const NEWLINE = 10;

export class KernelSymbolTable {
  readonly #columns: KernelSymbolColumns;
  /** Functions that were asked for, by index of the symbol: a kernel has some thousand hot ones. */
  readonly #read = new Map<number, KernelFunction | undefined>();

  constructor(columns: KernelSymbolColumns) {
    this.#columns = columns;
  }

  /** The number of symbols; ends of code count too. */
  get size(): number {
    return this.#columns.addresses.length;
  }

  get memoryBytes(): number {
    const { addresses, names, owners, paddings, text } = this.#columns;
    return [addresses, names, owners, paddings, text].reduce((sum, it) => sum + it.byteLength, 0);
  }

  /** Finds the symbol at or before the address whose lower half is `low`. */
  find(low: number): FoundFunction | undefined {
    const { addresses, owners } = this.#columns;
    const last = firstWhere(0, addresses.length, (i) => (addresses[i] ?? 0) > low) - 1;
    const start = addresses[last];
    if (start === undefined) return undefined;
    const lastOfModule = owners[last + 1] !== owners[last];
    let found = this.#read.get(last);
    if (!found) {
      found = this.#function(last);
      this.#read.set(last, found);
    }
    return { function: found, distance: low - start, lastOfModule };
  }

  #function(index: number): KernelFunction | undefined {
    const { names, owners, paddings, modules, text } = this.#columns;
    const owner = owners[index] ?? 0;
    if (owner === 0) return undefined;
    const start = names[index] ?? 0;
    const name = text.subarray(start, text.indexOf(NEWLINE, start));
    return {
      name: cleanName(paddings[index] ? PADDING_PREFIX + cleanName(name) : name),
      module: cleanName(modules[owner] ?? KERNEL),
    };
  }
}
