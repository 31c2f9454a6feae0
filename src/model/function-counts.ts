/** Weights by function: the inner loop of the aggregate. */
import { WAIT_REASON_MASK } from "../../build/abi.ts";
import { grown } from "../tick/columns/numbers.ts";
import type { Functions } from "../tick/functions.ts";
import { ROOT } from "../tick/prefix-tree.ts";
import type { FunctionInfo } from "../tick/tick.ts";
import { type Reason, reasonOf } from "../tick/waits.ts";
import type { FunctionRow, PidCount } from "./aggregate.ts";
import { CountLists, grownWeights } from "./count-lists.ts";
import type { Filter } from "./filter/filter.ts";
import {
  KEY_AWAITS,
  KEY_HAS_LINE,
  KEY_HIDDEN,
  KEY_PLACE,
  KEY_RUNTIME,
  KEY_RUNTIME_SHIFT,
  type Shown,
} from "./selection.ts";
import { firstOf } from "./sort.ts";

const MAX_PIDS = 20;

/** The rows that somebody will look at: the most samples of a kind. */
export interface FirstRows {
  readonly by: "self" | "total";
  readonly count: number;
}

interface RowCounts {
  readonly self: number;
  readonly total: number;
  readonly awaits: boolean;
  readonly line: number | undefined;
  readonly note: string | undefined;
  readonly why: Reason | undefined;
}

/** A row whose list of processes is made when somebody looks at it: few rows are shown. */
class LazyFunctionRow implements FunctionRow {
  readonly function: FunctionInfo;
  readonly self: number;
  readonly total: number;
  readonly awaits?: boolean;
  readonly line?: number;
  readonly note?: string;
  readonly why?: Reason;
  /** The place of its function in the lists. */
  readonly #place: number;
  readonly #lists: CountLists;
  #made: { pids: PidCount[]; all: number } | undefined;

  constructor(info: FunctionInfo, counts: RowCounts, place: number, lists: CountLists) {
    this.function = info;
    this.self = counts.self;
    this.total = counts.total;
    if (counts.awaits) this.awaits = true;
    if (counts.line !== undefined) this.line = counts.line;
    if (counts.note !== undefined) this.note = counts.note;
    if (counts.why !== undefined) this.why = counts.why;
    this.#place = place;
    this.#lists = lists;
  }

  get pids(): readonly PidCount[] {
    return this.#processes().pids;
  }

  get processCount(): number {
    return this.#processes().all;
  }

  #processes(): { pids: PidCount[]; all: number } {
    if (!this.#made) {
      const entries = this.#lists.entries(this.#place);
      const pids = entries.slice(0, MAX_PIDS).map(({ key, count }) => ({ pid: key, count }));
      this.#made = { pids, all: entries.length };
    }
    return this.#made;
  }
}

const FIRST_ROOM = 1024;

/** Arrays with room for every function. Kept from one count to the next, since each touches a small part of them. */
class Slots {
  /**
   * Pairs: the stamp of the last stack that counted a function, since recursion counts once, and the weight of the
   * function in one process, 0 between two uses. They are looked at together.
   */
  within = new Float64Array(2 * FIRST_ROOM);
  /** Zeros between two uses: weights in all processes. */
  self = new Float64Array(FIRST_ROOM);
  total = new Float64Array(FIRST_ROOM);
  /** The part of `total` in which the function awaits. */
  awaiting = new Float64Array(FIRST_ROOM);
  /** Places of the functions with a weight in one process, and in any. */
  touched: Int32Array = new Int32Array(FIRST_ROOM);
  used: Int32Array = new Int32Array(FIRST_ROOM);
  /** Zeros between two uses: weights of the frames that have a line, and which of them have a weight. */
  byFrame = new Float64Array(FIRST_ROOM);
  lined: Int32Array = new Int32Array(FIRST_ROOM);
  /** The stamp of the stack that was counted last. */
  stamp = 0;
  #room = FIRST_ROOM;

