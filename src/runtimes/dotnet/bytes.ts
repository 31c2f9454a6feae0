/** Bytes of an image, whole or page by page: of the megabytes of metadata, naming a method needs a few hundred. */
import { Unreadable } from "./memory.ts";

/** Bytes at offsets from 0 on. */
export interface Bytes {
  readonly length: number;
  /** Exactly `size` bytes; throws RangeError behind the end, and what reading them throws. */
  slice(at: number, size: number): Buffer;
  /** The little-endian number of 1, 2 or 4 bytes at an offset; throws as slice() does. */
  number(at: number, size: number): number;
  /**
   * The UTF-8 text from an offset to the next 0, which is among the next `room` bytes; undefined where none is. Throws
   * likewise.
   */
  textUntilZero(at: number, room: number): string | undefined;
}

const PAGE = 4096;

/**
 * Keeps the pages of all images together below a limit. They are of two generations: when the young ones fill half of
 * the room the old ones go, and the young ones are old until they are used again.
 */
export class PageBudget {
  readonly #maxYoung: number;
  readonly #holders = new Set<PagedBytes>();
  #young = 0;

  constructor(maxBytes: number) {
    this.#maxYoung = Math.floor(maxBytes / PAGE / 2);
  }

  /** Makes room for one more young page, which the holder is going to keep. */
  take(holder: PagedBytes): void {
    if (this.#young >= this.#maxYoung) {
      for (const it of this.#holders) {
        if (!it.age()) this.#holders.delete(it);
      }
      this.#young = 0;
    }
    this.#holders.add(holder);
    this.#young++;
  }
}

/** Bytes that are all there. */
export class WholeBytes implements Bytes {
  readonly #bytes: Buffer;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get length(): number {
    return this.#bytes.length;
  }

  slice(at: number, size: number): Buffer {
    check(this, at, size);
    return this.#bytes.subarray(at, at + size);
  }

  number(at: number, size: number): number {
    check(this, at, size);
    return numberIn(this.#bytes, at, size);
  }

  textUntilZero(at: number, room: number): string | undefined {
    check(this, at, room);
    return textIn(this.#bytes, at, at + room);
  }
}

/** Bytes that are read when they are asked for. */
export class PagedBytes implements Bytes {
  readonly length: number;
  readonly #read: (at: number, size: number) => Buffer;
  readonly #budget: PageBudget;
  #young = new Map<number, Buffer>();
  #old = new Map<number, Buffer>();

  /** `read` returns exactly so many bytes at an offset. */
  constructor(length: number, read: (at: number, size: number) => Buffer, budget: PageBudget) {
    this.length = length;
    this.#read = read;
    this.#budget = budget;
  }

  /** Gives the old pages back, and says whether it has others. */
  age(): boolean {
    this.#old = this.#young;
    this.#young = new Map();
    return this.#old.size > 0;
  }

  slice(at: number, size: number): Buffer {
    check(this, at, size);
    const first = Math.floor(at / PAGE);
    const last = Math.floor((at + Math.max(size, 1) - 1) / PAGE);
    const start = at - first * PAGE;
    if (first === last) return this.#page(first).subarray(start, start + size);
    const pages = Array.from({ length: last - first + 1 }, (_, index) => this.#page(first + index));
    return Buffer.concat(pages).subarray(start, start + size);
  }

  /** No part of a page is made for it: a table is searched by numbers of some bytes. */
  number(at: number, size: number): number {
    const start = at % PAGE;
    if (start + size > PAGE) return numberIn(this.slice(at, size), 0, size);
    check(this, at, size);
    return numberIn(this.#page((at - start) / PAGE), start, size);
  }

  /** Most texts are short: the page behind the one in which they begin is not looked at then. */
  textUntilZero(at: number, room: number): string | undefined {
    check(this, at, room);
    const start = at % PAGE;
    const text = textIn(this.#page((at - start) / PAGE), start, Math.min(start + room, PAGE));
    if (text !== undefined || start + room <= PAGE) return text;
    return textIn(this.slice(at, room), 0, room);
  }

  #page(number: number): Buffer {
    const known = this.#young.get(number);
    if (known) return known;
    const at = number * PAGE;
    const page = this.#old.get(number) ?? this.#read(at, Math.min(PAGE, this.length - at));
    this.#budget.take(this);
    this.#young.set(number, page);
    return page;
  }
}

/** Copies words of 32 bits out of bytes, wherever these are. */
export function wordsOf(bytes: Buffer, at: number, count: number): Uint32Array {
  const words = new Uint32Array(count);
  bytes.copy(new Uint8Array(words.buffer), 0, at, at + 4 * count);
  return words;
}

function numberIn(bytes: Buffer, at: number, size: number): number {
  let value = 0;
  for (let i = size - 1; i >= 0; i--) value = value * 256 + (bytes[at + i] ?? 0);
  return value;
}

function textIn(bytes: Buffer, start: number, end: number): string | undefined {
  const zero = bytes.indexOf(0, start);
  return zero < 0 || zero >= end ? undefined : bytes.toString("utf8", start, zero);
}

function check({ length }: Bytes, at: number, size: number): void {
  if (at < 0 || size < 0 || at + size > length) throw new RangeError("behind the end of the bytes");
}

/** Reads the compressed unsigned integers of signatures (section 23.2). */
export class CompressedReader {
  readonly #bytes: Buffer;
  readonly #end: number;
  at: number;

  /** `end` is where the signature ends at the latest. */
  constructor(bytes: Buffer, at: number, end: number) {
    this.#bytes = bytes;
    this.#end = end;
    this.at = at;
  }

  next(): number {
    const first = this.#byte();
    if ((first & 0x80) === 0) return first;
    if ((first & 0x40) === 0) return ((first & 0x3f) << 8) | this.#byte();
    return (
      (((first & 0x1f) << 24) | (this.#byte() << 16) | (this.#byte() << 8) | this.#byte()) >>> 0
    );
  }

  #byte(): number {
    const byte = this.at < this.#end ? this.#bytes[this.at] : undefined;
    if (byte === undefined) throw new Unreadable("a signature is cut");
    this.at++;
    return byte;
  }
}
