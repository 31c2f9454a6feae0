/**
 * The stacks of a store as who fills it numbers them, and the tree of their frames. A stack branches off from the one
 * that was entered before it, without a look for nodes that others have already: that took a fifth of a drain at 999 Hz
 * beside compilers. Where neighbours have most frames in common, as stacks come from a drain, the tree is little larger.
 */
import { grown, type Numbers } from "./columns/numbers.ts";
import { PrefixTree, ROOT } from "./prefix-tree.ts";

const FIRST_DEPTH = 256;

/** Odd factors mix the low bits of what is hashed into the high ones; two hashes are told apart as one of 64 bits. */
const mixLow = (hash: number, value: number): number => {
  const mixed = Math.imul(hash ^ value, 0x9e3779b1);
  return mixed ^ (mixed >>> 15);
};
const mixHigh = (hash: number, value: number): number => {
  const mixed = Math.imul(hash + value + 1, 0x85ebca6b);
  return mixed ^ (mixed >>> 13);
};

/** The columns of a store that it fills. */
type Columns = Readonly<
  Record<"nodeBacks" | "nodeFrames" | "stackLeaves" | "stackOutcomes" | "stackWaits", Numbers>
>;

export class StackNumbers {
  #columns: Columns;
  /** The number of a stack and 1 by both of its hashes: pairs of numbers, as those of a tree are. */
  readonly #numbers = new PrefixTree();
  /** How many nodes there are, the root too. */
  #nodeCount = 1;
  /** By depth of the latest stack, outermost first: frame, both hashes until there, and node, as far as there are nodes. */
  #length = 0;
  #depth = 0;
  #frames: Int32Array = new Int32Array(FIRST_DEPTH);
  #nodes: Int32Array = new Int32Array(FIRST_DEPTH);
  #lows: Int32Array = new Int32Array(FIRST_DEPTH);
  #highs: Int32Array = new Int32Array(FIRST_DEPTH);

  constructor(columns: Columns) {
    this.#columns = columns;
  }

  get size(): number {
    return this.#numbers.size - 1;
  }

  /** Begins anew in the columns of another store; the capacity stays. */
  renew(columns: Columns): void {
    this.#columns = columns;
    this.#numbers.clear();
    this.#nodeCount = 1;
    this.#length = 0;
    this.#depth = 0;
  }

  /**
   * The number of a stack: so many frames, leaf first, the place of its outcome in OUTCOMES, and how it waits. The
   * outermost `known` frames are those of the latest stack, and are not read.
   */
  number(
    frames: readonly number[],
    length: number,
    outcome: number,
    wait: number,
    known = 0,
  ): number {
    const shared = this.#sharedWith(frames, length, known);
    this.#follow(frames, length, shared);
    const low = length > 0 ? (this.#lows[length - 1] ?? 0) : 0;
    const high = length > 0 ? (this.#highs[length - 1] ?? 0) : 0;
    const next = this.size;
    // No frame has a number below 0.
    const number = this.#numbers.child(mixLow(low, ~outcome), mixHigh(high, ~wait)) - 1;
    if (number < next) return number;
    this.#columns.stackLeaves.push(this.#append(length));
    this.#columns.stackOutcomes.push(outcome);
    this.#columns.stackWaits.push(wait);
    return number;
  }

  /** How many of its outermost frames a stack has in common with the latest one: that many are known to be at least. */
  #sharedWith(frames: readonly number[], length: number, known: number): number {
    const own = this.#frames;
    const most = Math.min(length, this.#length);
    let depth = known;
    while (depth < most && own[depth] === frames[length - 1 - depth]) depth++;
    return depth;
  }

  /** Takes in the frames that are not shared, and their hashes. They have no nodes yet. */
  #follow(frames: readonly number[], length: number, shared: number): void {
    if (length > this.#frames.length) this.#reserve(length);
    const own = this.#frames;
    const lows = this.#lows;
    const highs = this.#highs;
    let low = shared > 0 ? (lows[shared - 1] ?? 0) : 0;
    let high = shared > 0 ? (highs[shared - 1] ?? 0) : 0;
    for (let depth = shared; depth < length; depth++) {
      const frame = frames[length - 1 - depth] ?? 0;
      low = mixLow(low, frame);
      high = mixHigh(high, frame);
      own[depth] = frame;
      lows[depth] = low;
      highs[depth] = high;
    }
    this.#length = length;
    this.#depth = Math.min(this.#depth, shared);
  }

  /** Makes nodes of the frames of the latest stack that have none; returns the innermost one. */
  #append(length: number): number {
    const depth = this.#depth;
    const count = length - depth;
    const outer = depth > 0 ? (this.#nodes[depth - 1] ?? ROOT) : ROOT;
    if (count === 0) return outer;
    const first = this.#nodeCount;
    const { nodeBacks, nodeFrames } = this.#columns;
    nodeBacks.push(first - outer);
    nodeBacks.repeat(1, count - 1);
    nodeFrames.appendRange(this.#frames, depth, length);
    const nodes = this.#nodes;
    for (let at = 0; at < count; at++) nodes[depth + at] = first + at;
    this.#nodeCount += count;
    this.#depth = length;
    return first + count - 1;
  }

  #reserve(depths: number): void {
    this.#frames = grown(this.#frames, depths);
    this.#nodes = grown(this.#nodes, depths);
    this.#lows = grown(this.#lows, depths);
    this.#highs = grown(this.#highs, depths);
  }
}
