/** Has the source lines of the function looked up whose page is open. */
import type { LineOf, TickSource } from "../../tick/source.ts";

/** Looks up what is new with each refresh, one request at a time. */
export class SourceLines {
  readonly #source: TickSource;
  readonly #changed: () => void;
  #wanted: number | undefined;
  /** Why there are no lines of the wanted function. */
  #why: string | undefined;
  #isAsking = false;
  /** Grows when lines may have become known. */
  version = 0;

  constructor(source: TickSource, changed: () => void) {
    this.#source = source;
    this.#changed = changed;
  }

  /** Wants the lines of a function, or of none; to be called again when there are new frames. */
  follow(wanted: number | undefined): void {
    if (wanted === undefined && this.#wanted === undefined) return;
    if (wanted !== this.#wanted) this.#why = undefined;
    this.#wanted = wanted;
    if (!this.#isAsking) void this.#ask();
  }

  /** Why there are no lines of the function that is open; undefined if there are, or nobody knows yet. */
  get why(): string | undefined {
    return this.#why;
  }

  /** The line of a frame of a store, where it was looked up. */
  readonly of: LineOf = (store, frame) => this.#source.lineOf?.(store, frame);

  async #ask(): Promise<void> {
    const { lookUpLines } = this.#source;
    if (!lookUpLines) return;
    this.#isAsking = true;
    const asked = this.#wanted;
    const why = await lookUpLines.call(this.#source, asked);
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
