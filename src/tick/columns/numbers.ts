/** Columns of numbers, the ground of every table. */
import { ArchivedNumbers } from "./archived-numbers.ts";

/**
 * Gives back the memory of numbers that nobody uses any more. The garbage collector would too, but counts
 * what is outside of its heap as a reason to look through all of it.
 */
export function release({ buffer }: { readonly buffer: ArrayBuffer }): void {
  buffer.transfer(0);
}

/** A copy with room for at least `size`, doubled so that growing is rare. */
export function grown(array: Int32Array, size: number): Int32Array {
  const larger = new Int32Array(Math.max(size, array.length * 2));
  larger.set(array);
  return larger;
}

/**
 * Whole numbers below 2^32 that grow without a copy of the whole each time, outside of the garbage collector's heap.
 * They are a column of a table: the place of a number in it stands for a thing.
 */
export class Numbers {
  #values = new Uint32Array(256);
  /** The length of the array. In code that Maglev compiled, V8 calls a function for it. */
  #capacity = 256;
  #length = 0;
  #archive: ArchivedNumbers | undefined;

  get length(): number {
    return this.#length;
  }

  push(value: number): void {
    if (this.#length === this.#capacity) this.#reserve(1);
    this.#values[this.#length++] = value;
  }

  append(values: Uint32Array): void {
    this.#reserve(values.length);
    this.#values.set(values, this.#length);
    this.#length += values.length;
  }

  /** Adds the values of an array from one index to before another. */
  appendRange(values: Int32Array, start: number, end: number): void {
    this.#reserve(end - start);
    const own = this.#values;
    let length = this.#length;
    for (let at = start; at < end; at++) own[length++] = values[at] ?? 0;
    this.#length = length;
  }

  /** Adds a value so many times. */
  repeat(value: number, count: number): void {
    this.#reserve(count);
    this.#values.fill(value, this.#length, this.#length + count);
    this.#length += count;
  }

  /** Returns a copy of the numbers and begins anew; the capacity stays. */
  take(): Uint32Array<ArrayBuffer> {
    const taken = this.#values.slice(0, this.#length);
    this.#length = 0;
    return taken;
  }

  at(index: number): number {
    return this.values[index] ?? 0;
  }

  /** The array that holds them, maybe longer than there are; it is another one after the next number is added. */
  get values(): Uint32Array {
    return this.#archive?.values() ?? this.#values;
  }

  /** Compresses them; no more can be added. */
  archive(): void {
    if (this.#archive) return;
    this.#archive = new ArchivedNumbers(this.#values.slice(0, this.#length));
    release(this.#values);
    this.#capacity = this.#length;
  }

  /** What is taken, also in advance. */
  get bytes(): number {
    return this.#archive?.bytes ?? this.#values.byteLength;
  }

  #reserve(count: number): void {
    const needed = this.#length + count;
    if (needed <= this.#capacity) return;
    if (this.#archive) throw new Error("numbers in the archive are final");
    this.#capacity = Math.max(needed, this.#capacity * 2);
    const larger = new Uint32Array(this.#capacity);
    larger.set(this.#values);
    release(this.#values);
    this.#values = larger;
  }
}
