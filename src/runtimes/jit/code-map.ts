/** Finds generated code by address: ranges and names, as a process reports them one after the other. */

import { cleanName } from "../../tick/clean-name.ts";
import { firstWhere } from "../binary-search.ts";

const SPACE = 32;
const MAX_ENTRIES = 500_000;
/** How far a look-up goes back for a range that began long before: ranges hardly ever nest. */
const MAX_STEPS = 4096;
const MAX_NAME_BYTES = 4096;
/** User addresses have 47 bits, or 56 with five-level page tables; doubles are exact up to 2^53. */
const MAX_DIGITS = 13;
const MAX_SIZE = 0xffff_ffff;

/**
 * Ranges of code with names. Later ranges hide earlier ones where they overlap: the memory was used again. An entry
 * takes 20 bytes and its name.
 *
 * Entries are kept in the order of arrival. An index sorted by start is brought up to date when somebody asks: what
 * came since is sorted by itself and merged.
 */
export class CodeMap {
  #count = 0;
  #full = false;
  #starts = new Float64Array(0);
  #sizes = new Uint32Array(0);
  /** Offset of a name in `#text`; it ends where the next one begins. */
  #names = new Uint32Array(0);
  #text: Buffer = Buffer.alloc(0);
  #textLength = 0;
  /** Entries by start; entries of equal start are in the order of arrival. */
  #order = new Uint32Array(0);
  /** The largest end of the entries `#order[0..i]`, at i: it ends a search that can find nothing more. */
  #reach = new Float64Array(0);

  clear(): void {
    this.#count = 0;
    this.#textLength = 0;
    this.#full = false;
    this.#order = new Uint32Array(0);
    this.#reach = new Float64Array(0);
  }

  /** Says whether there were more entries than can be kept; then nothing is found, since later ranges are missing. */
  get full(): boolean {
    return this.#full;
  }

  get memoryBytes(): number {
    const arrays = this.#starts.byteLength + this.#sizes.byteLength + this.#names.byteLength;
    return arrays + this.#text.byteLength + this.#order.byteLength + this.#reach.byteLength;
  }

  /** Takes in the line `start size name` at [from, to) of the bytes; skips a line that is none. */
  addLine(bytes: Buffer, from: number, to: number): void {
    const firstSpace = spaceIn(bytes, from, to);
    const secondSpace = spaceIn(bytes, firstSpace + 1, to);
    if (secondSpace + 1 >= to) return;
    const start = hex(bytes, from, firstSpace);
    const size = hex(bytes, firstSpace + 1, secondSpace);
    if (start < 0 || size <= 0 || size > MAX_SIZE) return;
    if (this.#count >= MAX_ENTRIES) this.#full = true;
    if (this.#full) return;
    this.#add(
      start,
      size,
      bytes.subarray(secondSpace + 1, Math.min(to, secondSpace + 1 + MAX_NAME_BYTES)),
    );
  }

  /** Finds the clean name of what was put at the address last; undefined where nothing is. */
  find(address: number): string | undefined {
    if (this.#full) return undefined;
    if (this.#order.length !== this.#count) this.#sort();
    const order = this.#order;
    const startsBehind = (i: number) => (this.#starts[order[i] ?? 0] ?? 0) > address;
    const next = firstWhere(0, order.length, startsBehind);
    let best = -1;
    const stop = Math.max(0, next - MAX_STEPS);
    for (let i = next - 1; i >= stop && (this.#reach[i] ?? 0) > address; i--) {
      const entry = order[i] ?? 0;
      if (entry > best && this.#end(entry) > address) best = entry;
    }
    return best < 0 ? undefined : this.#name(best);
  }

  #end(entry: number): number {
    return (this.#starts[entry] ?? 0) + (this.#sizes[entry] ?? 0);
  }

  #name(entry: number): string {
    const end = entry + 1 < this.#count ? this.#names[entry + 1] : this.#textLength;
    return cleanName(this.#text.subarray(this.#names[entry], end));
  }

  #add(start: number, size: number, name: Uint8Array): void {
    if (this.#count === this.#starts.length) {
      const length = Math.max(256, Math.ceil(this.#count * 1.5));
      this.#starts = withLength(new Float64Array(length), this.#starts);
      this.#sizes = withLength(new Uint32Array(length), this.#sizes);
      this.#names = withLength(new Uint32Array(length), this.#names);
    }
    if (this.#textLength + name.length > this.#text.length) {
      const larger = Buffer.allocUnsafe(Math.ceil(this.#text.length * 1.5) + name.length + 4096);
      this.#text.copy(larger, 0, 0, this.#textLength);
      this.#text = larger;
    }
    this.#starts[this.#count] = start;
    this.#sizes[this.#count] = size;
    this.#names[this.#count] = this.#textLength;
    this.#text.set(name, this.#textLength);
    this.#textLength += name.length;
    this.#count++;
  }

  #sort(): void {
    const starts = this.#starts;
    const startOf = (entry: number | undefined) => starts[entry ?? 0] ?? 0;
    const old = this.#order;
    const added = new Uint32Array(this.#count - old.length);
    for (let i = 0; i < added.length; i++) added[i] = old.length + i;
    added.sort((a, b) => startOf(a) - startOf(b) || a - b);

    const order = new Uint32Array(this.#count);
    const reach = new Float64Array(this.#count);
    let fromOld = 0;
    let fromAdded = 0;
    let furthest = 0;
    for (let i = 0; i < order.length; i++) {
      const useOld =
        fromAdded >= added.length ||
        (fromOld < old.length && startOf(old[fromOld]) <= startOf(added[fromAdded]));
      const entry = (useOld ? old[fromOld++] : added[fromAdded++]) ?? 0;
      furthest = Math.max(furthest, this.#end(entry));
      order[i] = entry;
      reach[i] = furthest;
    }
    this.#order = order;
    this.#reach = reach;
  }
}

function withLength<T extends Float64Array | Uint32Array>(larger: T, array: T): T {
  larger.set(array);
  return larger;
}

/** Finds the first space in [from, to); `to` if there is none. */
function spaceIn(bytes: Buffer, from: number, to: number): number {
  let at = from;
  while (at < to && bytes[at] !== SPACE) at++;
  return Math.min(at, to);
}

/** Reads a hexadecimal number with or without 0x; -1 where it is none, or has too many digits. */
function hex(bytes: Buffer, from: number, to: number): number {
  const start = bytes[from] === 48 && bytes[from + 1] === 120 ? from + 2 : from;
  let value = 0;
  let digits = 0;
  for (let i = start; i < to; i++) {
    const byte = bytes[i] ?? 0;
    const lower = byte | 0x20;
    let digit = -1;
    if (byte >= 48 && byte <= 57) digit = byte - 48;
    else if (lower >= 97 && lower <= 102) digit = lower - 87;
    if (digit < 0) return -1;
    value = value * 16 + digit;
    // Leading zeros are no digits of the limit.
    if (value > 0 && ++digits > MAX_DIGITS) return -1;
  }
  return to > start ? value : -1;
}
