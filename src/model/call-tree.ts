/**
 * Stacks as a tree: top-down from the outermost frame, or bottom-up from the innermost. Ticks can
 * be added and taken out again, so that a window over the last seconds costs what is new and what
 * is old, not what is in it.
 */
import type { Frame, FunctionInfo, Stack, Tick } from "../tick/tick.ts";
import type { AggregateOptions } from "./aggregate.ts";

/** The root: everything. */
export const ROOT = 0;

/** Above this the tree is made anew when most of it is empty. */
const MANY_NODES = 50_000;

const ALL: FunctionInfo = { id: -3, runtime: "native", name: "all", module: "" };
const HIDDEN: FunctionInfo = {
  id: -2,
  runtime: "kernel",
  name: "[kernel]",
  module: "kernel",
  whyUnnamed: "kernel frames are left out",
};

/** Identity of a node that outlives the tree: two mixed 26-bit halves of its path. */
function pathId(parent: number, id: number): number {
  const low = parent % 0x4000000;
  const high = Math.floor(parent / 0x4000000);
  const a = (Math.imul(low ^ (id + 0x9e37), 0x85ebca6b) ^ (high << 7)) >>> 6;
  const b = (Math.imul(high + id + 0x7f4a, 0xc2b2ae35) ^ (low << 3)) >>> 6;
  return a * 0x4000000 + b;
}

const larger = (array: Int32Array): Int32Array => {
  const copy = new Int32Array(array.length * 2);
  copy.set(array);
  return copy;
};

/** A tree of functions with samples. Nodes are numbers; a parent's is lower than its child's. */
export class CallTree {
  readonly #options: AggregateOptions;
  readonly #bottomUp: boolean;
  #functions: FunctionInfo[] = [ALL];
  #paths: number[] = [1];
  #parents: Int32Array = new Int32Array(1024);
  #firsts: Int32Array = new Int32Array(1024);
  #nexts: Int32Array = new Int32Array(1024);
  /** Samples that end here. */
  #ends: Int32Array = new Int32Array(1024);
  #totals: Int32Array = new Int32Array(1024);
  /** Open addressing: a node's number by its parent and function; 0 is free. */
  #slots: Int32Array = new Int32Array(4096);
  #byPath: Map<number, number> | undefined;
  /** Where a stack ends: most stacks come again. */
  #known = new WeakMap<Stack, number>();
  #stale = false;
  samples = 0;

  constructor(options: AggregateOptions, bottomUp: boolean) {
    this.#options = options;
    this.#bottomUp = bottomUp;
    this.#parents[ROOT] = -1;
  }

  /** How many nodes there are, empty ones too. */
  get size(): number {
    return this.#functions.length;
  }

  /** Adds the samples of a tick, or takes them out. */
  add(tick: Tick, sign: 1 | -1): void {
    const { filter, parents } = this.#options;
    for (const { stack, task, count } of tick.counts) {
      if (count <= 0 || (filter?.hasTaskTerms && !filter.matchesTask(task, parents))) continue;
      let node = this.#known.get(stack);
      if (node === undefined) {
        node = this.#insert(stack);
        this.#known.set(stack, node);
      }
      this.#ends[node] = (this.#ends[node] ?? 0) + sign * count;
      this.samples += sign * count;
    }
    this.#stale = true;
  }

  /** Whether it is mostly empty nodes and should be made anew. */
  get isWorn(): boolean {
    if (this.size < MANY_NODES) return false;
    this.#sum();
    let used = 0;
    for (let node = 0; node < this.size; node++) if ((this.#totals[node] ?? 0) > 0) used++;
    return used * 4 < this.size;
  }

  #insert({ frames }: Stack): number {
    const { kernel, nativeFrames } = this.#options;
    const count = frames.length;
    let node = ROOT;
    for (let i = 0; i < count; i++) {
      const frame = frames[this.#bottomUp ? i : count - 1 - i] as Frame;
      const info = frame.function;
      if (info.runtime === "kernel" ? !kernel : frame.folded === true && !nativeFrames) continue;
      node = this.#child(node, info);
    }
    if (node !== ROOT || count === 0) return node;
    const onlyKernel = frames.some((frame) => frame.function.runtime === "kernel");
    return this.#child(ROOT, onlyKernel ? HIDDEN : (frames[0] as Frame).function);
  }

  #child(parent: number, info: FunctionInfo): number {
    const mask = this.#slots.length - 1;
    let slot = (Math.imul(parent, 0x9e3779b1) ^ Math.imul(info.id + 8, 0x85ebca6b)) >>> 0;
    slot = (slot ^ (slot >>> 15)) & mask;
    for (;;) {
      const node = this.#slots[slot] ?? 0;
      if (node === 0) break;
      if (this.#parents[node] === parent && this.#functions[node] === info) return node;
      slot = (slot + 1) & mask;
    }
    const node = this.size;
    if (node === this.#parents.length) this.#grow();
    this.#functions.push(info);
    this.#paths.push(pathId(this.#paths[parent] ?? 1, info.id));
    this.#parents[node] = parent;
    this.#nexts[node] = this.#firsts[parent] ?? 0;
    this.#firsts[parent] = node;
    this.#byPath = undefined;
    if (node * 2 > this.#slots.length) this.#rehash();
    else this.#slots[slot] = node;
    return node;
  }

  #grow(): void {
    this.#parents = larger(this.#parents);
    this.#firsts = larger(this.#firsts);
    this.#nexts = larger(this.#nexts);
    this.#ends = larger(this.#ends);
    this.#totals = larger(this.#totals);
  }

  #rehash(): void {
    const slots = new Int32Array(this.#slots.length * 2);
    const mask = slots.length - 1;
    for (let node = 1; node < this.size; node++) {
      const id = this.#functions[node]?.id ?? 0;
      const parent = this.#parents[node] ?? 0;
      let slot = (Math.imul(parent, 0x9e3779b1) ^ Math.imul(id + 8, 0x85ebca6b)) >>> 0;
      slot = (slot ^ (slot >>> 15)) & mask;
      while (slots[slot] !== 0) slot = (slot + 1) & mask;
      slots[slot] = node;
    }
    this.#slots = slots;
  }

  /** Children come after their parents: one pass from the end adds everything up. */
  #sum(): void {
    if (!this.#stale) return;
    this.#stale = false;
    const totals = this.#totals;
    for (let node = 0; node < this.size; node++) totals[node] = this.#ends[node] ?? 0;
    for (let node = this.size - 1; node > 0; node--) {
      const parent = this.#parents[node] ?? 0;
      totals[parent] = (totals[parent] ?? 0) + (totals[node] ?? 0);
    }
  }

  functionOf(node: number): FunctionInfo {
    return this.#functions[node] ?? ALL;
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
    return this.#parents[node] ?? -1;
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
