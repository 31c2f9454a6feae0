/** Reads the compact tables of precompiled images: src/coreclr/vm/nativeformatreader.h of .NET 8 to 10. */
import { Unreadable } from "../memory.ts";
import type { Work } from "../work.ts";

const BLOCK = 16;
const MAX_ELEMENTS = 1 << 22;
const MAX_BUCKETS = 1 << 22;
const MAX_NUMBER_BYTES = 5;
/** How many bytes a number has, by its lowest four bits. */
const LENGTHS = Uint8Array.of(1, 2, 1, 3, 1, 2, 1, 4, 1, 2, 1, 3, 1, 2, 1, MAX_NUMBER_BYTES);

export class NativeReader {
  readonly #bytes: Buffer;
  readonly #work: Work;
  /** Where the number ends that unsigned() or signed() read last. */
  next = 0;

  /** Each element that a block may have and each entry that is looked at is taken from `work`. */
  constructor(bytes: Buffer, work: Work) {
    this.#bytes = bytes;
    this.#work = work;
  }

  /** Reads an unsigned number of 1, 2 or 4 bytes. */
  index(at: number, width: number): number {
    const bytes = this.#bytes;
    if (at < 0 || at + width > bytes.length) throw new Unreadable("a table of its image is cut");
    const first = bytes[at] ?? 0;
    if (width === 1) return first;
    const low = ((bytes[at + 1] ?? 0) << 8) | first;
    if (width === 2) return low;
    // A tenth of the time would be readUInt32LE(), which V8 compiles late.
    return (((bytes[at + 3] ?? 0) << 24) | ((bytes[at + 2] ?? 0) << 16) | low) >>> 0;
  }

  /** Reads a number whose low bits say how many bytes it has; `next` is where it ends then. */
  unsigned(at: number): number {
    const bytes = this.#bytes;
    const first = bytes[at] ?? 0;
    const length = LENGTHS[first & 0xf] ?? 1;
    if (at < 0 || at + length > bytes.length) throw new Unreadable("a table of its image is cut");
    this.next = at + length;
    if (length === 1) return first >>> 1;
    const second = bytes[at + 1] ?? 0;
    if (length === 2) return ((second << 8) | first) >>> 2;
    const third = bytes[at + 2] ?? 0;
    if (length === 3) return ((third << 16) | (second << 8) | first) >>> 3;
    const fourth = bytes[at + 3] ?? 0;
    if (length === 4) return ((fourth << 24) | (third << 16) | (second << 8) | first) >>> 4;
    const fifth = bytes[at + 4] ?? 0;
    return ((fifth << 24) | (fourth << 16) | (third << 8) | second) >>> 0;
  }

  /** Reads the like of unsigned(), with a sign. */
  signed(at: number): number {
    const value = this.unsigned(at);
    const length = this.next - at;
    const unused = length < MAX_NUMBER_BYTES ? 32 - 7 * length : 0;
    return (value << unused) >> unused;
  }

  /** Finds the elements of a sparse array: calls `visit` with the index and the place of each. */
  eachElement(visit: (index: number, at: number) => void): void {
    if (this.#bytes.length === 0) return;
    const header = this.unsigned(0);
    const base = this.next;
    const count = Math.min(header >>> 2, MAX_ELEMENTS);
    const width = 1 << (header & 3);
    if (width > 4) throw new Unreadable("a table of its image is damaged");
    for (let first = 0; first < count; first += BLOCK) {
      const root = base + this.index(base + (first / BLOCK) * width, width);
      this.#work.take(BLOCK);
      this.#visitBlock(root, first, BLOCK / 2, count, visit);
    }
  }

  /**
   * Goes through a block, or a part of it: a binary tree over the four bits of the index, the highest first. The leaves
   * are visited from the node above them: a call and a step of work for each were a sixth of the time of all tables.
   */
  #visitBlock(
    at: number,
    first: number,
    bit: number,
    count: number,
    visit: (index: number, at: number) => void,
  ): void {
    const value = this.unsigned(at);
    const next = this.next;
    if ((value & 3) === 0) {
      // A single element is left, whose number in the block is told.
      const index = first - (first % BLOCK) + (value >>> 2);
      if (index >= first && index < Math.min(first + 2 * bit, count)) visit(index, next);
      return;
    }
    const other = at + (value >>> 2);
    if (bit > 1) {
      if (value & 1) this.#visitBlock(next, first, bit >> 1, count, visit);
      if (value & 2) this.#visitBlock(other, first + bit, bit >> 1, count, visit);
      return;
    }
    if (value & 1 && first < count) visit(first, next);
    if (value & 2 && first + 1 < count) visit(first + 1, other);
  }

  /** Finds the entries of a hash table: calls `visit` with the place of each. */
  eachEntry(visit: (at: number) => void): void {
    if (this.#bytes.length === 0) return;
    const header = this.index(0, 1);
    const buckets = 2 ** (header >>> 2);
    const width = 1 << (header & 3);
    if (buckets > MAX_BUCKETS || width > 4) throw new Unreadable("a table of its image is damaged");
    // Buckets must follow each other: so a table is gone through once, whatever it says.
    let last = 0;
    for (let bucket = 0; bucket < buckets; bucket++) {
      this.#work.take(1);
      const start = 1 + this.index(1 + bucket * width, width);
      const end = 1 + this.index(1 + (bucket + 1) * width, width);
      if (start < last || end < start) throw new Unreadable("a table of its image is damaged");
      last = end;
      for (let at = start; at < end; ) {
        this.#work.take(1);
        // An entry has the low byte of its hash, then its distance from here.
        const entry = at + 1 + this.signed(at + 1);
        at = this.next;
        visit(entry);
      }
    }
  }
}
