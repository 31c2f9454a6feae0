/** Ranges of addresses that do not overlap: which entry of a list each address belongs to. */
import { firstWhere } from "../../tick/binary-search.ts";

/** Ranges by ascending start. They take 20 bytes each. */
export class Ranges {
  #length = 0;
  #starts: Float64Array;
  #ends: Float64Array;
  #entries: Uint32Array;

  /** Makes room for so many. */
  constructor(capacity = 0) {
    this.#starts = new Float64Array(capacity);
    this.#ends = new Float64Array(capacity);
    this.#entries = new Uint32Array(capacity);
  }

  /**
   * Lays entries over each other, the later over the earlier: entry `first + i` has the range from `places[2 * i]` to
   * `places[2 * i + 1]`. Takes time in n log n, however they overlap.
   */
  static laidOver(first: number, places: ArrayLike<number>): Ranges {
    // Where ranges begin and end cuts all of them into cells.
    const edges = distinct(Float64Array.from(places).sort());
    const cellAt = (address: number) =>
      firstWhere(0, edges.length, (i) => (edges[i] ?? 0) >= address);
    const entries = new Int32Array(edges.length).fill(-1);
    const free = new FreeCells(edges.length);
    for (let i = places.length / 2 - 1; i >= 0; i--) {
      const end = cellAt(places[2 * i + 1] ?? 0);
      for (let cell = free.from(cellAt(places[2 * i] ?? 0)); cell < end; cell = free.from(cell)) {
        entries[cell] = first + i;
        free.take(cell);
      }
    }
    const ranges = new Ranges(edges.length);
    for (let cell = 0; cell < edges.length; ) {
      const entry = entries[cell] ?? -1;
      let end = cell + 1;
      while (end < edges.length && entries[end] === entry) end++;
      if (entry >= 0) ranges.#add(edges[cell] ?? 0, edges[end] ?? 0, entry);
      cell = end;
    }
    return ranges;
  }

  get length(): number {
    return this.#length;
  }

  get memoryBytes(): number {
    return this.#starts.byteLength + this.#ends.byteLength + this.#entries.byteLength;
  }

  /** The entry that an address belongs to; -1 if there is none. */
  entryAt(address: number): number {
    const next = firstWhere(0, this.#length, (i) => (this.#starts[i] ?? 0) > address);
    return next > 0 && address < (this.#ends[next - 1] ?? 0) ? (this.#entries[next - 1] ?? -1) : -1;
  }

  /** Entries that have a range, in the order of their addresses; one may come several times. */
  get entries(): Uint32Array {
    return this.#entries.subarray(0, this.#length);
  }

  /** Gives entries other numbers. */
  renumber(numberOf: (entry: number) => number): void {
    for (let i = 0; i < this.#length; i++) this.#entries[i] = numberOf(this.#entries[i] ?? 0);
  }

  /** These ranges with newer ones over them, which hide what they overlap. */
  overlaid(newer: Ranges): Ranges {
    if (newer.#length === 0) return this;
    if (this.#length === 0) return newer;
    // A newer range cuts at most one older one in two.
    const both = new Ranges(this.#length + 2 * newer.#length);
    let at = 0;
    let from = Number.NEGATIVE_INFINITY;
    for (let i = 0; i <= newer.#length; i++) {
      const start = i < newer.#length ? (newer.#starts[i] ?? 0) : Number.POSITIVE_INFINITY;
      for (; at < this.#length && (this.#starts[at] ?? 0) < start; at++) {
        const end = this.#ends[at] ?? 0;
        both.#add(
          Math.max(this.#starts[at] ?? 0, from),
          Math.min(end, start),
          this.#entries[at] ?? 0,
        );
        if (end > start) break;
      }
      if (i === newer.#length) break;
      from = newer.#ends[i] ?? 0;
      both.#add(start, from, newer.#entries[i] ?? 0);
      while (at < this.#length && (this.#ends[at] ?? 0) <= from) at++;
    }
    return both;
  }

  #add(start: number, end: number, entry: number): void {
    if (start >= end) return;
    this.#starts[this.#length] = start;
    this.#ends[this.#length] = end;
    this.#entries[this.#length++] = entry;
  }
}

/** Each of ascending numbers once; in their place. */
function distinct(sorted: Float64Array): Float64Array {
  let count = 0;
  for (const number of sorted) {
    if (count === 0 || number !== sorted[count - 1]) sorted[count++] = number;
  }
  return sorted.subarray(0, count);
}

/** Cells by number, of which more and more are taken. */
class FreeCells {
  /** For each that is taken, one behind it up to which all are taken; for the others themselves. */
  readonly #next: Uint32Array;

  constructor(count: number) {
    this.#next = Uint32Array.from({ length: count + 1 }, (_, cell) => cell);
  }

  take(cell: number): void {
    this.#next[cell] = cell + 1;
  }

  /** The first from a cell on that is free; the number of all cells if none is. */
  from(cell: number): number {
    const next = this.#next;
    let at = cell;
    while (next[at] !== at) {
      // Each search makes the next one shorter.
      next[at] = next[next[at] ?? 0] ?? 0;
      at = next[at] ?? 0;
    }
    return at;
  }
}
