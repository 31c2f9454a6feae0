/**
 * The history lines: the share of a function or process over the last minute, a cell for a few
 * seconds each. The cells stand for fixed buckets of time, so that the line moves only when one
 * is over, and their heights for fixed shares, so that nothing is drawn again because something
 * else got larger.
 */
import type { Tick } from "../tick/tick.ts";
import type { Aggregate } from "./aggregate.ts";
import type { History } from "./history.ts";
import { WeightsById } from "./weights-by-id.ts";

/** Cells of the longest line. */
export const TRAIL_CELLS = 16;

/** A cell never covers less, seconds. */
const CELL_SECONDS = 4;

/** Counts of old ticks that are looked at in one refresh. */
const BUDGET = 3000;

/** Buckets that are kept. */
const KEPT = 3 * TRAIL_CELLS;

/** One bucket of time. */
interface Bucket {
  readonly number: number;
  /** Time of the last tick in it. */
  upTo: number;
  samples: number;
  readonly self: WeightsById;
  readonly total: WeightsById;
  readonly pids: WeightsById;
}

const TRAIL_KINDS = ["self", "total", "pids"] as const;

/** Which of its numbers a line is about. */
export type TrailKind = (typeof TRAIL_KINDS)[number];

/** Keeps the buckets for one choice of what is shown; another choice starts anew. */
export class Trails {
  readonly #history: History;
  readonly #aggregate: (tick: Tick) => Aggregate;
  #buckets = new Map<number, Bucket>();
  #cellMs = CELL_SECONDS * 1000;
  #shown: (Bucket | undefined)[] = [];

  constructor(history: History, aggregate: (tick: Tick) => Aggregate) {
    this.#history = history;
    this.#aggregate = aggregate;
  }

  /** Moves to the minute before a tick. Says whether all of it is known. */
  update(tick: Tick): boolean {
    const cellMs = Math.max(CELL_SECONDS, Math.ceil(tick.intervalSeconds)) * 1000;
    if (cellMs !== this.#cellMs) this.#buckets.clear();
    this.#cellMs = cellMs;
    const last = Math.floor(tick.time / cellMs);
    let left = BUDGET;
    const shown: (Bucket | undefined)[] = [];
    for (let i = 0; i < TRAIL_CELLS; i++) {
      const number = last - i;
      const end = Math.min((number + 1) * cellMs - 1, tick.time);
      if (i === 0 || left > 0) left -= this.#fill(number, end);
      shown.unshift(this.#buckets.get(number));
    }
    this.#shown = shown;
    if (this.#buckets.size > KEPT) this.#forget(last);
    return left > 0;
  }

  /** Fills a bucket up to a time; returns how many counts it looked at. */
  #fill(number: number, end: number): number {
    let bucket = this.#buckets.get(number);
    if (!bucket || bucket.upTo > end) {
      bucket = {
        number,
        upTo: number * this.#cellMs - 1,
        samples: 0,
        self: new WeightsById(),
        total: new WeightsById(),
        pids: new WeightsById(),
      };
      this.#buckets.set(number, bucket);
    }
    if (bucket.upTo === end) return 0;
    let counts = 0;
    const history = this.#history;
    const places = history.placeAfter(end);
    for (let i = history.placeAfter(bucket.upTo); i < places; i++) {
      const tick = history.at(i);
      if (!tick) continue;
      counts += tick.counts.length;
      this.#add(bucket, tick);
    }
    bucket.upTo = end;
    if (end === (number + 1) * this.#cellMs - 1) {
      for (const kind of TRAIL_KINDS) bucket[kind].complete();
    }
    return counts;
  }

  #add(bucket: Bucket, tick: Tick): void {
    const all = this.#aggregate(tick);
    bucket.samples += all.samples;
    const { self, total, pids } = bucket;
    for (const row of all.functions) {
      const { id } = row.function;
      if (row.self > 0) self.add(id, row.self);
      total.add(id, row.total);
    }
    for (const row of all.processes) pids.add(row.pid, row.samples);
  }

  #forget(last: number): void {
    for (const number of this.#buckets.keys()) {
      if (number > last || number <= last - 2 * TRAIL_CELLS) this.#buckets.delete(number);
    }
  }

  /** Shares of the last `cells` buckets, in percent. */
  shares(kind: TrailKind, id: number, cells: number): (number | undefined)[] {
    return this.#shown
      .slice(-cells)
      .map((one) => (one && one.samples > 0 ? (100 * one[kind].of(id)) / one.samples : undefined));
  }
}
