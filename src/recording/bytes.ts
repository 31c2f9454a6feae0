/** Numbers and texts as bytes, written and read; ./format.ts says in which form. */
import { FormatError } from "./format.ts";

const TWO_POW_32 = 2 ** 32;
const encoder = new TextEncoder();

/** Bytes that grow. */
export class ByteWriter {
  #bytes = Buffer.alloc(1 << 12);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** A copy of what was written. */
  take(): Buffer {
    const taken = Buffer.from(this.#bytes.subarray(0, this.#length));
    this.#length = 0;
    return taken;
  }

  uint(value: number): void {
    this.#reserve(8);
    let rest = value;
    // Shifts are of 32 bits only.
    while (rest >= TWO_POW_32) {
      this.#bytes[this.#length++] = (rest % 128) | 128;
      rest = Math.floor(rest / 128);
    }
    while (rest > 127) {
      this.#bytes[this.#length++] = (rest & 127) | 128;
      rest >>>= 7;
    }
    this.#bytes[this.#length++] = rest;
  }

  signed(value: number): void {
    this.uint(value >= 0 ? value * 2 : -value * 2 - 1);
  }

  number(value: number): void {
    if (Number.isInteger(value) && value >= 0 && value < 2 ** 52 && !Object.is(value, -0)) {
      this.uint(value * 2);
      return;
    }
    this.uint(1);
    this.#reserve(8);
    this.#bytes.writeDoubleLE(value, this.#length);
    this.#length += 8;
  }

  /** 0 for nothing. */
  maybe(value: number | undefined): void {
    this.uint(value === undefined ? 0 : value + 1);
  }

  text(text: string): void {
    const bytes = encoder.encode(text);
    this.uint(bytes.length);
    this.#reserve(bytes.length);
    this.#bytes.set(bytes, this.#length);
    this.#length += bytes.length;
  }

  #reserve(count: number): void {
    if (this.#length + count <= this.#bytes.length) return;
    const larger = Buffer.alloc(Math.max(this.#bytes.length * 2, this.#length + count));
    larger.set(this.#bytes.subarray(0, this.#length));
    this.#bytes = larger;
  }
}

/** Reads what a ByteWriter wrote; throws a FormatError where it is something else. */
export class ByteReader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#bytes.length;
  }

  uint(): number {
    let value = 0;
    for (let factor = 1; factor < 2 ** 53; factor *= 128) {
      const byte = this.#bytes[this.#at++];
      if (byte === undefined) throw new FormatError("a number is cut off");
      value += (byte & 127) * factor;
      if (byte < 128) {
        if (value > Number.MAX_SAFE_INTEGER) break;
        return value;
      }
    }
    throw new FormatError("a number is too large");
  }

  /** A number below `limit`. */
  below(limit: number, what: string): number {
    const value = this.uint();
    if (value >= limit) throw new FormatError(`there is no ${what} ${value}`);
    return value;
  }

  /** How many follow: each takes a byte at least, so a count cannot ask for more than there is. */
  count(limit: number, what: string): number {
    const value = this.uint();
    if (value > limit || value > this.#bytes.length - this.#at) {
      throw new FormatError(`${value} ${what} are too many`);
    }
    return value;
  }

  signed(): number {
    const value = this.uint();
    return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
  }

  /** A finite number. */
  number(): number {
    const value = this.uint();
    if (value % 2 === 0) return value / 2;
    if (value !== 1 || this.#at + 8 > this.#bytes.length) throw new FormatError("a bad number");
    const read = this.#bytes.readDoubleLE(this.#at);
    this.#at += 8;
    if (!Number.isFinite(read)) throw new FormatError("a number is not finite");
    return read;
  }

  /** Reads a number that must be 0 or more. */
  amount(): number {
    const value = this.number();
    if (value < 0) throw new FormatError("a number is negative");
    return value;
  }

  maybe(limit: number, what: string): number | undefined {
    const value = this.uint();
    if (value > limit) throw new FormatError(`there is no ${what} ${value - 1}`);
    return value === 0 ? undefined : value - 1;
  }

  bytes(limit: number): Buffer {
    const length = this.count(limit, "bytes of a text");
    this.#at += length;
    return this.#bytes.subarray(this.#at - length, this.#at);
  }
}
