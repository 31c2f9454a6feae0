/** Has the source lines of the native function looked up whose detail is open. */

import type { ViewState } from "../model/state.ts";
import type { LineOf, TickSource } from "../tick/source.ts";

/** Looks up what is new with each refresh, one request at a time. */
export class SourceLines {
  readonly #source: TickSource;
  readonly #changed: () => void;
  #wanted: number | undefined;
  /** Of `#wanted`. */
  #why: string | undefined;
  #isAsking = false;
  /** Grows when lines may have become known. */
  version = 0;

  constructor(source: TickSource, changed: () => void) {
    this.#source = source;
    this.#changed = changed;
  }

  /** To be called when the view changed, and when there are new frames. */
  follow({ view, opened }: ViewState): void {
    const wanted = view === "function" ? opened : undefined;
    if (wanted === undefined && this.#wanted === undefined) return;
    if (wanted !== this.#wanted) this.#why = undefined;
    this.#wanted = wanted;
    if (!this.#isAsking) void this.#ask();
  }

  /** Why there are no lines of the function that is open; undefined if there are, or nobody knows yet. */
  get why(): string | undefined {
    return this.#why;
  }

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
