/** Names the frames of Perl. */
import { type CounterName, INTERPRETER_PERL } from "../../../build/abi.ts";
import type { Drained } from "../../addon/drained.ts";
import type { NewFrames } from "../new-frames.ts";
import type { NamedFrame, RuntimeReader } from "../reader.ts";
import { PerlNames } from "./names.ts";

export class PerlReader implements RuntimeReader {
  readonly #names = new PerlNames();

  ingest(drained: Drained): void {
    this.#names.ingest(drained);
  }

  symbolize(frames: NewFrames, index: number): NamedFrame | undefined {
    if (frames.interpreter(index) !== INTERPRETER_PERL) return undefined;
    return this.#names.read(frames.word(index), frames.meta(index), frames.line(index));
  }

  notices(metrics: Readonly<Partial<Record<CounterName, number>>>): string[] {
    return this.#names.notices(metrics);
  }
}
