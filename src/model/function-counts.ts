/** Samples by function: the inner loop of the aggregate. */

import { idOfCode, runtimeOfCode } from "../tick/function-code.ts";
import type { PlainCounts } from "../tick/plain-counts.ts";
import { BITS, PLACES, type Runtime } from "../tick/runtimes.ts";
import type { Frame, FunctionInfo, Stack } from "../tick/tick.ts";
import type { FunctionRow, PidCount } from "./aggregate.ts";
import { CountLists, grown } from "./count-lists.ts";
import type { Filter } from "./filter.ts";

const MAX_PIDS = 20;

const hidden = (name: string, runtime: Runtime, why: string): FunctionInfo => ({
  id: -1,
  runtime,
  name,
  module: runtime === "kernel" ? "kernel" : "",
  whyUnnamed: why,
});

/** Stands for stacks that have no frame left to show: their samples stay in the sum. */
const KERNEL_ONLY = hidden("[kernel]", "kernel", "kernel frames are left out");
const NO_FRAMES = hidden("[no frames]", "native", "the stack is empty");

/** Slots of the two stand-ins come first; function `id` has slot `id + FIRST`. */
const FIRST = 2;

/** The rows that somebody will look at: the most samples of a kind. */
export interface FirstRows {
  readonly by: "self" | "total";
  readonly count: number;
}

interface SlotCounts {
  readonly slot: number;
  readonly self: number;
  readonly total: number;
  readonly line: number | undefined;
  readonly note: string | undefined;
}

/** A row whose list of processes is made when somebody looks at it: few rows are shown. */
class LazyFunctionRow implements FunctionRow {
  readonly function: FunctionInfo;
  readonly self: number;
  readonly total: number;
  readonly line?: number;
  readonly note?: string;
  readonly #lists: CountLists;
  readonly #slot: number;
  #made: { pids: PidCount[]; all: number } | undefined;

  constructor(info: FunctionInfo, counts: SlotCounts, lists: CountLists) {
    this.function = info;
    this.self = counts.self;
    this.total = counts.total;
    if (counts.line !== undefined) this.line = counts.line;
    if (counts.note !== undefined) this.note = counts.note;
    this.#lists = lists;
    this.#slot = counts.slot;
  }

  get pids(): readonly PidCount[] {
    return this.#processes().pids;
  }

  get processCount(): number {
    return this.#processes().all;
  }

  #processes(): { pids: PidCount[]; all: number } {
    if (!this.#made) {
      const entries = this.#lists.entries(this.#slot);
      const pids = entries.slice(0, MAX_PIDS).map(({ key, count }) => ({ pid: key, count }));
      this.#made = { pids, all: entries.length };
    }
    return this.#made;
  }
}

const KERNEL = PLACES.kernel;

const FIRST_ROOM = 1024;

/** Arrays with room for every slot. Made once, since a refresh touches a small part of them. */
class Slots {
  /** The last stack that counted a function: recursion counts once. */
  seen: Int32Array = new Int32Array(FIRST_ROOM);
  /** Zeros between two uses; samples of a process, of all. */
  within: Int32Array = new Int32Array(FIRST_ROOM);
  self: Int32Array = new Int32Array(FIRST_ROOM);
  total: Int32Array = new Int32Array(FIRST_ROOM);
  /** Whose a slot with samples is. */
  readonly functions: FunctionInfo[] = new Array(FIRST_ROOM).fill(NO_FRAMES);
  /** Lists of slots: those with samples of a process, of all. */
  touched: Int32Array = new Int32Array(FIRST_ROOM);
  used: Int32Array = new Int32Array(FIRST_ROOM);
  /** Of the stack that was added last. */
  stamp = 0;

  /** Makes room for slots below `count`. */
  reserve(count: number): void {
    if (count <= this.seen.length) return;
    this.seen = grown(this.seen, count);
    this.within = grown(this.within, count);
    this.self = grown(this.self, count);
    this.total = grown(this.total, count);
    this.touched = grown(this.touched, count);
    this.used = grown(this.used, count);
    while (this.functions.length < this.seen.length) this.functions.push(NO_FRAMES);
  }
}

/** Those that no count is under way in. */
let freeSlots: Slots | undefined;

/** More stacks than this are not told apart by the stamps of the same arrays. */
const MAX_STAMP = 2 ** 30;

function takeSlots(): Slots {
  const slots = freeSlots && freeSlots.stamp < MAX_STAMP ? freeSlots : new Slots();
  freeSlots = undefined;
  return slots;
}

/**
 * Samples by function. Within a process they are added up in one array, so that the inner loop
 * touches nothing else; `endProcess` carries them over.
 */
export class FunctionCounts {
  readonly #kernel: boolean;
  readonly #nativeFrames: boolean;
  readonly #pids = new CountLists();
  readonly #lines = new CountLists();
  readonly #notes = new Map<number, string>();
  readonly #slots = takeSlots();
  /** Lengths of the lists of slots. */
  #used = 0;
  #touched = 0;
  /** Runtimes of the frames of the stack that was added last, hidden ones too. */
  held = 0;

  constructor(kernel: boolean, nativeFrames: boolean) {
    this.#kernel = kernel;
    this.#nativeFrames = nativeFrames;
  }

