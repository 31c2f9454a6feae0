/** Has the frames of the function looked up whose page is open: source lines and bodies. */
import type { FactsOf, TickSource } from "../../tick/source.ts";

/** Looks up what is new with each refresh, one request at a time. */
export class LookedUpFrames {
  readonly #source: TickSource;
  readonly #changed: () => void;
  #wanted: number | undefined;
  /** Why there are no lines of the wanted function. */
  #why: string | undefined;
  #isAsking = false;
  /** Grows when something may have become known. */
  version = 0;

  constructor(source: TickSource, changed: () => void) {
    this.#source = source;
    this.#changed = changed;
  }

  /** Wants the frames of a function, or of none; to be called again when there are new ones. */
  follow(wanted: number | undefined): void {
    if (wanted === undefined && this.#wanted === undefined) return;
    if (wanted !== this.#wanted) this.#why = undefined;
    this.#wanted = wanted;
    if (!this.#isAsking) void this.#ask();
  }

  /** Why there are no lines of the function that is open; undefined if there are, or nobody knows yet. */
  get whyNoLines(): string | undefined {
    return this.#why;
  }

  /** What was looked up of a frame of a store. */
  readonly factsOf: FactsOf = (store, frame) => this.#source.factsOf?.(store, frame);

  async #ask(): Promise<void> {
    const { lookUp } = this.#source;
    if (!lookUp) return;
    this.#isAsking = true;
    const asked = this.#wanted;
    const why = await lookUp.call(this.#source, asked);
    this.#isAsking = false;
    if (asked !== this.#wanted) {
      void this.#ask();
      return;
    }
    this.#why = why;
    this.version++;
    if (asked !== undefined) this.#changed();
  }
}
