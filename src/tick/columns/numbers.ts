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
  #length = 0;
  #archive: ArchivedNumbers | undefined;

  get length(): number {
    return this.#length;
  }

  push(value: number): void {
    this.#reserve(1);
    this.#values[this.#length++] = value;
  }

  append(values: Uint32Array): void {
    this.#reserve(values.length);
    this.#values.set(values, this.#length);
    this.#length += values.length;
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
  }

  /** Gives back the memory; nothing can be asked for afterwards. */
  release(): void {
    release(this.#values);
    this.#length = 0;
  }

  /** What is taken, also in advance. */
  get bytes(): number {
    return this.#archive?.bytes ?? this.#values.byteLength;
  }

  #reserve(count: number): void {
    if (this.#archive) throw new Error("numbers in the archive are final");
    const needed = this.#length + count;
    if (needed <= this.#values.length) return;
    const larger = new Uint32Array(Math.max(needed, this.#values.length * 2));
    larger.set(this.#values);
    release(this.#values);
    this.#values = larger;
  }
}
