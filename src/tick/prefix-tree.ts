/**
 * Stacks as a tree from the outermost frame on: what stacks have in common is kept once. A node is a
 * number, higher than its parent's, and takes some 20 bytes.
 */
import { release } from "./numbers.ts";
import { ROOT } from "./store.ts";

const FIRST_CAPACITY = 1 << 10;

export class PrefixTree {
  #size = 1;
  #parents = new Uint32Array(FIRST_CAPACITY);
  #frames = new Uint32Array(FIRST_CAPACITY);
  /**
   * Open addressing, half of it empty at least: a node and its frame in each slot, since most that are met on the way
   * to a node have another frame. Node 0 is an empty slot, as the root is nobody's child.
   */
  #slots = new Uint32Array(4 * FIRST_CAPACITY);

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

  /** The child of a node by its frame; it is made where there is none yet. */
  child(parent: number, frame: number): number {
    const slot = this.#slotOf(parent, frame);
    const known = this.#slots[slot] ?? 0;
    if (known !== 0) return known;
    const node = this.#size++;
    this.#slots[slot] = node;
    this.#slots[slot + 1] = frame;
    if (node === this.#parents.length) this.#grow();
    this.#parents[node] = parent;
    this.#frames[node] = frame;
    if (4 * this.#size > this.#slots.length) this.#rehash();
    return node;
  }

  #slotOf(parent: number, frame: number): number {
    const slots = this.#slots;
    const mask = slots.length - 2;
    // Odd factors mix the low bits of both into the high ones.
    let hash = Math.imul(parent, 0x9e3779b1) ^ Math.imul(frame + 1, 0x85ebca6b);
    hash ^= hash >>> 15;
    for (let slot = (hash << 1) & mask; ; slot = (slot + 2) & mask) {
      const node = slots[slot] ?? 0;
      if (node === 0 || (slots[slot + 1] === frame && this.#parents[node] === parent)) return slot;
    }
  }

  #grow(): void {
    const wider = (from: Uint32Array<ArrayBuffer>): Uint32Array<ArrayBuffer> => {
      const to = new Uint32Array(2 * from.length);
      to.set(from);
      release(from);
      return to;
    };
    this.#parents = wider(this.#parents);
    this.#frames = wider(this.#frames);
  }

  #rehash(): void {
    const length = 2 * this.#slots.length;
    release(this.#slots);
    this.#slots = new Uint32Array(length);
    for (let node = 1; node < this.#size; node++) {
      const frame = this.frameOf(node);
      const slot = this.#slotOf(this.parentOf(node), frame);
      this.#slots[slot] = node;
      this.#slots[slot + 1] = frame;
    }
  }
}
