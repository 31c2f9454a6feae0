/** The functions of the kernel by address. */

import type { KernelSymbolColumns } from "../../addon/binding.ts";
import { cleanName } from "../../tick/clean-name.ts";

/** Module of the kernel's own image. */
export const KERNEL = "kernel";
export const BPF = "bpf";

export interface KernelFunction {
  readonly name: string;
  readonly module: string;
}

/** A symbol, and what is known about where it ends. */
export interface FoundFunction {
  /** Undefined where the address lies behind the end of code. */
  readonly function: KernelFunction | undefined;
  /** From the symbol to the address. */
  readonly distance: number;
  /** Nothing of the same module follows: where the function ends is not known. */
  readonly lastOfModule: boolean;
}

/** What kallsyms puts before the name of a function for the padding in front of it. */
const PADDING_PREFIX = "__pfx_";
const NEWLINE = 10;

export class KernelSymbolTable {
  readonly #columns: KernelSymbolColumns;
  /** Those that were asked for, by index of the symbol: a kernel has some thousand hot functions. */
  readonly #read = new Map<number, KernelFunction | undefined>();

  constructor(columns: KernelSymbolColumns) {
    this.#columns = columns;
  }

  /** How many symbols there are, ends of code among them. */
  get size(): number {
    return this.#columns.addresses.length;
  }

  get memoryBytes(): number {
    const { addresses, names, owners, paddings, text } = this.#columns;
    return [addresses, names, owners, paddings, text].reduce((sum, it) => sum + it.byteLength, 0);
  }

  /** The symbol at or before the address, of which `low` is the lower half. */
  find(low: number): FoundFunction | undefined {
    const { addresses, owners } = this.#columns;
    const last = lastAtMost(addresses, low);
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

/** Index of the last element that is at most `value`; -1 if there is none. */
function lastAtMost(sorted: Uint32Array, value: number): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((sorted[middle] ?? 0) <= value) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}
