/** Finds generated code by address: ranges and names, as a process reports them one after the other. */

import { cleanName } from "../../tick/clean-name.ts";
import { Ranges } from "./ranges.ts";

const SPACE = 32;
const TAB = 9;
/** The limit for ranges that are not hidden by later ones, and those that were not laid over them yet. */
const MAX_ENTRIES = 500_000;
const MAX_NAME_BYTES = 4096;
/** User addresses have 47 bits, or 56 with five-level page tables; doubles are exact up to 2^53. */
const MAX_DIGITS = 13;
const MAX_SIZE = 0xffff_ffff;

/**
 * Ranges of code with names. Later ranges hide earlier ones where they overlap: the memory was used again. An entry
 * takes 24 bytes and its name.
 *
 * What comes is kept in the order of arrival, and laid over what came before when somebody asks. Entries that are
 * hidden altogether are dropped when they are more than the others.
 */
export class CodeMap {
  #full = false;
  /** Offset of a name in `#text`; it ends where the next one begins. */
  #names = new Uint32Array(0);
  #count = 0;
  #text: Buffer = Buffer.alloc(0);
  #textLength = 0;
  #ranges = new Ranges();
  /** Starts and ends of the last entries, which are not laid over the others yet. */
  #waiting: number[] = [];

  clear(): void {
    this.#count = 0;
    this.#textLength = 0;
    this.#full = false;
    this.#ranges = new Ranges();
    this.#waiting = [];
  }

  /** Says whether there were more entries than can be kept; then nothing is found, since later ranges are missing. */
  get full(): boolean {
    return this.#full;
  }

  /** How many entries came since they were laid over the others last. */
  get waiting(): number {
    return this.#waiting.length / 2;
  }

  get memoryBytes(): number {
    return (
      this.#names.byteLength +
      this.#text.byteLength +
      this.#ranges.memoryBytes +
      8 * this.#waiting.length
    );
  }

  /**
   * Takes in the line `start size name` at [from, to) of the bytes, with any blanks before and between; skips a line
   * that is none.
   */
  addLine(bytes: Buffer, from: number, to: number): void {
    const startAt = wordIn(bytes, from, to);
    const startEnd = blankIn(bytes, startAt, to);
    const sizeAt = wordIn(bytes, startEnd, to);
    const sizeEnd = blankIn(bytes, sizeAt, to);
    const nameAt = wordIn(bytes, sizeEnd, to);
    if (nameAt >= to) return;
    const start = hex(bytes, startAt, startEnd);
    const size = hex(bytes, sizeAt, sizeEnd);
    if (start < 0 || size <= 0 || size > MAX_SIZE) return;
    if (this.#count >= MAX_ENTRIES) this.#full = true;
    if (this.#full) return;
    this.#waiting.push(start, start + size);
    this.#addName(bytes.subarray(nameAt, Math.min(to, nameAt + MAX_NAME_BYTES)));
  }

  /** Lays what came since the last time over the rest, and returns its ranges. */
  settle(): Ranges {
    // Nothing of it is ever asked for.
    if (this.#full) return new Ranges();
    const count = this.#waiting.length / 2;
    const added = Ranges.laidOver(this.#count - count, this.#waiting);
    this.#waiting = [];
    this.#ranges = this.#ranges.overlaid(added);
    if (count > 0 && this.#count > 2 * this.#ranges.length) this.#dropHidden();
    return added;
  }

  /** Finds the clean name of what was put at the address last; undefined where nothing is. */
  find(address: number): string | undefined {
    if (this.#full) return undefined;
    if (this.#waiting.length > 0) this.settle();
    const entry = this.#ranges.entryAt(address);
    return entry < 0 ? undefined : cleanName(this.#name(entry));
  }

  #name(entry: number): Uint8Array {
    const end = entry + 1 < this.#count ? this.#names[entry + 1] : this.#textLength;
    return this.#text.subarray(this.#names[entry], end);
  }

  #addName(name: Uint8Array): void {
    if (this.#count === this.#names.length) {
      const longer = new Uint32Array(Math.max(256, Math.ceil(this.#count * 1.5)));
      longer.set(this.#names);
      this.#names = longer;
    }
    if (this.#textLength + name.length > this.#text.length) {
      const larger = Buffer.allocUnsafe(Math.ceil(this.#text.length * 1.5) + name.length + 4096);
      this.#text.copy(larger, 0, 0, this.#textLength);
      this.#text = larger;
    }
    this.#names[this.#count++] = this.#textLength;
    this.#text.set(name, this.#textLength);
    this.#textLength += name.length;
  }

  /** Gives the entries that have a range numbers from 0 on, and frees the names of the others. */
  #dropHidden(): void {
    const isKept = new Uint8Array(this.#count);
    for (const entry of this.#ranges.entries) isKept[entry] = 1;
    const before = { names: this.#names, count: this.#count, text: this.#text };
    const textEnd = this.#textLength;
    this.#names = new Uint32Array(0);
    this.#count = 0;
    this.#text = Buffer.alloc(0);
    this.#textLength = 0;
    const numbers = new Uint32Array(before.count);
    for (let entry = 0; entry < before.count; entry++) {
      if (isKept[entry] === 0) continue;
      numbers[entry] = this.#count;
      const end = entry + 1 < before.count ? before.names[entry + 1] : textEnd;
      this.#addName(before.text.subarray(before.names[entry], end));
    }
    this.#ranges.renumber((entry) => numbers[entry] ?? 0);
  }
}

const isBlank = (byte: number | undefined): boolean => byte === SPACE || byte === TAB;

/** Finds the first blank in [from, to); `to` if there is none. */
function blankIn(bytes: Buffer, from: number, to: number): number {
  let at = from;
  while (at < to && !isBlank(bytes[at])) at++;
  return at;
}

/** Finds the first byte in [from, to) that is no blank; `to` if there is none. */
function wordIn(bytes: Buffer, from: number, to: number): number {
  let at = from;
  while (at < to && isBlank(bytes[at])) at++;
  return at;
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
