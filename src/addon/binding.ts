/** Loads the addon; no other file does. */
import { createRequire } from "node:module";
import type { Sampler, SamplerOptions } from "./sampler.ts";

/** The functions of the kernel by address, as native/kernel/kernel_symbols.h describes them. */
export interface KernelSymbolColumns {
  /** Lower halves of the addresses, ascending, each once. */
  readonly addresses: Uint32Array;
  /** Where in `text` the name begins; it ends before a line feed. */
  readonly names: Uint32Array;
  /** Index in `modules`; 0: no function begins here, the code before it ends. */
  readonly owners: Uint16Array;
  /** 1: the padding in front of the function of that name. */
  readonly paddings: Uint8Array;
  readonly modules: readonly string[];
  readonly text: Buffer;
}

/** What the addon exports (native/js/addon.cpp). */
export interface Addon {
  readonly Sampler: new (options: SamplerOptions) => Sampler;
  /** Reads /proc/kallsyms; undefined where all addresses are hidden. Throws an error with `code`. */
  readKernelSymbols(path: string): KernelSymbolColumns | undefined;
  /** The folder of the kernel's file system for tracing, mounted for this process if need be. Throws an error with `code`. */
  openTracing(): string;
  /** Gives unused memory of this process back to the system; takes some milliseconds. */
  releaseUnusedMemory(): void;
}

/** Loads the addon that lies beside the bundle. */
export function loadAddon(): Addon {
  return createRequire(import.meta.url)("./polytop.node") as Addon;
}
