/** A map of numbers, outside of the heap. */
import { release } from "./numbers.ts";

/** Slots, a power of two. */
const FIRST_SLOTS = 1 << 8;

/** What is left of a hash of 32 bits behind this shift is one of so many slots. */
const shiftOf = (slots: number): number => Math.clz32(slots) + 1;

/**
 * A map from whole numbers of 32 bits to whole numbers from 0 on, below 2^31 - 1, outside of the garbage collector's
 * heap: a Map of as many takes the collector a walk over all of it. Open addressing, half of it empty at least.
 */
export class NumberMap {
  #size = 0;
  /** For each slot a key, and its value and 1: 0 is an empty slot. */
  #slots = new Int32Array(2 * FIRST_SLOTS);
  /** How many slots there are, less one. */
  #mask = FIRST_SLOTS - 1;
  /** The highest bits of a hash are a slot. */
  #shift = shiftOf(FIRST_SLOTS);

  get size(): number {
    return this.#size;
  }

  /** The value of a key, -1 where it has none. */
  get(key: number): number {
    return (this.#slots[2 * this.#slotOf(key) + 1] ?? 0) - 1;
  }

  set(key: number, value: number): void {
    if (2 * this.#size > this.#mask) this.#grow();
    this.#put(key, value);
  }

  /** Takes a key out, if it is there. */
  delete(key: number): void {
    const slots = this.#slots;
    const mask = this.#mask;
    let empty = this.#slotOf(key);
    if (slots[2 * empty + 1] === 0) return;
    this.#size--;
    // Whatever is behind it up to the next empty slot comes nearer, where that is on its way.
    for (let slot = (empty + 1) & mask; slots[2 * slot + 1] !== 0; slot = (slot + 1) & mask) {
      const first = this.#firstSlot(slots[2 * slot] ?? 0);
      if (((slot - first) & mask) < ((slot - empty) & mask)) continue;
      slots[2 * empty] = slots[2 * slot] ?? 0;
      slots[2 * empty + 1] = slots[2 * slot + 1] ?? 0;
      empty = slot;
    }
    slots[2 * empty + 1] = 0;
  }

  /** Takes all keys out, and gives back the room but for a little. */
  clear(): void {
    release(this.#slots);
    this.#begin(FIRST_SLOTS);
  }

  /** All keys, in no order. */
  keys(): Uint32Array {
    const keys = new Uint32Array(this.#size);
    let count = 0;
    for (let at = 0; at < this.#slots.length; at += 2) {
      if (this.#slots[at + 1] !== 0) keys[count++] = this.#slots[at] ?? 0;
    }
    return keys;
  }

  #put(key: number, value: number): void {
    const at = 2 * this.#slotOf(key);
    if (this.#slots[at + 1] === 0) this.#size++;
    this.#slots[at] = key;
    this.#slots[at + 1] = value + 1;
  }

  /** The slot of a key, or the empty one that it would have. */
  #slotOf(key: number): number {
    const slots = this.#slots;
    const wanted = key | 0;
    const mask = this.#mask;
    let slot = this.#firstSlot(wanted);
    while (slots[2 * slot + 1] !== 0 && slots[2 * slot] !== wanted) slot = (slot + 1) & mask;
    return slot;
  }

  /** Keys that follow each other, as ids do, get slots far apart from each other (Knuth, TAOCP 3, 6.4). */
  #firstSlot(key: number): number {
    return Math.imul(key, 0x9e3779b1) >>> this.#shift;
  }

  #grow(): void {
    const before = this.#slots;
    this.#begin(2 * (this.#mask + 1));
    for (let at = 0; at < before.length; at += 2) {
      const value = before[at + 1] ?? 0;
      if (value !== 0) this.#put(before[at] ?? 0, value - 1);
    }
    release(before);
  }

  #begin(slots: number): void {
    this.#slots = new Int32Array(2 * slots);
    this.#mask = slots - 1;
    this.#shift = shiftOf(slots);
    this.#size = 0;
  }
}
