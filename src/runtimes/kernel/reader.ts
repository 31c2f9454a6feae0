/** Names the frames of the kernel. */
import { FRAME_KERNEL } from "../../../build/abi.ts";
import type { Addon } from "../../addon/binding.ts";
import type { Drained } from "../../addon/drained.ts";
import type { Sampler } from "../../addon/sampler.ts";
import type { NewFrames } from "../new-frames.ts";
import type { NamedFrame, RuntimeReader } from "../reader.ts";
import { KERNEL, type KernelFunction } from "./kallsyms.ts";
import { KernelSymbols } from "./symbols.ts";

/** `function+0x1a/0x50 [module]` */
const TOLD = /^(.+)\+0x[0-9a-f]+\/0x[0-9a-f]+(?: \[(.+)\])?$/;

export class KernelReader implements RuntimeReader {
  readonly #sampler: Pick<Sampler, "nameKernel">;
  readonly #symbols: KernelSymbols;
  /** What the kernel told of the new frames of this drain, by index. */
  readonly #told = new Map<number, KernelFunction>();

  constructor(addon: Pick<Addon, "readKernelSymbols">, sampler: Pick<Sampler, "nameKernel">) {
    this.#sampler = sampler;
    this.#symbols = new KernelSymbols(addon);
  }

  /** Has the kernel name its new frames, all with few calls. */
  ingest(_drained: Drained, frames: NewFrames): void {
    this.#told.clear();
    const indexes: number[] = [];
    for (let index = 0; index < frames.length; index++) {
      if (isOfKernel(frames, index)) indexes.push(index);
    }
    if (indexes.length === 0) return;
    const addresses = BigUint64Array.from(indexes, (index) => frames.word(index));
    for (const [at, text] of this.#sampler.nameKernel(addresses).entries()) {
      const [, name, module = KERNEL] = TOLD.exec(text) ?? [];
      const index = indexes[at];
      if (name === undefined || index === undefined) continue;
      this.#told.set(index, { name, module });
    }
  }

  symbolize(frames: NewFrames, index: number): NamedFrame | undefined {
    if (!isOfKernel(frames, index)) return undefined;
    // What the kernel does not tell, /proc/kallsyms may: trampolines, and everything on an older one.
    const found = this.#told.get(index) ?? this.#symbols.resolve(frames.word(index));
    if (!("whyUnnamed" in found)) return { function: { runtime: "kernel", ...found } };
    const { whyUnnamed } = found;
    const name = "[kernel: unknown function]";
    return { function: { runtime: "kernel", name, module: KERNEL, whyUnnamed } };
  }
}

const isOfKernel = (frames: NewFrames, index: number): boolean =>
  frames.interpreter(index) === 0 && frames.kind(index) === FRAME_KERNEL;
