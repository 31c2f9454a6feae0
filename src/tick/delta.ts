/**
 * What a refresh adds to a store: what is new comes once and is referred to by number from then on. A source makes
 * ticks of them, and a chunk of a recording is deltas in a row.
 */

import { News } from "./columns/news.ts";
import { Family } from "./family.ts";
import { Functions, STAND_INS } from "./functions.ts";
import { Interner } from "./interner.ts";
import { PrefixTree } from "./prefix-tree.ts";
import { StackNumbers } from "./stack-numbers.ts";
import { type ColumnName, eachColumn, FRAME_FOLDED, Store } from "./store.ts";
import type { Counts, FrameDetail, FunctionInfo, Task, Tick, TickHeader } from "./tick.ts";
import type { Wait } from "./waits.ts";

/** A column whose memory is given back by who takes it in. */
type Column = Uint32Array<ArrayBuffer>;

/** What a refresh adds to those before it. Columns are those of a Store, but frames have the ids of functions. */
export interface TickDelta {
  readonly header: TickHeader;
  /** A new store begins: all numbering but that of functions starts anew. */
  readonly renewed: boolean;
  /** New functions. */
  readonly functions: readonly FunctionInfo[];
  /** Ids of functions that neither this delta nor a later one refers to; only with a new store. */
  readonly forgotten?: readonly number[];
  readonly texts: readonly string[];
  readonly columns: Readonly<Record<ColumnName, Column>>;
  readonly tasks: readonly Task[];
  readonly counts: CountColumns;
  /** The counts of the events behind the first. */
  readonly others?: readonly CountColumns[];
}

/** Counts in columns of their own memory. */
export interface CountColumns {
  readonly stacks: Column;
  readonly tasks: Column;
  readonly weights: Float64Array<ArrayBuffer>;
}

/** Makes ticks of deltas, which must come in order, none left out, and are used up. */
export class TickAssembler {
  readonly #functions = new Functions();
  readonly #family = new Family();
  #store = new Store(this.#functions, this.#family);
  /** Stores that somebody may still look at: a screen that is frozen, a history, a sum. */
  #older: WeakRef<Store>[] = [];

  /** The store of the latest tick. */
  get store(): Store {
    return this.#store;
  }

