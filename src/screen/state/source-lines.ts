/** Has the source lines of the function looked up whose page is open. */
import type { SourceLine, TickSource } from "../../tick/source.ts";
import type { Stack, Tick } from "../../tick/tick.ts";

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

  /** The line of a frame of a stack, where it was looked up. */
  readonly of = (stack: Stack, index: number): SourceLine | undefined =>
    this.#source.lineOf?.(stack, index);

  /** Ticks whose native frames have the lines that are known: what is to be written. */
  written(ticks: readonly Tick[]): Tick[] {
    const stacks = new Map<Stack, Stack>();
    const withLines = (stack: Stack): Stack => {
      const known = stacks.get(stack);
      if (known) return known;
      const frames = stack.frames.map((frame, index) => {
        const found = this.of(stack, index);
        return found ? { ...frame, line: found.line } : frame;
      });
      const isSame = frames.every((frame, i) => frame === stack.frames[i]);
      const { id, outcome } = stack;
      const made = isSame ? stack : { id, frames, outcome };
      stacks.set(stack, made);
      return made;
    };
    return ticks.map((tick) => ({
      ...tick,
      counts: Array.from(tick.counts, (one) => ({ ...one, stack: withLines(one.stack) })),
    }));
  }

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
