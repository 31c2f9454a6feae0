/** Names the frames of the kernel. */
import { FRAME_KERNEL } from "../../../build/abi.ts";
import type { Addon } from "../../addon/binding.ts";
import type { NewFrames } from "../new-frames.ts";
import type { NamedFrame, RuntimeReader } from "../reader.ts";
import { KERNEL } from "./kallsyms.ts";
import { KernelSymbols } from "./symbols.ts";

export class KernelReader implements RuntimeReader {
  readonly #symbols: KernelSymbols;

  constructor(addon: Pick<Addon, "readKernelSymbols">) {
    this.#symbols = new KernelSymbols(addon);
  }

  symbolize(frames: NewFrames, index: number): NamedFrame | undefined {
    if (frames.kind(index) !== FRAME_KERNEL) return undefined;
    const found = this.#symbols.resolve(frames.word(index));
    if (found.whyUnnamed === undefined) return { function: { runtime: "kernel", ...found } };
    const { whyUnnamed } = found;
    const name = "[kernel: unknown function]";
    return { function: { runtime: "kernel", name, module: KERNEL, whyUnnamed } };
  }
}
