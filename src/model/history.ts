/** The last minutes of ticks, so that a frozen screen can step back. */
import type { Tick } from "../tick/tick.ts";
import { FrameTable, type PackedTick, Segment } from "./packed-ticks.ts";

/** How much history is kept. */
export interface HistoryLimits {
  readonly seconds: number;
  /** About the memory of what is packed. */
  readonly bytes: number;
}

/** Ten minutes. */
export const HISTORY_LIMITS: HistoryLimits = { seconds: 600, bytes: 24e6 };

/** Ticks younger than this are kept as they came: they are what is looked at. */
const LOOSE_SECONDS = 15;
/** No more counts than this are kept as they came. */
const LOOSE_COUNTS = 30_000;
/** What a segment covers. */
const SEGMENT_SECONDS = 60;
/** Frames of functions that are gone are forgotten with the table, so often. */
const TABLE_SEGMENTS = 10;

type Entry = { readonly time: number } & ({ readonly tick: Tick } | PackedTick);

/** A queue of ticks, oldest first. */
export class History {
  readonly #limits: HistoryLimits;
  #entries: Entry[] = [];
  /** Index of the first entry that is not packed. */
  #loose = 0;
  #looseCounts = 0;
  #segments: Segment[] = [];
  #table = new FrameTable();
  #tableSegments = 0;
  #unpacked: { entry: Entry; tick: Tick }[] = [];

  constructor(limits: HistoryLimits = HISTORY_LIMITS) {
    this.#limits = limits;
  }

  /** Adds the newest tick and forgets what is too old or too much; the newest always stays. */
  push(tick: Tick): void {
    this.#entries.push({ time: tick.time, tick });
    this.#looseCounts += tick.counts.length;
    this.#pack(tick.time);
    this.#forget(tick.time - this.#limits.seconds * 1000);
  }

  #pack(now: number): void {
    while (this.#loose < this.#entries.length - 1) {
      const entry = this.#entries[this.#loose];
      if (!entry || !("tick" in entry)) break;
      const isOld = entry.time < now - LOOSE_SECONDS * 1000;
      if (!isOld && this.#looseCounts <= LOOSE_COUNTS) break;
      const packed = this.#segment(entry.time).add(entry.tick);
      this.#entries[this.#loose++] = { time: entry.time, ...packed };
      this.#looseCounts -= entry.tick.counts.length;
    }
  }

  /** The segment that is filled now. */
  #segment(time: number): Segment {
    const last = this.#segments.at(-1);
    const age = last ? time - last.startTime : 0;
    if (last && age >= 0 && age < SEGMENT_SECONDS * 1000) return last;
    last?.seal();
    if (this.#tableSegments++ >= TABLE_SEGMENTS) {
      this.#table = new FrameTable();
      this.#tableSegments = 0;
    }
    const segment = new Segment(time, this.#table);
    this.#segments.push(segment);
    return segment;
  }

  #forget(oldest: number): void {
    let gone = 0;
    while (gone < this.#entries.length - 1 && (this.#entries[gone]?.time ?? 0) < oldest) gone++;
    let bytes = this.bytes;
    while (bytes > this.#limits.bytes && this.#segments.length > 1) {
      const heaviest = this.#segments.shift();
      bytes -= heaviest?.bytes ?? 0;
      const first = this.#entries.findIndex(
        (one) => !("segment" in one && one.segment === heaviest),
      );
      gone = Math.max(gone, first);
    }
    if (gone === 0) return;
    this.#entries = this.#entries.slice(gone);
    this.#loose = Math.max(0, this.#loose - gone);
    const used = new Set(this.#entries.map((one) => ("segment" in one ? one.segment : undefined)));
    this.#segments = this.#segments.filter((one, i, all) => used.has(one) || i === all.length - 1);
  }

  /** About the memory of what is packed. */
  get bytes(): number {
    return this.#segments.reduce((sum, segment) => sum + segment.bytes, 0);
  }

  get length(): number {
    return this.#entries.length;
  }

  get latest(): Tick | undefined {
    return this.at(this.#entries.length - 1);
  }

  /** The tick at a place, 0 is the oldest; packed ones are made again. */
  at(index: number): Tick | undefined {
    const entry = this.#entries[index];
    if (!entry) return undefined;
    if ("tick" in entry) return entry.tick;
    const kept = this.#unpacked.find((one) => one.entry === entry);
    if (kept) return kept.tick;
    const tick = entry.segment.unpack(entry);
    this.#unpacked = [{ entry, tick }, ...this.#unpacked].slice(0, 3);
    return tick;
  }

  /** Everything of the tick at a place but its counts: does not unpack. */
  headerAt(index: number): Omit<Tick, "counts"> | undefined {
    const entry = this.#entries[index];
    return entry && ("tick" in entry ? entry.tick : entry.header);
  }

  /** How many ticks are not younger than `time`: the place of the first that is. */
  placeAfter(time: number): number {
    let low = 0;
    let high = this.#entries.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#entries[middle]?.time ?? 0) <= time) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** The tick `step` places after (or before) `tick`; the nearest one when that is out of reach. */
  step(tick: Tick, step: number): Tick | undefined {
    const place = this.placeAfter(tick.time) - 1;
    // One that was forgotten is older than all that are left.
    const to = place < 0 ? Math.max(0, step - 1) : place + step;
    return this.at(Math.max(0, Math.min(this.#entries.length - 1, to)));
  }

  /** Ticks of the last `seconds` up to `end`, oldest first; up to now when left out. */
  last(seconds: number, end: Tick | undefined = this.latest): readonly Tick[] {
    if (!end) return [];
    const first = this.placeAfter(end.time - seconds * 1000);
    const ticks: Tick[] = [];
    for (let i = first; i < this.placeAfter(end.time); i++) {
      const tick = this.headerAt(i)?.time === end.time ? end : this.at(i);
      if (tick) ticks.push(tick);
    }
    return ticks.length > 0 ? ticks : [end];
  }
}
