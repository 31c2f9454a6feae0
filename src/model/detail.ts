/** One function from near: who calls it, what it calls, which lines and bodies, which processes. */
import type { FactsOf } from "../tick/source.ts";
import type { FunctionInfo, Task, Tick } from "../tick/tick.ts";
import type { PidCount } from "./aggregate.ts";
import { type Choice, type SelectedCount, selectionOf } from "./selection.ts";

/** A neighbour, or none where the function is the innermost or outermost frame. */
export interface Neighbour {
  readonly function?: FunctionInfo;
  /** It awaits the function that is looked at, or that awaits it. */
  readonly awaits?: boolean;
  readonly count: number;
}

/** Samples on a line. */
export interface LineCount {
  readonly line: number;
  /** The source file, where the function's module is none. */
  readonly file?: string;
  readonly count: number;
}

/** Samples in a body of the function. */
export interface BodyCount {
  readonly body: string;
  readonly count: number;
}

/** What is known of one function. Everything is sorted, most samples first. */
export interface FunctionDetail {
  readonly function?: FunctionInfo;
  readonly samples: number;
  readonly self: number;
  readonly total: number;
  readonly callers: readonly Neighbour[];
  readonly callees: readonly Neighbour[];
  readonly lines: readonly LineCount[];
  /** Bodies of innermost frames, where the runtime tells them apart. */
  readonly bodies: readonly BodyCount[];
  readonly processes: readonly (PidCount & Pick<Task, "comm" | "facts">)[];
}

/** What the detail can be told besides what is left out of it. */
export interface DetailOptions extends Choice {
  readonly factsOf?: FactsOf;
}

class Counter<K> {
  readonly #counts = new Map<K, number>();

  add(key: K, count: number): void {
    this.#counts.set(key, (this.#counts.get(key) ?? 0) + count);
  }

  sorted(): [K, number][] {
    return [...this.#counts].sort((a, b) => b[1] - a[1]);
  }
}

/** Neighbours: one that awaits is told apart from itself where it calls. */
class NeighbourCounter {
  readonly #calling = new Counter<FunctionInfo | undefined>();
  readonly #awaiting = new Counter<FunctionInfo | undefined>();

  add(info: FunctionInfo | undefined, awaits: boolean, count: number): void {
    (awaits ? this.#awaiting : this.#calling).add(info, count);
  }

  sorted(): Neighbour[] {
    const named = (awaits: boolean) => (entry: [FunctionInfo | undefined, number]) => ({
      ...(entry[0] ? { function: entry[0] } : {}),
      ...(awaits ? { awaits } : {}),
      count: entry[1],
    });
    const all = [
      ...this.#calling.sorted().map(named(false)),
      ...this.#awaiting.sorted().map(named(true)),
    ];
    return all.sort((a, b) => b.count - a.count);
  }
}

/** Lines by their file, where they have one. */
class LineCounter {
  readonly #files = new Map<string | undefined, Counter<number>>();

  add(line: number, count: number, file?: string): void {
    const lines = this.#files.get(file) ?? new Counter<number>();
    this.#files.set(file, lines);
    lines.add(line, count);
  }

  sorted(): LineCount[] {
    const all = [...this.#files].flatMap(([file, lines]) =>
      lines.sorted().map(([line, count]) => ({ line, count, ...(file ? { file } : {}) })),
    );
    return all.sort((a, b) => b.count - a.count);
  }
}

/**
 * Looks at all stacks with the function. Recursion is one call: the caller is that of its
 * outermost frame, the callee that of its innermost one, so that each column adds up to its total.
 */
export function functionDetail(
  ticks: readonly Tick[],
  id: number,
  options: DetailOptions,
): FunctionDetail {
  const callers = new NeighbourCounter();
  const callees = new NeighbourCounter();
  const lines = new LineCounter();
  const bodies = new Counter<string>();
  const processes = new Counter<number>();
  const tasks = new Map<number, Task>();
  const found: { function?: FunctionInfo } = {};
  let samples = 0;
  let self = 0;
  let total = 0;
  const add = ({ shown, stack, task, weight }: SelectedCount): void => {
    samples += weight;
    const { store } = shown;
    const frames = shown.frames(stack);
    const isOpened = (frame: number): boolean => store.functionOf(frame).id === id;
    const inner = frames.findIndex(isOpened);
    const first = frames[inner];
    if (first === undefined) return;
    const outer = frames.findLastIndex(isOpened);
    const addNeighbour = (place: number, counter: NeighbourCounter): void => {
      const frame = frames[place];
      if (frame === undefined) counter.add(undefined, false, weight);
      else counter.add(store.functionOf(frame), store.awaits(frame), weight);
    };
    found.function = store.functionOf(first);
    total += weight;
    // A wait is told by the function of the application that waits, not by the one that entered the kernel.
    if (isOpened(shown.leaf(stack))) self += weight;
    addNeighbour(inner - 1, callees);
    addNeighbour(outer + 1, callers);
    const { source, body = store.bodyOf(first) } = options.factsOf?.(store, first) ?? {};
    const line = source?.line ?? store.lineOf(first);
    if (line !== undefined) lines.add(line, weight, source?.file);
    if (body !== undefined) bodies.add(body, weight);
    processes.add(task.pid, weight);
    tasks.set(task.pid, task);
  };
  for (const count of selectionOf(options).counts(ticks)) add(count);
  return {
    ...found,
    samples,
    self,
    total,
    callers: callers.sorted(),
    callees: callees.sorted(),
    lines: lines.sorted(),
    bodies: bodies.sorted().map(([body, count]) => ({ body, count })),
    processes: processes.sorted().flatMap(([pid, count]) => {
      const task = tasks.get(pid);
      if (!task) return [];
      const { comm, facts } = task;
      return [{ pid, count, comm, ...(facts ? { facts } : {}) }];
    }),
  };
}
