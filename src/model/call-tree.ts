/**
 * Stacks as a tree: top-down from the outermost frame, or bottom-up from the innermost. Ticks can
 * be added and taken out again, so that a window over the last seconds costs what is new and what
 * is old, not what is in it.
 */
import { grown } from "../tick/columns/numbers.ts";
import { PrefixTree, ROOT } from "../tick/prefix-tree.ts";
import type { Store } from "../tick/store.ts";
import type { FunctionInfo, Tick } from "../tick/tick.ts";
import { grownWeights } from "./count-lists.ts";
import { type Choice, type Selection, type Shown, selectionOf } from "./selection.ts";

export { ROOT };

/** Above this the tree is made anew when most of it is empty. */
const MANY_NODES = 50_000;
/** A tree of all that ran since the start begins anew beyond: 20 MB. */
const MOST_NODES = 400_000;

const ALL: FunctionInfo = { id: -1, runtime: "native", name: "all", module: "" };

/** Identity of a node that outlives the tree: two mixed 26-bit halves of its path. */
function pathId(parent: number, id: number): number {
  const low = parent % 0x4000000;
  const high = Math.floor(parent / 0x4000000);
  const a = (Math.imul(low ^ (id + 0x9e37), 0x85ebca6b) ^ (high << 7)) >>> 6;
  const b = (Math.imul(high + id + 0x7f4a, 0xc2b2ae35) ^ (low << 3)) >>> 6;
  return a * 0x4000000 + b;
}

/** Where the stacks of a store end in the tree: most stacks come again. */
class Places {
  readonly shown: Shown;
  /** By node of the store, if the tree is top-down, else by stack: the tree's node and 1, 0 if it is not known. */
  #nodes: Int32Array = new Int32Array(1024);

  constructor(shown: Shown) {
    this.shown = shown;
  }

  get(key: number): number | undefined {
    const known = this.#nodes[key] ?? 0;
    return known === 0 ? undefined : known - 1;
  }

  set(key: number, node: number): void {
    if (key >= this.#nodes.length) this.#nodes = grown(this.#nodes, key + 1);
    this.#nodes[key] = node + 1;
  }
}

/** A tree of functions with samples. Nodes are numbers; a parent's is lower than its child's. */
export class CallTree {
  readonly #selection: Selection;
  readonly #bottomUp: boolean;
  /** Its frames are ids of functions; ~id where the function awaits what is further in. */
  readonly #tree = new PrefixTree();
  /** By their ids: a tree may outlive the stores that it was made of. */
  readonly #functions = new Map<number, FunctionInfo>();
  #paths: number[] = [1];
  #firsts: Int32Array = new Int32Array(1024);
  #nexts: Int32Array = new Int32Array(1024);
  /** Samples that end in a node, and those in it and below. */
  #ends = new Float64Array(1024);
  #totals = new Float64Array(1024);
  #byPath: Map<number, number> | undefined;
  readonly #places = new WeakMap<Store, Places>();
  #stale = false;
  samples = 0;

  constructor(choice: Choice, bottomUp: boolean) {
    this.#selection = selectionOf(choice);
    this.#bottomUp = bottomUp;
  }

  /** How many nodes there are, empty ones too. */
  get size(): number {
    return this.#tree.size;
  }

