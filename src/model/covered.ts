/** Sums over a stretch of the history that are kept up to date tick by tick. */
import type { Tick } from "../tick/tick.ts";
import type { History } from "./history.ts";

/** What is summed up. */
export interface Sum {
  add(tick: Tick, sign: 1 | -1): void;
}

/**
 * Keeps a sum over the ticks of (from, to]. New ticks are added at once; old ones, newest first,
 * only as many at a time as keep a key from waiting: until then the sum covers less.
 */
export class Covered<S extends Sum> {
  readonly #make: () => S;
  /** Whether what gets too old is taken out; else only a new start forgets. */
  readonly #slides: boolean;
  #sum: S;
  #ticks: Tick[] = [];
  #first = Number.POSITIVE_INFINITY;
  #last = Number.NEGATIVE_INFINITY;
  /** Time covered. */
  seconds = 0;

  constructor(make: () => S, slides: boolean) {
    this.#make = make;
    this.#slides = slides;
    this.#sum = make();
  }

  get sum(): S {
    return this.#sum;
  }

  /** Forgets everything. */
  reset(): void {
    this.#sum = this.#make();
    this.#ticks = [];
    this.#first = Number.POSITIVE_INFINITY;
    this.#last = Number.NEGATIVE_INFINITY;
    this.seconds = 0;
  }

  /**
   * Moves to the ticks after `from` up to `to`, looking at no more than about `budget` counts of
   * old ticks. Says whether all are in it.
   */
  update(history: History, from: number, to: Tick, budget: number): boolean {
    const isEarlier = to.time < this.#last;
    const isGap = !this.#slides && from > this.#first;
    if (isEarlier || isGap || from >= this.#last) this.reset();
    if (to.time <= from) return true;
    if (this.#last < to.time) this.#forward(history, to);
    if (this.#slides) this.#slide(from);
    return this.#backward(history, from, budget);
  }

  #forward(history: History, to: Tick): void {
    const end = history.placeAfter(to.time);
    // Nothing yet: the newest first, what came before goes by the budget.
    const start =
      this.#last === Number.NEGATIVE_INFINITY ? end - 1 : history.placeAfter(this.#last);
    for (let i = Math.max(0, start); i < end - 1; i++) {
      const tick = history.at(i);
      if (tick) this.#take(tick, "later");
    }
    this.#take(to, "later");
  }

  #take(tick: Tick, where: "later" | "earlier"): void {
    this.#sum.add(tick, 1);
    this.seconds += tick.intervalSeconds;
    if (where === "later") this.#last = tick.time;
    this.#first = Math.min(this.#first, tick.time);
    if (!this.#slides) return;
    if (where === "later") this.#ticks.push(tick);
    else this.#ticks.unshift(tick);
  }

  #slide(from: number): void {
    for (let oldest = this.#ticks[0]; oldest && oldest.time <= from; oldest = this.#ticks[0]) {
      if (this.#ticks.length === 1) break;
      this.#sum.add(oldest, -1);
      this.seconds -= oldest.intervalSeconds;
      this.#ticks.shift();
      this.#first = this.#ticks[0]?.time ?? this.#last;
    }
  }

  #backward(history: History, from: number, budget: number): boolean {
    let left = budget;
    for (let i = history.placeAfter(this.#first - 1) - 1; i >= 0; i--) {
      const time = history.at(i)?.time ?? 0;
      if (time >= this.#first) continue;
      if (time <= from) return true;
      if (left <= 0) return false;
      const tick = history.at(i);
      if (!tick) return true;
      left -= tick.counts.length + 1;
      this.#take(tick, "earlier");
    }
    return true;
  }
}