  /**
   * Adds the plain stack at a place and says the runtime of its innermost visible frame, as its place in EVERY_RUNTIME.
   * The same as below, of numbers: nearly all are of this kind.
   */
  addPlain(counts: PlainCounts, place: number): number {
    const kernel = this.#kernel;
    const slots = this.#slots;
    slots.reserve(counts.functionCount + FIRST);
    const { seen, within, touched, functions } = slots;
    const stamp = ++slots.stamp;
    const count = counts.countOf(place);
    const { codes } = counts;
    const end = counts.endOf(place);
    let leaf = -1;
    let leafRuntime = 0;
    let held = 0;
    for (let at = counts.startOf(place); at < end; at++) {
      const code = codes[at] ?? 0;
      const runtime = runtimeOfCode(code);
      held |= 1 << runtime;
      if (runtime === KERNEL && !kernel) continue;
      const id = idOfCode(code);
      if (leaf < 0) {
        leaf = id;
        leafRuntime = runtime;
      }
      const slot = id + FIRST;
      if (seen[slot] === stamp) continue;
      seen[slot] = stamp;
      const before = within[slot] ?? 0;
      if (before === 0) {
        touched[this.#touched++] = slot;
        functions[slot] = counts.functionOf(id);
      }
      within[slot] = before + count;
    }
    this.held = held;
    if (leaf < 0) return this.#addHidden(held, count);
    slots.self[leaf + FIRST] = (slots.self[leaf + FIRST] ?? 0) + count;
    return leafRuntime;
  }

  /** Adds a stack of which nothing is shown. */
  #addHidden(held: number, count: number): number {
    const info = held === 0 ? NO_FRAMES : KERNEL_ONLY;
    return this.#addSelf(held === 0 ? 1 : 0, info, count);
  }

  /** Adds a stack and says the runtime of its innermost visible frame, as its place in EVERY_RUNTIME. */
  add(stack: Stack, count: number): number {
    const kernel = this.#kernel;
    const nativeFrames = this.#nativeFrames;
    const slots = this.#slots;
    const stamp = ++slots.stamp;
    const { frames } = stack;
    let leaf: Frame | undefined;
    let held = 0;
    let last: Runtime | undefined;
    for (let i = 0; i < frames.length; i++) {
      const frame = frames[i] as Frame;
      const info = frame.function;
      const { runtime } = info;
      if (runtime !== last) {
        held |= BITS[runtime];
        last = runtime;
      }
      if (runtime === "kernel" ? !kernel : frame.folded === true && !nativeFrames) continue;
      leaf ??= frame;
      const slot = info.id + FIRST;
      if (slots.seen[slot] === stamp) continue;
      this.#touch(slot, info, count);
      if (frame.line !== undefined) this.#lines.add(slot, frame.line, count);
    }
    this.held = held;
    // Nothing but frames that are folded into none: better them than nothing.
    if (!leaf && (held & BITS.kernel) === 0) leaf = frames[0];
    if (!leaf) return this.#addHidden(held, count);
    const slot = leaf.function.id + FIRST;
    if (leaf.note !== undefined) this.#notes.set(slot, leaf.note);
    return this.#addSelf(slot, leaf.function, count);
  }

  #addSelf(slot: number, info: FunctionInfo, count: number): number {
    const slots = this.#slots;
    if (slots.seen[slot] !== slots.stamp) this.#touch(slot, info, count);
    slots.self[slot] = (slots.self[slot] ?? 0) + count;
    return PLACES[info.runtime];
  }

  /** Counts a function of a stack. */
  #touch(slot: number, info: FunctionInfo, count: number): void {
    const slots = this.#slots;
    slots.reserve(slot + 1);
    slots.seen[slot] = slots.stamp;
    const before = slots.within[slot] ?? 0;
    if (before === 0) {
      slots.touched[this.#touched++] = slot;
      slots.functions[slot] = info;
    }
    slots.within[slot] = before + count;
  }

  /** The stacks added since the last call were those of `pid`. */
  endProcess(pid: number): void {
    const { within, total, touched, used } = this.#slots;
    for (let i = 0; i < this.#touched; i++) {
      const slot = touched[i] ?? 0;
      const count = within[slot] ?? 0;
      within[slot] = 0;
      if (total[slot] === 0) used[this.#used++] = slot;
      total[slot] = (total[slot] ?? 0) + count;
      this.#pids.push(slot, pid, count);
    }
    this.#touched = 0;
  }

  /**
   * A row for each function that `filter` lets pass; with `first`, those that come first, and maybe more.
   * To be called once, when all is added.
   */
  rows(filter: Filter | undefined, first?: FirstRows): FunctionRow[] {
    const rows: FunctionRow[] = [];
    const { self, total, used, functions } = this.#slots;
    // A filter may leave out whatever comes first.
    const least = first && !filter?.hasFunctionTerms ? this.#least(first) : 0;
    const ranked = first?.by === "self" ? self : total;
    for (let i = 0; i < this.#used; i++) {
      const slot = used[i] ?? 0;
      const info = functions[slot] as FunctionInfo;
      const isWanted = (ranked[slot] ?? 0) >= least;
      if (isWanted && !(filter?.hasFunctionTerms && !filter.matchesFunction(info))) {
        rows.push(this.#row(slot, info));
      }
      self[slot] = 0;
      total[slot] = 0;
    }
    freeSlots = this.#slots;
    return rows;
  }

  #row(slot: number, info: FunctionInfo): FunctionRow {
    const { self, total } = this.#slots;
    const counts = {
      slot,
      self: self[slot] ?? 0,
      total: total[slot] ?? 0,
      line: this.#lines.busiest(slot),
      note: this.#notes.get(slot),
    };
    return new LazyFunctionRow(info, counts, this.#pids);
  }

  /** What a function must have to be among the first. */
  #least({ by, count }: FirstRows): number {
    const counts = this.#slots[by];
    const used = this.#slots.used.subarray(0, this.#used);
    const ranked = used.map((slot) => counts[slot] ?? 0).sort();
    return ranked[ranked.length - count] ?? 0;
  }
}
