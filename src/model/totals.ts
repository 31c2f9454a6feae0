/** What was counted since the start, or since totals were cleared. */
import type { Tick } from "../tick/tick.ts";
import type { Aggregate } from "./aggregate.ts";

/** Running sums; the only part of the model that changes in place. */
export class Totals {
  #metrics = new Map<string, number>();
  /** Samples since then. */
  samples = 0;
  missed = 0;
  complete = 0;
  guessed = 0;
  seconds = 0;

  /** Adds a tick; `all` is its aggregate without any filter. */
  add(tick: Tick, all: Aggregate): void {
    this.samples += tick.samples;
    this.missed += tick.missed;
    this.complete += all.outcomes.complete;
    this.guessed += all.outcomes.guessed;
    this.seconds += tick.intervalSeconds;
    for (const [name, value] of Object.entries(tick.metrics)) {
      if (value !== 0) this.#metrics.set(name, (this.#metrics.get(name) ?? 0) + value);
    }
  }

  /** Sum of a counter. */
  metric(name: string): number {
    return this.#metrics.get(name) ?? 0;
  }

  /** Starts again from nothing. */
  clear(): void {
    this.#metrics.clear();
    this.samples = 0;
    this.missed = 0;
    this.complete = 0;
    this.guessed = 0;
    this.seconds = 0;
  }
}
