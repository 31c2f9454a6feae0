/** A column of numbers of which only a stretch is kept. */
import { release } from "./numbers.ts";

/** There is room for so many values at least. */
const LEAST = 1024;

/** Numbers by a key that only grows, of which the lowest keys are forgotten from time to time. */
export class SlidingColumn {
  #values = new Uint32Array(LEAST);
  #first = 0;
  #length = 0;

  /** Sets the value of a key; one that is below what is kept is left out. Keys between are 0. */
  set(key: number, value: number): void {
    if (this.#length === 0) this.#first = key;
    const place = key - this.#first;
    if (place < 0) return;
    if (place >= this.#values.length) this.#resize(Math.max(place + 1, 2 * this.#values.length));
    this.#values[place] = value;
    this.#length = Math.max(this.#length, place + 1);
  }

  /** The value of a key; 0 if it has none. */
  get(key: number): number {
    const place = key - this.#first;
    return place >= 0 && place < this.#length ? (this.#values[place] ?? 0) : 0;
  }

  /** The values of all keys that are kept. */
  values(): Uint32Array {
    return this.#values.subarray(0, this.#length);
  }

  /** Sets all values to 0. */
  clear(): void {
    this.#values.fill(0);
  }

  /** Whether there is a lower key. */
  holdsBelow(key: number): boolean {
    return this.#length > 0 && this.#first < key;
  }

  forgetBelow(key: number): void {
    const gone = Math.min(key - this.#first, this.#length);
    if (gone <= 0) return;
    this.#values.copyWithin(0, gone, this.#length);
    this.#values.fill(0, this.#length - gone, this.#length);
    this.#first += gone;
    this.#length -= gone;
    if (this.#values.length > Math.max(LEAST, 4 * this.#length)) this.#resize(2 * this.#length);
  }

  /** Takes room for so many values, the kept ones among them. */
  #resize(room: number): void {
    const values = new Uint32Array(Math.max(room, LEAST));
    values.set(this.#values.subarray(0, this.#length));
    release(this.#values);
    this.#values = values;
  }
}
