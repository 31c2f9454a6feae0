/**
 * The stacks of a store as who fills it numbers them, and the tree of their frames. A stack branches off from the one
 * that was entered before it, without a look for nodes that others have already: that took a fifth of a drain at 999 Hz
 * beside compilers. Where neighbours have most frames in common, as stacks come from a drain, the tree is little larger.
 */
import type { News } from "./news.ts";
import { grown } from "./numbers.ts";
import { ROOT } from "./store.ts";

const FIRST_DEPTH = 256;
const FIRST_CAPACITY = 1 << 10;

/** Odd factors mix the low bits of what is hashed into the high ones; two hashes are told apart as one of 64 bits. */
const mixLow = (hash: number, value: number): number => {
  const mixed = Math.imul(hash ^ value, 0x9e3779b1);
  return mixed ^ (mixed >>> 15);
};
const mixHigh = (hash: number, value: number): number => {
  const mixed = Math.imul(hash + value + 1, 0x85ebca6b);
  return mixed ^ (mixed >>> 13);
};

/** Numbers by hashes of 64 bits, in the order in which they come. */
class HashNumbers {
  #size = 0;
  /** Open addressing, half of it empty at least: the low half of a hash and its number and 1 in each slot. */
  #slots = new Int32Array(4 * FIRST_CAPACITY);
  /** The high halves by number. */
  #highs = new Int32Array(FIRST_CAPACITY);

  get size(): number {
    return this.#size;
  }

  /** The number of a hash: the next one if it is new. */
  number(low: number, high: number): number {
    const slot = this.#slotOf(low, high);
    const known = this.#slots[slot + 1] ?? 0;
    if (known !== 0) return known - 1;
    const number = this.#size++;
    this.#slots[slot] = low;
    this.#slots[slot + 1] = number + 1;
    this.#highs[number] = high;
    if (this.#size === this.#highs.length) this.#grow();
    return number;
  }

  /** Takes out all; the room stays. */
  clear(): void {
    this.#size = 0;
    this.#slots.fill(0);
  }

  #slotOf(low: number, high: number): number {
    const slots = this.#slots;
    const mask = slots.length - 2;
    for (let slot = (low << 1) & mask; ; slot = (slot + 2) & mask) {
      const number = slots[slot + 1] ?? 0;
      if (number === 0 || (slots[slot] === low && this.#highs[number - 1] === high)) return slot;
    }
  }

  #grow(): void {
    const [slots, highs] = [this.#slots, this.#highs];
    this.#slots = new Int32Array(2 * slots.length);
    this.#highs = new Int32Array(2 * highs.length);
    this.#highs.set(highs);
    for (let at = 0; at < slots.length; at += 2) {
      const number = slots[at + 1] ?? 0;
      if (number === 0) continue;
      const low = slots[at] ?? 0;
      const slot = this.#slotOf(low, highs[number - 1] ?? 0);
      this.#slots[slot] = low;
      this.#slots[slot + 1] = number;
    }
  }
}

/** The columns of a store that it fills. */
type Columns = Readonly<
  Record<"nodeBacks" | "nodeFrames" | "stackLeaves" | "stackOutcomes" | "stackWaits", News>
>;

export class StackNumbers {
  readonly #columns: Columns;
  readonly #numbers = new HashNumbers();
  /** How many nodes there are, the root too. */
  #nodeCount = 1;
  /** By depth of the latest stack with nodes of its own, outermost first: frame, node, and both hashes until there. */
  #depth = 0;
  #frames: Int32Array = new Int32Array(FIRST_DEPTH);
  #nodes: Int32Array = new Int32Array(FIRST_DEPTH);
  #lows: Int32Array = new Int32Array(FIRST_DEPTH);
  #highs: Int32Array = new Int32Array(FIRST_DEPTH);

  constructor(columns: Columns) {
    this.#columns = columns;
  }

  get size(): number {
    return this.#numbers.size;
  }

  get nodeCount(): number {
    return this.#nodeCount;
  }

  /** Begins anew; the room stays. */
  clear(): void {
    this.#numbers.clear();
    this.#nodeCount = 1;
    this.#depth = 0;
  }

  /** The number of a stack: so many frames, leaf first, the place of its outcome in OUTCOMES, and how it waits. */
  number(frames: readonly number[], length: number, outcome: number, wait: number): number {
    const shared = this.#sharedWith(frames, length);
    let low = shared > 0 ? (this.#lows[shared - 1] ?? 0) : 0;
    let high = shared > 0 ? (this.#highs[shared - 1] ?? 0) : 0;
    for (let at = length - 1 - shared; at >= 0; at--) {
      const frame = frames[at] ?? 0;
      low = mixLow(low, frame);
      high = mixHigh(high, frame);
    }
    const next = this.#numbers.size;
    // No frame has a number below 0.
    const number = this.#numbers.number(mixLow(low, ~outcome), mixHigh(high, ~wait));
    if (number < next) return number;
    this.#columns.stackLeaves.push(this.#append(frames, length, shared));
    this.#columns.stackOutcomes.push(outcome);
    this.#columns.stackWaits.push(wait);
    return number;
  }

  /** How many of its outermost frames a stack has in common with the latest one. */
  #sharedWith(frames: readonly number[], length: number): number {
    const own = this.#frames;
    const most = Math.min(length, this.#depth);
    let depth = 0;
    while (depth < most && own[depth] === frames[length - 1 - depth]) depth++;
    return depth;
  }

  /** Makes nodes of the frames that are not shared; returns the innermost one. */
  #append(frames: readonly number[], length: number, shared: number): number {
    if (length > this.#frames.length) this.#reserve(length);
    const { nodeBacks, nodeFrames } = this.#columns;
    const outer = shared - 1;
    let node = shared > 0 ? (this.#nodes[outer] ?? ROOT) : ROOT;
    let low = shared > 0 ? (this.#lows[outer] ?? 0) : 0;
    let high = shared > 0 ? (this.#highs[outer] ?? 0) : 0;
    for (let depth = shared; depth < length; depth++) {
      const frame = frames[length - 1 - depth] ?? 0;
      const child = this.#nodeCount++;
      nodeBacks.push(child - node);
      nodeFrames.push(frame);
      node = child;
      low = mixLow(low, frame);
      high = mixHigh(high, frame);
      this.#frames[depth] = frame;
      this.#nodes[depth] = node;
      this.#lows[depth] = low;
      this.#highs[depth] = high;
    }
    this.#depth = length;
    return node;
  }

  #reserve(depths: number): void {
    this.#frames = grown(this.#frames, depths);
    this.#nodes = grown(this.#nodes, depths);
    this.#lows = grown(this.#lows, depths);
    this.#highs = grown(this.#highs, depths);
  }
}