  /** Makes room for places below `count`. */
  reserve(count: number): void {
    if (count <= this.#room) return;
    this.#room = Math.max(count, 2 * this.#room);
    this.within = grownWeights(this.within, 2 * this.#room);
    this.self = grownWeights(this.self, this.#room);
    this.total = grownWeights(this.total, this.#room);
    this.awaiting = grownWeights(this.awaiting, this.#room);
    this.touched = grown(this.touched, this.#room);
    this.used = grown(this.used, this.#room);
  }

  /** Makes room for frames below `count`. */
  reserveFrames(count: number): void {
    if (count <= this.lined.length) return;
    this.lined = grown(this.lined, count);
    this.byFrame = grownWeights(this.byFrame, this.lined.length);
  }
}

/** Slots that no running count uses; kept for the next one. */
let freeSlots: Slots | undefined;

function takeSlots(): Slots {
  const slots = freeSlots ?? new Slots();
  freeSlots = undefined;
  return slots;
}

const NO_NUMBERS = new Uint32Array();

/** What is read of a store's stacks, fetched once for all of them. */
class StackColumns {
  readonly shown: Shown | undefined;
  readonly leaves: Uint32Array;
  readonly backs: Uint32Array;
  readonly frames: Uint32Array;
  readonly lines: Uint32Array;
  readonly waits: Uint32Array;
  readonly keys: Int32Array;

  constructor(shown?: Shown) {
    const columns = shown?.store.columns;
    this.shown = shown;
    this.leaves = columns?.stackLeaves.values ?? NO_NUMBERS;
    this.backs = columns?.nodeBacks.values ?? NO_NUMBERS;
    this.frames = columns?.nodeFrames.values ?? NO_NUMBERS;
    this.lines = columns?.frameLines.values ?? NO_NUMBERS;
    this.waits = columns?.stackWaits.values ?? NO_NUMBERS;
    this.keys = shown?.keys() ?? new Int32Array();
  }
}

/**
 * Weights by function. Within a process they are summed in one array, so that the inner loop
 * touches nothing else; `endProcess` carries them over.
 */
export class FunctionCounts {
  readonly #pids = new CountLists();
  readonly #lines = new CountLists();
  readonly #notes = new Map<number, string>();
  readonly #reasons = new CountLists();
  readonly #slots = takeSlots();
  #columns = new StackColumns();
  /** Lengths of the lists of places. */
  #used = 0;
  #touched = 0;
  #lined = 0;
  /** Runtimes of the frames of the stack that was counted last as bits, hidden frames too. */
  held = 0;

  /** Counts a stack and says the runtime of its innermost shown frame, as its place in EVERY_RUNTIME. */
  count(shown: Shown, stack: number, weight: number): number {
    if (shown !== this.#columns.shown) this.#begin(shown);
    const slots = this.#slots;
    const stamp = ++slots.stamp;
    const { within, touched, byFrame, lined } = slots;
    const { leaves, backs, frames, waits, keys } = this.#columns;
    let touchedCount = this.#touched;
    let linedCount = this.#lined;
    let leaf = -1;
    let held = 0;
    for (let node = leaves[stack] ?? ROOT; node !== ROOT; node -= backs[node] ?? node) {
      const frame = frames[node] ?? 0;
      const key = keys[frame] ?? 0;
      held |= 1 << ((key >> KEY_RUNTIME_SHIFT) & KEY_RUNTIME);
      if ((key & KEY_HIDDEN) !== 0) continue;
      if (leaf < 0) leaf = frame;
      const place = key & KEY_PLACE;
      const at = 2 * place;
      if (within[at] === stamp) continue;
      within[at] = stamp;
      const before = within[at + 1] ?? 0;
      if (before === 0) touched[touchedCount++] = place;
      within[at + 1] = before + weight;
      if ((key & KEY_AWAITS) !== 0) slots.awaiting[place] = (slots.awaiting[place] ?? 0) + weight;
      if ((key & KEY_HAS_LINE) === 0) continue;
      const byLine = byFrame[frame] ?? 0;
      if (byLine === 0) lined[linedCount++] = frame;
      byFrame[frame] = byLine + weight;
    }
    this.#touched = touchedCount;
    this.#lined = linedCount;
    this.held = held;
    if (leaf < 0) leaf = this.#countStandIn(shown, stack, weight);
    const wait = waits[stack] ?? 0;
    if (wait !== 0) leaf = shown.leaf(stack);
    const key = keys[leaf] ?? 0;
    const place = key & KEY_PLACE;
    if (wait !== 0) this.#reasons.add(place, wait & WAIT_REASON_MASK, weight);
    slots.self[place] = (slots.self[place] ?? 0) + weight;
    const note = shown.store.noteOf(leaf);
    if (note !== undefined) this.#notes.set(place, note);
    return (key >> KEY_RUNTIME_SHIFT) & KEY_RUNTIME;
  }

  #begin(shown: Shown): void {
    this.#addLines();
    this.#slots.reserve(shown.store.functions.length);
    this.#slots.reserveFrames(shown.store.frameCount);
    this.#columns = new StackColumns(shown);
  }

  /** Adds what was counted by frames of a store to the lines of their functions: they are fewer than what was counted. */
  #addLines(): void {
    const { byFrame, lined } = this.#slots;
    const { keys, lines } = this.#columns;
    for (let i = 0; i < this.#lined; i++) {
      const frame = lined[i] ?? 0;
      this.#lines.add((keys[frame] ?? 0) & KEY_PLACE, (lines[frame] ?? 0) - 1, byFrame[frame] ?? 0);
      byFrame[frame] = 0;
    }
    this.#lined = 0;
  }

  /** Counts what stands for a stack of which nothing is shown; says its innermost frame. */
  #countStandIn(shown: Shown, stack: number, weight: number): number {
    const frames = shown.standIn(stack);
    const places = frames.map((frame) => shown.store.columns.frameFunctions.at(frame));
    const { within, touched } = this.#slots;
    for (const place of new Set(places)) {
      const before = within[2 * place + 1] ?? 0;
      if (before === 0) touched[this.#touched++] = place;
      within[2 * place + 1] = before + weight;
    }
    return frames[0] ?? 0;
  }

  /** The stacks counted since the last call were those of `pid`. */
  endProcess(pid: number): void {
    const { within, total, touched, used } = this.#slots;
    for (let i = 0; i < this.#touched; i++) {
      const place = touched[i] ?? 0;
      const weight = within[2 * place + 1] ?? 0;
      within[2 * place + 1] = 0;
      if (total[place] === 0) used[this.#used++] = place;
      total[place] = (total[place] ?? 0) + weight;
      this.#pids.push(place, pid, weight);
    }
    this.#touched = 0;
  }

  /**
   * A row for each function that `filter` lets pass; with `first`, for those that come first. To be called once, when
   * everything is counted.
   */
  rows(functions: Functions, filter: Filter | undefined, first?: FirstRows): FunctionRow[] {
    this.#addLines();
    const { self, total, awaiting, used } = this.#slots;
    const all = Array.from(used.subarray(0, this.#used));
    const isFiltered = filter?.hasFunctionTerms ?? false;
    const rows: FunctionRow[] = [];
    // A filter may leave out whatever comes first.
    for (const place of first && !isFiltered ? this.#first(first, all, functions) : all) {
      const info = functions.info(place);
      if (isFiltered && !filter?.matchesFunction(info)) continue;
      const [line, note] = [this.#lines.busiest(place), this.#notes.get(place)];
      const reason = this.#reasons.busiest(place);
      const why = reason === undefined ? undefined : reasonOf(reason);
      const awaits = (awaiting[place] ?? 0) > 0 && awaiting[place] === total[place];
      const counts = { self: self[place] ?? 0, total: total[place] ?? 0, awaits, line, note, why };
      rows.push(new LazyFunctionRow(info, counts, place, this.#pids));
    }
    for (const place of all) {
      self[place] = 0;
      total[place] = 0;
      awaiting[place] = 0;
    }
    freeSlots = this.#slots;
    return rows;
  }

  /** The places of the functions that come first, as sortFunctions() sorts their rows. */
  #first({ by, count }: FirstRows, all: readonly number[], functions: Functions): number[] {
    const { self, total } = this.#slots;
    const [ranked, second] = by === "self" ? [self, total] : [total, self];
    return firstOf(all, count, (a, b) => {
      const more = (ranked[b] ?? 0) - (ranked[a] ?? 0) || (second[b] ?? 0) - (second[a] ?? 0);
      return more || functions.info(a).id - functions.info(b).id;
    });
  }
}