  assemble(delta: TickDelta): Tick {
    if (delta.renewed) this.#renew(delta.forgotten ?? []);
    this.#functions.append(delta.functions);
    this.#store.append(delta);
    const [counts, others] = [withLength(delta.counts), delta.others?.map(withLength)];
    return { ...delta.header, counts, ...(others ? { others } : {}), store: this.#store };
  }

  #renew(forgotten: readonly number[]): void {
    this.#older.push(new WeakRef(this.#store));
    this.#store = new Store(this.#functions, this.#family);
    this.#functions.leave(forgotten);
    this.#older = this.#older.filter((store) => store.deref() !== undefined);
    if (!this.#functions.hasLeaving) return;
    const used = new Uint8Array(this.#functions.length);
    for (const store of this.#older) store.deref()?.markFunctions(used);
    this.#functions.forget(used);
  }
}

const withLength = (columns: CountColumns): Counts => ({
  length: columns.stacks.length,
  ...columns,
});

/** A new store begins beyond these: the ticks of one can be forgotten together then, and it takes a few megabytes. */
const RENEW_AT = { nodes: 160_000, stacks: 30_000, frames: 50_000, tasks: 20_000, texts: 25_000 };
/** One refresh may count as much as that: a store that holds it is good for some more. */
const REFRESHES_AT_LEAST = 4;
/** A stack has five to ten nodes that the one before it lacks, beside compilers. */
const NODES_OF_STACK = 8;

/** The tables of one store as who fills it needs them. */
class Filling {
  readonly texts = new Interner<string, string>();
  readonly stacks: StackNumbers;
  readonly latestTasks = new Map<number, number>();
  readonly tasks: Task[] = [];
  /** Every store begins with a frame for each stand-in. */
  frames = STAND_INS.length;
  sentTasks = 0;

  /** `stacks` has the room of the store before, which this one will need too. */
  constructor(stacks: StackNumbers) {
    stacks.clear();
    this.stacks = stacks;
  }

  /** Whether the next refresh begins a new store, where the one before it counted so many pairs of stack and thread. */
  isFull(counted: number): boolean {
    const needed = REFRESHES_AT_LEAST * counted;
    return (
      this.stacks.nodeCount > Math.max(RENEW_AT.nodes, NODES_OF_STACK * needed) ||
      this.stacks.size > Math.max(RENEW_AT.stacks, needed) ||
      this.frames > RENEW_AT.frames ||
      this.tasks.length > Math.max(RENEW_AT.tasks, needed) ||
      this.texts.size > RENEW_AT.texts
    );
  }
}

const isSameTask = (a: Task, b: Task): boolean =>
  a.startTime === b.startTime &&
  a.pid === b.pid &&
  a.comm === b.comm &&
  a.thread === b.thread &&
  a.parentPid === b.parentPid &&
  a.uid === b.uid &&
  a.cgroup === b.cgroup;

/** The counts of an event for the next delta. */
class NewCounts {
  readonly #stacks = new News();
  readonly #tasks = new News();
  #weights: number[] = [];
  /** The place of each and 1 by its thread and stack: a pair of a parent and a frame is a pair of numbers as well as any. */
  readonly #places = new PrefixTree();

  /** Counts a stack in a thread: each pair is there once. */
  add(stack: number, task: number, weight: number): void {
    const weights = this.#weights;
    const place = this.#places.child(task, stack);
    if (place <= weights.length) {
      weights[place - 1] = (weights[place - 1] ?? 0) + weight;
      return;
    }
    this.#stacks.push(stack);
    this.#tasks.push(task);
    weights.push(weight);
  }

  take(): CountColumns {
    const weights = new Float64Array(this.#weights);
    this.#weights = [];
    this.#places.clear();
    return { stacks: this.#stacks.take(), tasks: this.#tasks.take(), weights };
  }
}

/** Each has memory of its own. */
const noCounts = (): CountColumns => new NewCounts().take();

/** Numbers what a source meets, and makes deltas of what is new. */
export class DeltaWriter {
  readonly #columns = eachColumn(() => new News());
  #filling = new Filling(new StackNumbers(this.#columns));
  #isRenewed = true;
  #isRenewalAsked = false;
  /** For each event. */
  readonly #counts = [new NewCounts()];
  /** Grows when all numbers that were given before are void. */
  generation = 0;

  /** Numbers a frame; equal frames get different numbers if this is called for each. */
  frame(functionId: number, detail?: FrameDetail): number {
    const { frameFunctions, frameLines, frameNotes, frameBodies, frameFlags } = this.#columns;
    const { line, note, body, folded } = detail ?? {};
    const text = (value: string | undefined): number =>
      value === undefined ? 0 : this.#filling.texts.number(value, value) + 1;
    frameFunctions.push(functionId);
    frameLines.push(line === undefined ? 0 : line + 1);
    frameNotes.push(text(note));
    frameBodies.push(text(body));
    frameFlags.push(folded ? FRAME_FOLDED : 0);
    return this.#filling.frames++;
  }

  /**
   * Numbers a stack: frames leaf first, the place of the outcome in OUTCOMES, how the thread waits, and how many of the
   * frames there are. The outermost `known` ones are those of the stack that was numbered before it in this store, and
   * need not be there.
   */
  stack(
    frames: readonly number[],
    outcome: number,
    wait: Wait = 0,
    length = frames.length,
    known = 0,
  ): number {
    return this.#filling.stacks.number(frames, length, outcome, wait, known);
  }

  /** Numbers a thread: one that says the same as it did the last time keeps its number. */
  task(task: Task): number {
    const { latestTasks, tasks } = this.#filling;
    const latest = latestTasks.get(task.tid);
    const known = latest === undefined ? undefined : tasks[latest];
    if (latest !== undefined && known && isSameTask(known, task)) return latest;
    const number = tasks.push(task) - 1;
    latestTasks.set(task.tid, number);
    return number;
  }

  /**
   * Counts a stack in a thread for the next delta, which holds each pair once for each event: `event` is its place in
   * the header's.
   */
  count(stack: number, task: number, weight: number, event = 0): void {
    this.#counts[event] ??= new NewCounts();
    this.#counts[event].add(stack, task, weight);
  }

  /** The delta behind the next one begins a new store. */
  renew(): void {
    this.#isRenewalAsked = true;
  }

  /** What is new since the last call, and all that was counted since then; `forgotten` as in TickDelta. */
  take(
    header: TickHeader,
    functions: readonly FunctionInfo[],
    forgotten: readonly number[] = [],
  ): TickDelta {
    const filling = this.#filling;
    const taken = this.#counts.map((counts) => counts.take());
    const [counts = noCounts(), ...others] = Array.from(
      { length: header.events?.length ?? 1 },
      (_, event) => taken[event] ?? noCounts(),
    );
    const delta: TickDelta = {
      header,
      renewed: this.#isRenewed,
      functions,
      ...(forgotten.length > 0 ? { forgotten } : {}),
      texts: filling.texts.takeNews(),
      columns: eachColumn((name) => this.#columns[name].take()),
      tasks: filling.tasks.slice(filling.sentTasks),
      counts,
      ...(others.length > 0 ? { others } : {}),
    };
    filling.sentTasks = filling.tasks.length;
    this.#isRenewed = this.#isRenewalAsked || filling.isFull(delta.counts.stacks.length);
    this.#isRenewalAsked = false;
    if (this.#isRenewed) {
      this.#filling = new Filling(filling.stacks);
      this.generation++;
    }
    return delta;
  }
}
