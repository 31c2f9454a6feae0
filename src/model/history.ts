/** The last minutes of ticks, so that a frozen screen can step back. */
import type { Tick } from "../collector/tick.ts";

/** How much history is kept. */
export interface HistoryLimits {
  readonly seconds: number;
  /** Counts of stacks: what a tick weighs, as stacks and names are shared. */
  readonly weight: number;
}

/** Ten minutes, or about 20 MB. */
export const HISTORY_LIMITS: HistoryLimits = { seconds: 600, weight: 300_000 };

/** What a tick weighs besides its counts: its counters and itself. */
const TICK_WEIGHT = 60;

const weightOf = (tick: Tick): number => tick.counts.length + TICK_WEIGHT;

/** A queue of ticks, oldest first. */
export class History {
  readonly #limits: HistoryLimits;
  #ticks: Tick[] = [];
  #weight = 0;

  constructor(limits: HistoryLimits = HISTORY_LIMITS) {
    this.#limits = limits;
  }

  /** Adds the newest tick and forgets what is too old or too much; the newest always stays. */
  push(tick: Tick): void {
    this.#ticks.push(tick);
    this.#weight += weightOf(tick);
    const oldest = tick.time - this.#limits.seconds * 1000;
    let gone = 0;
    while (gone < this.#ticks.length - 1) {
      const first = this.#ticks[gone];
      if (!first || (first.time >= oldest && this.#weight <= this.#limits.weight)) break;
      this.#weight -= weightOf(first);
      gone++;
    }
    if (gone > 0) this.#ticks = this.#ticks.slice(gone);
  }

  get length(): number {
    return this.#ticks.length;
  }

  get latest(): Tick | undefined {
    return this.#ticks.at(-1);
  }

  /** The tick `step` places after (or before) `tick`; the nearest one when that is out of reach. */
  step(tick: Tick, step: number): Tick | undefined {
    const at = this.#ticks.indexOf(tick);
    // One that was forgotten is older than all that are left.
    const to = at < 0 ? Math.max(0, step - 1) : at + step;
    return this.#ticks[Math.max(0, Math.min(this.#ticks.length - 1, to))];
  }

  /** Ticks of the last `seconds` up to `end`, oldest first; up to now when left out. */
  last(seconds: number, end: Tick | undefined = this.latest): readonly Tick[] {
    if (!end) return [];
    const from = end.time - seconds * 1000;
    const found = this.#ticks.filter((tick) => tick.time > from && tick.time <= end.time);
    return found.length > 0 ? found : [end];
  }
}
