/** Numbers what a source meets, in the columns of a store, and makes ticks of what was counted. */
import { Numbers } from "./columns/numbers.ts";
import { PrefixTree } from "./prefix-tree.ts";
import { StackNumbers } from "./stack-numbers.ts";
import { flagsOf, type Store } from "./store.ts";
import { Stores } from "./stores.ts";
import type { Counts, FrameDetail, FunctionInfo, Task, Tick, TickHeader } from "./tick.ts";
import type { Wait } from "./waits.ts";

/**
 * A new store begins beyond these sizes: the ticks of one store can be forgotten together then, and it takes a few
 * megabytes.
 */
const RENEW_AT = { nodes: 160_000, stacks: 30_000, frames: 50_000, tasks: 20_000, texts: 25_000 };
/** One refresh may count as much as a whole store should hold: a store is good for at least so many of them. */
const REFRESHES_AT_LEAST = 4;
/** Beside compilers a stack has five to ten nodes that the stack before it lacks. */
const NODES_OF_STACK = 8;

const isSameTask = (a: Task, b: Task): boolean =>
  a.startTime === b.startTime &&
  a.pid === b.pid &&
  a.comm === b.comm &&
  a.thread === b.thread &&
  a.parentPid === b.parentPid &&
  a.uid === b.uid &&
  a.cgroup === b.cgroup &&
  a.facts === b.facts;

/** The counts of one event between two ticks. */
class OpenCounts {
  readonly #stacks = new Numbers();
  readonly #tasks = new Numbers();
  #weights: number[] = [];
  /** Maps a thread and a stack to the index of their count and 1: the tree maps a parent and a frame to a number. */
  readonly #indexes = new PrefixTree();

  /** Adds a weight to a stack in a thread: each pair is there once. */
  add(stack: number, task: number, weight: number): void {
    const weights = this.#weights;
    const index = this.#indexes.child(task, stack) - 1;
    if (index < weights.length) {
      weights[index] = (weights[index] ?? 0) + weight;
      return;
    }
    this.#stacks.push(stack);
    this.#tasks.push(task);
    weights.push(weight);
  }

  /** Returns the counts since the last call. */
  take(): Counts {
    const weights = new Float64Array(this.#weights);
    this.#weights = [];
    this.#indexes.clear();
    const [stacks, tasks] = [this.#stacks.take(), this.#tasks.take()];
    return { length: weights.length, stacks, tasks, weights };
  }
}

/**
 * Writes the store of a source and makes its ticks. When a store has grown large the next one begins, with numbers of
 * its own for frames, stacks, threads and texts: whoever keeps numbers compares `store` with the one that they are of.
 */
export class TickWriter {
  readonly #stores = new Stores();
  readonly #stacks = new StackNumbers(this.#stores.latest.columns);
  /** For each text its index in the store and 1. */
  readonly #texts = new Map<string, number>();
  readonly #latestTasks = new Map<number, number>();
  /** For each event. */
  readonly #counts = [new OpenCounts()];

  /** The store that numbers are of now. */
  get store(): Store {
    return this.#stores.latest;
  }

  /** Takes in functions that are new, or that were forgotten and come again. */
  addFunctions(functions: readonly FunctionInfo[]): void {
    this.store.addFunctions(functions);
  }

  /**
   * Numbers a frame of a function by its id; equal frames get different numbers if this is called for each. A function
   * that was not added is shown as no frame.
   */
  frame(functionId: number, detail?: FrameDetail): number {
    const { columns, functions } = this.store;
    const { line, note, body } = detail ?? {};
    columns.frameLines.push(line === undefined ? 0 : line + 1);
    columns.frameNotes.push(this.#text(note));
    columns.frameBodies.push(this.#text(body));
    columns.frameFlags.push(detail ? flagsOf(detail) : 0);
    columns.frameFunctions.push(functions.placeOf(functionId));
    return columns.frameFunctions.length - 1;
  }

  #text(text: string | undefined): number {
    if (text === undefined) return 0;
    const known = this.#texts.get(text);
    if (known !== undefined) return known;
    const number = this.store.texts.push(text);
    this.#texts.set(text, number);
    return number;
  }

  /**
   * Numbers a stack: frames leaf first, the index of the outcome in OUTCOMES, how the thread waits, and how many of the
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
    return this.#stacks.number(frames, length, outcome, wait, known);
  }

  /** Numbers a thread: one that says the same as it did the last time keeps its number. */
  task(task: Task): number {
    const { store } = this;
    const latest = this.#latestTasks.get(task.tid);
    const known = latest === undefined ? undefined : store.tasks[latest];
    if (latest !== undefined && known && isSameTask(known, task)) return latest;
    const number = store.addTask(task);
    this.#latestTasks.set(task.tid, number);
    return number;
  }

  /**
   * Counts a stack in a thread for the next tick, which holds each pair once for each event: `event` is its index in
   * the header's.
   */
  count(stack: number, task: number, weight: number, event = 0): void {
    this.#counts[event] ??= new OpenCounts();
    this.#counts[event].add(stack, task, weight);
  }

  /** Makes a tick of all that was counted since the last one. A new store begins behind it where this one is full. */
  take(header: TickHeader): Tick {
    const { store } = this;
    const taken = this.#counts.map((counts) => counts.take());
    const [counts = new OpenCounts().take(), ...others] = Array.from(
      { length: header.events?.length ?? 1 },
      (_, event) => taken[event] ?? new OpenCounts().take(),
    );
    if (this.#isFull(counts.length)) this.renew();
    return { ...header, counts, ...(others.length > 0 ? { others } : {}), store };
  }

  /** Begins a new store. `forgotten`: ids of functions that nothing refers to from now on until they are added again. */
  renew(forgotten: readonly number[] = []): void {
    this.#stores.renew(forgotten);
    this.#stacks.renew(this.store.columns);
    this.#texts.clear();
    this.#latestTasks.clear();
  }

  /** Says whether a new store begins, where the latest tick counted so many pairs of stack and thread. */
  #isFull(counted: number): boolean {
    const { store } = this;
    const needed = REFRESHES_AT_LEAST * counted;
    return (
      store.nodeCount > Math.max(RENEW_AT.nodes, NODES_OF_STACK * needed) ||
      store.stackCount > Math.max(RENEW_AT.stacks, needed) ||
      store.frameCount > RENEW_AT.frames ||
      store.tasks.length > Math.max(RENEW_AT.tasks, needed) ||
      store.texts.length > RENEW_AT.texts
    );
  }
}
