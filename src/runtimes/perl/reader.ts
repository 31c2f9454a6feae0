/** Names the frames of Perl, and puts them between the native frames of their stacks. */
import { COUNTER_IDS, type CounterName, INTERPRETER_PERL } from "../../../build/abi.ts";
import type { Drained } from "../../addon/drained.ts";
import type { NewFrames } from "../new-frames.ts";
import type { NamedFrame, RuntimeReader } from "../reader.ts";
import { PerlNames } from "./names.ts";
import { PerlStacks } from "./stacks.ts";

const UNPAIRED = COUNTER_IDS.UnwindPerlUnpaired;

export class PerlReader implements RuntimeReader {
  readonly #names = new PerlNames();
  readonly #stacks = new PerlStacks();
  readonly interleaver = this.#stacks;

  ingest(drained: Drained, frames: NewFrames): void {
    this.#names.ingest(drained);
    this.#stacks.ingest(drained, frames);
  }

  symbolize(frames: NewFrames, index: number): NamedFrame | undefined {
    if (frames.interpreter(index) !== INTERPRETER_PERL) return undefined;
    return this.#names.read(frames.word(index), frames.meta(index), frames.line(index));
  }

  addCounts(counters: Float64Array): void {
    counters[UNPAIRED] = (counters[UNPAIRED] ?? 0) + this.#stacks.takeUnpaired();
  }

  notices(metrics: Readonly<Partial<Record<CounterName, number>>>): string[] {
    return this.#names.notices(metrics);
  }
}
