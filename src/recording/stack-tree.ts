/**
 * Stacks as a tree from the outermost frame on: what stacks have in common is kept once. A node is a
 * number and takes some 20 bytes, so that hours of stacks fit.
 */
const FIRST_CAPACITY = 1 << 10;

export class StackTree {
  /** Node 0 is the root: of no frame. */
  static readonly ROOT = 0;
  #size = 1;
  #parents = new Uint32Array(FIRST_CAPACITY);
  #frames = new Uint32Array(FIRST_CAPACITY);
  /** Open addressing, half of it empty at least; 0 is an empty slot, as the root is nobody's child. */
  #slots = new Uint32Array(2 * FIRST_CAPACITY);

  /** How many nodes there are, the root too: the number that the next one gets. */
  get size(): number {
    return this.#size;
  }

  parentOf(node: number): number {
    return this.#parents[node] ?? 0;
  }

  /** The frame number of a node. */
  frameOf(node: number): number {
    return this.#frames[node] ?? 0;
  }

  /** The child of a node by its frame; 0 if there is none. */
  find(parent: number, frame: number): number {
    return this.#slots[this.#slotOf(parent, frame)] ?? 0;
  }

  /** Adds a child that find() does not know; returns its number. */
  add(parent: number, frame: number): number {
    if (this.#size === this.#parents.length) this.#grow();
    const node = this.#size++;
    this.#parents[node] = parent;
    this.#frames[node] = frame;
    this.#slots[this.#slotOf(parent, frame)] = node;
    return node;
  }

  #slotOf(parent: number, frame: number): number {
    const mask = this.#slots.length - 1;
    // Odd factors that mix the low bits of both into the high ones.
    let hash = Math.imul(parent, 0x9e3779b1) ^ Math.imul(frame + 1, 0x85ebca6b);
    hash ^= hash >>> 15;
    for (let slot = hash & mask; ; slot = (slot + 1) & mask) {
      const node = this.#slots[slot] ?? 0;
      if (node === 0) return slot;
      if (this.#parents[node] === parent && this.#frames[node] === frame) return slot;
    }
  }

  #grow(): void {
    const capacity = 2 * this.#parents.length;
    const wider = (from: Uint32Array<ArrayBuffer>): Uint32Array<ArrayBuffer> => {
      const to = new Uint32Array(capacity);
      to.set(from);
      return to;
    };
    this.#parents = wider(this.#parents);
    this.#frames = wider(this.#frames);
    this.#slots = new Uint32Array(2 * capacity);
    for (let node = 1; node < this.#size; node++) {
      this.#slots[this.#slotOf(this.parentOf(node), this.frameOf(node))] = node;
    }
  }
}
