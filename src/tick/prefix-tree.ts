/**
 * Stacks as a tree from the outermost frame on: what stacks have in common is kept once. A node is a
 * number, higher than its parent's, and takes some 20 bytes.
 */
import { release } from "./columns/numbers.ts";

/** The node that is the parent of outermost frames. */
export const ROOT = 0;

const FIRST_CAPACITY = 1 << 10;

export class PrefixTree {
  #size = 1;
  /** Whole numbers of 32 bits with a sign: V8 reads them faster than those without. */
  #parents = new Int32Array(FIRST_CAPACITY);
  #frames = new Int32Array(FIRST_CAPACITY);
  /** The length of both arrays, as in Numbers. */
  #room = FIRST_CAPACITY;
  /**
   * Open addressing, half of it empty at least: a node and its frame in each slot, since most that are met on the way
   * to a node have another frame. Node 0 is an empty slot, as the root is nobody's child.
   */
  #slots = new Int32Array(4 * FIRST_CAPACITY);
  #slotCount = 4 * FIRST_CAPACITY;

  /** How many nodes there are, the root too: the number that the next one gets. */
  get size(): number {
    return this.#size;
  }

  parentOf(node: number): number {
    return this.#parents[node] ?? ROOT;
  }

  /** Takes out all nodes but the root; the room stays. */
  clear(): void {
    this.#size = 1;
    this.#slots.fill(0);
  }

  /** The frame number of a node. */
  frameOf(node: number): number {
    return this.#frames[node] ?? 0;
  }

  /** The child of a node by its frame, a number of 32 bits with a sign; it is made where there is none yet. */
  child(parent: number, frame: number): number {
    const slot = this.#slotOf(parent, frame);
    const known = this.#slots[slot] ?? 0;
    if (known !== 0) return known;
    const node = this.#size++;
    this.#slots[slot] = node;
    this.#slots[slot + 1] = frame;
    if (node === this.#room) this.#grow();
    this.#parents[node] = parent;
    this.#frames[node] = frame;
    if (4 * this.#size > this.#slotCount) this.#rehash();
    return node;
  }

  #slotOf(parent: number, frame: number): number {
    const slots = this.#slots;
    const mask = this.#slotCount - 2;
    // Odd factors mix the low bits of both into the high ones.
    let hash = Math.imul(parent, 0x9e3779b1) ^ Math.imul(frame + 1, 0x85ebca6b);
    hash ^= hash >>> 15;
    for (let slot = (hash << 1) & mask; ; slot = (slot + 2) & mask) {
      const node = slots[slot] ?? 0;
      if (node === 0 || (slots[slot + 1] === frame && this.#parents[node] === parent)) return slot;
    }
  }

  #grow(): void {
    this.#room *= 2;
    const wider = (from: Int32Array<ArrayBuffer>): Int32Array<ArrayBuffer> => {
      const to = new Int32Array(this.#room);
      to.set(from);
      release(from);
      return to;
    };
    this.#parents = wider(this.#parents);
    this.#frames = wider(this.#frames);
  }

  #rehash(): void {
    this.#slotCount *= 2;
    release(this.#slots);
    this.#slots = new Int32Array(this.#slotCount);
    for (let node = 1; node < this.#size; node++) {
      const frame = this.frameOf(node);
      const slot = this.#slotOf(this.parentOf(node), frame);
      this.#slots[slot] = node;
      this.#slots[slot + 1] = frame;
    }
  }
}