  /** Adds the samples of a tick, or takes them out. */
  add(tick: Tick, sign: 1 | -1): void {
    const { store } = tick;
    let places = this.#places.get(store);
    if (!places) {
      places = new Places(this.#selection.of(store));
      this.#places.set(store, places);
    }
    for (const { stack, weight } of this.#selection.counts([tick])) {
      const node = this.#bottomUp
        ? this.#placeBottomUp(stack, places)
        : this.#placeTopDown(stack, places);
      this.#ends[node] = (this.#ends[node] ?? 0) + sign * weight;
      this.samples += sign * weight;
    }
    this.#stale = true;
  }

  /** Whether it is mostly empty nodes, or too many, and should be made anew. */
  get isWorn(): boolean {
    if (this.size > MOST_NODES) return true;
    if (this.size < MANY_NODES) return false;
    this.#sum();
    let used = 0;
    for (let node = 0; node < this.size; node++) if ((this.#totals[node] ?? 0) > 0) used++;
    return used * 4 < this.size;
  }

  #placeBottomUp(stack: number, places: Places): number {
    const known = places.get(stack);
    if (known !== undefined) return known;
    const node = this.#insert(places.shown.frames(stack), places.shown.store);
    places.set(stack, node);
    return node;
  }

  /** Goes out to the outermost node that is known, and from there in: what stacks share is placed once. */
  #placeTopDown(stack: number, places: Places): number {
    const { shown } = places;
    const { store } = shown;
    const { stackLeaves, nodeBacks, nodeFrames } = store.columns;
    const unknown: number[] = [];
    let at = stackLeaves.at(stack);
    let node: number | undefined;
    for (; at !== ROOT; at -= nodeBacks.at(at)) {
      node = places.get(at);
      if (node !== undefined) break;
      unknown.push(at);
    }
    node ??= ROOT;
    for (let i = unknown.length - 1; i >= 0; i--) {
      const storeNode = unknown[i] ?? ROOT;
      const frame = nodeFrames.at(storeNode);
      if (!shown.hides(frame)) node = this.#child(node, frame, store);
      places.set(storeNode, node);
    }
    return node === ROOT ? this.#insert(shown.standIn(stack).toReversed(), store) : node;
  }

  /** The node below the root by some frames, the outermost one of the tree first. */
  #insert(frames: readonly number[], store: Store): number {
    return frames.reduce((node, frame) => this.#child(node, frame, store), ROOT);
  }

  #child(parent: number, frame: number, store: Store): number {
    const info = store.functionOf(frame);
    const { id } = info;
    const before = this.size;
    const key = store.awaits(frame) ? ~id : id;
    const node = this.#tree.child(parent, key);
    if (node < before) return node;
    if (node >= this.#firsts.length) this.#grow();
    this.#functions.set(id, info);
    this.#paths.push(pathId(this.#paths[parent] ?? 1, key));
    this.#nexts[node] = this.#firsts[parent] ?? 0;
    this.#firsts[parent] = node;
    this.#byPath = undefined;
    return node;
  }

  #grow(): void {
    this.#firsts = grown(this.#firsts, this.size);
    this.#nexts = grown(this.#nexts, this.size);
    this.#ends = grownWeights(this.#ends, this.size);
    this.#totals = grownWeights(this.#totals, this.size);
  }

  /** Children come after their parents: one pass from the end adds everything up. */
  #sum(): void {
    if (!this.#stale) return;
    this.#stale = false;
    const totals = this.#totals;
    for (let node = 0; node < this.size; node++) totals[node] = this.#ends[node] ?? 0;
    for (let node = this.size - 1; node > 0; node--) {
      const parent = this.#tree.parentOf(node);
      totals[parent] = (totals[parent] ?? 0) + (totals[node] ?? 0);
    }
  }

  functionOf(node: number): FunctionInfo {
    if (node === ROOT) return ALL;
    const key = this.#tree.frameOf(node);
    return this.#functions.get(key < 0 ? ~key : key) ?? ALL;
  }

  /** Whether the function of a node awaits what is further in. */
  awaits(node: number): boolean {
    return node !== ROOT && this.#tree.frameOf(node) < 0;
  }

  /** Samples in this node and below. */
  total(node: number): number {
    this.#sum();
    return this.#totals[node] ?? 0;
  }

  /** Samples that end in this node. */
  self(node: number): number {
    return this.#ends[node] ?? 0;
  }

  /** -1 for the root. */
  parent(node: number): number {
    return node === ROOT ? -1 : this.#tree.parentOf(node);
  }

  /** Identity of a node in this and later trees. */
  path(node: number): number {
    return this.#paths[node] ?? 1;
  }

  /** The node of a path, when it has samples. */
  find(path: number | undefined): number | undefined {
    if (path === undefined) return undefined;
    if (!this.#byPath) {
      this.#byPath = new Map();
      for (let node = 0; node < this.size; node++) this.#byPath.set(this.path(node), node);
    }
    const node = this.#byPath.get(path);
    return node !== undefined && (node === ROOT || this.total(node) > 0) ? node : undefined;
  }

  /** Children with samples, most first. */
  children(node: number): number[] {
    this.#sum();
    const found: number[] = [];
    for (let child = this.#firsts[node] ?? 0; child !== 0; child = this.#nexts[child] ?? 0) {
      if ((this.#totals[child] ?? 0) > 0) found.push(child);
    }
    return found.sort(
      (a, b) =>
        (this.#totals[b] ?? 0) - (this.#totals[a] ?? 0) ||
        this.functionOf(a).id - this.functionOf(b).id,
    );
  }

  /** Children in a fixed order, so that a flame keeps its shape from one refresh to the next. */
  childrenByName(node: number): number[] {
    return this.children(node).sort((a, b) => {
      const [x, y] = [this.functionOf(a).name, this.functionOf(b).name];
      return x < y ? -1 : x > y ? 1 : this.functionOf(a).id - this.functionOf(b).id;
    });
  }
}

/** Nodes from the root down to where no child has half of its parent: what is open at first. */
export function trunk(tree: CallTree, limit: number): number[] {
  const paths: number[] = [];
  for (let [node] = tree.children(ROOT); node !== undefined && paths.length < limit; ) {
    paths.push(tree.path(node));
    const [first] = tree.children(node);
    node = first !== undefined && tree.total(first) * 2 >= tree.total(node) ? first : undefined;
  }
  return paths;
}
