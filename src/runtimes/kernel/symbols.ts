/** Names kernel functions as /proc/kallsyms does, with the compiler's suffixes. */

import { getSystemErrorName } from "node:util";
import type { Addon } from "../../addon/binding.ts";
import { readText } from "../../machine/read-text.ts";
import { BPF, KERNEL, type KernelFunction, KernelSymbolTable } from "./kallsyms.ts";

/** The name of a kernel address, or the reason why there is none. */
export type KernelName =
  | (KernelFunction & { readonly whyUnnamed?: never })
  | { readonly whyUnnamed: string };

export interface KernelSymbolsOptions {
  readonly kallsyms?: string;
  readonly modules?: string;
  /** Milliseconds, on a clock that does not go back. */
  readonly now?: () => number;
}

const HIGH_HALF = 0xffff_ffffn;
/** Modules, BPF programs and trampolines are above; what is below is the image and never changes. */
const FIRST_LOADED_ADDRESS = 0xa000_0000;

/** kallsyms has no sizes: an address that far behind a symbol belongs to something unknown. */
const MAX_FUNCTION_BYTES = 256 * 1024;
const MAX_LAST_FUNCTION_BYTES = 16 * 1024;

const RELOAD_MILLISECONDS = 60_000;
const MAX_RELOAD_MILLISECONDS = 3_600_000;

const HIDDEN = "kernel addresses are hidden from this user (kernel.kptr_restrict)";
const UNKNOWN = "no function in /proc/kallsyms holds this address";

/** Names kernel addresses; kallsyms is read when the first one is asked for. */
export class KernelSymbols {
  readonly #read: Addon["readKernelSymbols"];
  readonly #kallsyms: string;
  readonly #modulesFile: string;
  readonly #now: () => number;
  #table: KernelSymbolTable | undefined;
  #whyNone: string | undefined;
  #modulesText = "";
  #checkedAt = 0;
  #pause = RELOAD_MILLISECONDS;

  constructor(addon: Pick<Addon, "readKernelSymbols">, options: KernelSymbolsOptions = {}) {
    this.#read = addon.readKernelSymbols;
    this.#kallsyms = options.kallsyms ?? "/proc/kallsyms";
    this.#modulesFile = options.modules ?? "/proc/modules";
    this.#now = options.now ?? (() => performance.now());
  }

  /**
   * Finds the function that holds the address, or why it has no name. Takes some 100 ms the first
   * time and when code was loaded since.
   */
  resolve(address: bigint): KernelName {
    if (this.#table === undefined && this.#whyNone === undefined) this.#load();
    // All of the kernel's code is in the top 2 GB.
    if (address >> 32n !== HIGH_HALF) return { whyUnnamed: this.#whyNone ?? UNKNOWN };
    const low = Number(address & 0xffff_ffffn);
    const found = this.#find(low);
    if (!mayBeStale(low, found) || !this.#reload(low)) return found;
    return this.#find(low);
  }

  /** Bytes of memory that the names take; 0 before their first use. */
  get memoryBytes(): number {
    return this.#table?.memoryBytes ?? 0;
  }

  #find(low: number): KernelName {
    const found = this.#table?.find(low);
    if (found?.function === undefined) return { whyUnnamed: this.#whyNone ?? UNKNOWN };
    const endKnown = found.function.module === KERNEL || !found.lastOfModule;
    const reach = endKnown ? MAX_FUNCTION_BYTES : MAX_LAST_FUNCTION_BYTES;
    return found.distance < reach ? found.function : { whyUnnamed: UNKNOWN };
  }

  /**
   * Reads kallsyms again, at most once a minute, if the list of modules has changed or the address is one
   * of loaded code (BPF programs are in no list). Waits longer each time that this brings nothing new.
   */
  #reload(low: number): boolean {
    const now = this.#now();
    if (now - this.#checkedAt < this.#pause) return false;
    this.#checkedAt = now;
    const sameModules = this.#readModules() === this.#modulesText;
    if (sameModules && low < FIRST_LOADED_ADDRESS) return false;
    const before = this.#table?.size;
    this.#load();
    const isNew = this.#table?.size !== before;
    this.#pause = isNew ? RELOAD_MILLISECONDS : Math.min(this.#pause * 2, MAX_RELOAD_MILLISECONDS);
    return true;
  }

  #readModules(): string {
    return readText(this.#modulesFile, "latin1") ?? "";
  }

  #load(): void {
    this.#checkedAt = this.#now();
    this.#modulesText = this.#readModules();
    try {
      const columns = this.#read(this.#kallsyms);
      this.#table = columns && new KernelSymbolTable(columns);
      this.#whyNone = columns === undefined ? HIDDEN : undefined;
    } catch (error) {
      const { errno } = error as NodeJS.ErrnoException;
      const why = errno ? getSystemErrorName(-Math.abs(errno)) : String(error);
      this.#table = undefined;
      this.#whyNone = `${this.#kallsyms} cannot be read: ${why}`;
    }
  }
}

/**
 * Says whether code that was loaded since may be the answer. A BPF program may have gone and another one come
 * in its place, or between two that are known.
 */
function mayBeStale(low: number, found: KernelName): boolean {
  return found.whyUnnamed !== undefined || (low >= FIRST_LOADED_ADDRESS && found.module === BPF);
}
