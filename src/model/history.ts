/** The last minutes of ticks, so that a frozen screen can step back. */
import { firstWhere } from "../tick/binary-search.ts";
import type { Store } from "../tick/store.ts";
import type { Counts, Tick } from "../tick/tick.ts";
import type { Activity } from "../tick/waits.ts";
import { withFirst } from "./events.ts";
import { ofActivity } from "./waits/activity.ts";

/** How much history is kept. */
export interface HistoryLimits {
  readonly seconds: number;
  /** About the memory of its counts and of what they refer to. */
  readonly bytes: number;
}

/** The history holds ten minutes, where they fit. */
const HISTORY_LIMITS: HistoryLimits = { seconds: 600, bytes: 16e6 };

/**
 * A store is compressed so long after its last tick: what is older is looked at by who steps back that far, while the
 * last ten seconds are added up in each refresh.
 */
const ARCHIVED_AFTER_SECONDS = 20;

/** How the ticks of the history use a store. */
interface StoreUse {
  ticks: number;
  /** Time of the latest one. */
  latest: number;
}

const countBytes = ({ stacks, tasks, weights }: Counts): number =>
  stacks.byteLength + tasks.byteLength + weights.byteLength;

const bytesOf = ({ counts, others = [] }: Tick): number =>
  [counts, ...others].reduce((sum, one) => sum + countBytes(one), 0);

/** A queue of ticks, oldest first. */
export class History {
  readonly #limits: HistoryLimits;
  #ticks: Tick[] = [];
  readonly #stores = new Map<Store, StoreUse>();
  #countBytes = 0;
  #activity: Activity | undefined;
  /** Which of several events its ticks have first; undefined: as they were collected. */
  event: string | undefined;

  constructor(limits: HistoryLimits = HISTORY_LIMITS) {
    this.#limits = limits;
  }

  /**
   * Which threads its ticks are of, as everybody but `recorded` gets them; undefined: those that were asked for when
   * they were collected. What is kept is the same in any case.
   */
  get activity(): Activity | undefined {
    return this.#activity;
  }

  set activity(activity: Activity | undefined) {
    this.#activity = activity;
  }

  #shown(tick: Tick): Tick;
  #shown(tick: Tick | undefined): Tick | undefined;
  #shown(tick: Tick | undefined): Tick | undefined {
    if (!tick) return undefined;
    const found = ofActivity(tick, this.#activity);
    return this.#activity === undefined || this.#activity === "running"
      ? withFirst(found, this.event)
      : found;
  }

  /** Takes the newest tick and forgets what is too old or too much; the newest always stays. */
  push(tick: Tick): void {
    this.#ticks.push(tick);
    const ticks = (this.#stores.get(tick.store)?.ticks ?? 0) + 1;
    this.#stores.set(tick.store, { ticks, latest: tick.time });
    this.#countBytes += bytesOf(tick);
    for (const [store, { latest }] of this.#stores) {
      if (latest < tick.time - ARCHIVED_AFTER_SECONDS * 1000) store.archive();
    }
    this.#forget(tick.time - this.#limits.seconds * 1000);
  }

  #forget(oldest: number): void {
    let gone = 0;
    let bytes = this.bytes;
    for (const tick of this.#ticks.slice(0, -1)) {
      const { time, store } = tick;
      if (time >= oldest && bytes <= this.#limits.bytes) break;
      gone++;
      this.#countBytes -= bytesOf(tick);
      const use = this.#stores.get(store);
      if (use && --use.ticks === 0) this.#stores.delete(store);
      // What a store takes is free when its last tick is forgotten.
      bytes = this.bytes;
    }
    if (gone > 0) this.#ticks = this.#ticks.slice(gone);
  }

  /** About the memory of what is kept. */
  get bytes(): number {
    let bytes = this.#countBytes;
    for (const store of this.#stores.keys()) bytes += store.bytes + store.functionBytes;
    return bytes;
  }

  get length(): number {
    return this.#ticks.length;
  }

  /** The newest tick as it was collected. */
  get collected(): Tick | undefined {
    return this.#ticks.at(-1);
  }

  get latest(): Tick | undefined {
    return this.#shown(this.#ticks.at(-1));
  }

  /** The tick at a place, 0 is the oldest. */
  at(index: number): Tick | undefined {
    return this.#shown(this.#ticks[index]);
  }

  /** How many ticks are not younger than `time`: the place of the first that is. */
  placeAfter(time: number): number {
    const ticks = this.#ticks;
    return firstWhere(0, ticks.length, (index) => (ticks[index]?.time ?? 0) > time);
  }

  /** The tick `step` places after (or before) `tick`; the nearest one when that is out of reach. */
  step(tick: Tick, step: number): Tick | undefined {
    const place = this.placeAfter(tick.time) - 1;
    // A tick that was forgotten is older than all that are left.
    const to = place < 0 ? Math.max(0, step - 1) : place + step;
    return this.at(Math.max(0, Math.min(this.#ticks.length - 1, to)));
  }

  /** Ticks of the last `seconds` up to `end`, oldest first; up to now when left out. */
  last(seconds: number, end: Tick | undefined = this.latest): readonly Tick[] {
    if (!end) return [];
    const ticks = this.recorded(seconds, end).map((tick) => this.#shown(tick));
    return ticks.length > 0 ? ticks : [end];
  }

  /** The ticks of the last `seconds` up to `end` as they were collected. */
  recorded(seconds: number, end: Tick): readonly Tick[] {
    const first = this.placeAfter(end.time - seconds * 1000);
    return this.#ticks.slice(first, this.placeAfter(end.time));
  }
}
