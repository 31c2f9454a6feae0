/** Counts grouped by process, so that a function meets a process once. */
import { PlainCounts } from "../tick/plain-counts.ts";
import type { StackCount, Task, Tick } from "../tick/tick.ts";
import type { AggregateOptions } from "./aggregate.ts";

/** The counts of one process. */
export interface ProcessCounts {
  readonly task: Task;
  readonly counts: StackCount[];
  /** Those that are numbers, and the places of what is of this process. */
  readonly plain: { readonly of: PlainCounts; readonly places: Int32Array }[];
}

/** The places of plain stacks, ordered by process. */
class PlacesByProcess {
  readonly all: readonly ProcessCounts[];
  readonly #places: Int32Array;
  /** For each process, where its places end. */
  readonly #ends: Int32Array;

  constructor(counts: PlainCounts, processOf: (task: Task) => ProcessCounts | undefined) {
    const numbers = new Map<ProcessCounts, number>();
    const ofTask = Int32Array.from(counts.tasks, (task) => {
      const process = processOf(task);
      if (!process) return -1;
      const number = numbers.get(process) ?? numbers.size;
      numbers.set(process, number);
      return number;
    });
    const ends = new Int32Array(numbers.size);
    const groupOf = (place: number): number =>
      counts.isPlain(place) ? (ofTask[counts.taskOf(place)] ?? -1) : -1;
    for (let place = 0; place < counts.length; place++) {
      const group = groupOf(place);
      if (group >= 0) ends[group] = (ends[group] ?? 0) + 1;
    }
    let sum = 0;
    ends.forEach((count, group) => {
      ends[group] = sum;
      sum += count;
    });
    const places = new Int32Array(sum);
    for (let place = 0; place < counts.length; place++) {
      const group = groupOf(place);
      if (group < 0) continue;
      const at = ends[group] ?? 0;
      places[at] = place;
      ends[group] = at + 1;
    }
    this.all = [...numbers.keys()];
    this.#places = places;
    this.#ends = ends;
  }

  /** Those of a process, by its index in `all`. */
  of(index: number): Int32Array {
    return this.#places.subarray(this.#ends[index - 1] ?? 0, this.#ends[index]);
  }
}

/** The processes of some ticks with what the filter leaves of them. */
export class Processes {
  readonly all: ProcessCounts[] = [];
  readonly #options: AggregateOptions;
  readonly #lives = new Map<number, ProcessCounts[]>();
  /** Few tasks have many counts; undefined is for those that the filter leaves out. */
  readonly #known = new Map<Task, ProcessCounts | undefined>();

  constructor(ticks: readonly Tick[], options: AggregateOptions) {
    this.#options = options;
    for (const { counts } of ticks) {
      if (counts instanceof PlainCounts) this.#addPlain(counts);
      else for (const count of counts) this.#of(count.task)?.counts.push(count);
    }
  }

  #addPlain(counts: PlainCounts): void {
    const places = new PlacesByProcess(counts, (task) => this.#of(task));
    for (let place = 0; place < counts.length; place++) {
      if (counts.isPlain(place)) continue;
      const task = counts.tasks[counts.taskOf(place)];
      const one = { stack: counts.stackOf(place), count: counts.countOf(place) };
      if (task) this.#of(task)?.counts.push({ ...one, task });
    }
    places.all.forEach((process, index) => {
      process.plain.push({ of: counts, places: places.of(index) });
    });
  }

  /** The process of a task; undefined if the filter leaves it out. */
  #of(task: Task): ProcessCounts | undefined {
    const known = this.#known.get(task);
    if (known || this.#known.has(task)) return known;
    const process = this.#find(task);
    this.#known.set(task, process);
    return process;
  }

  #find(task: Task): ProcessCounts | undefined {
    const { filter, parents } = this.#options;
    if (filter?.hasTaskTerms && !filter.matchesTask(task, parents)) return undefined;
    const others = this.#lives.get(task.pid) ?? [];
    // A pid that was used again is another process.
    const same = others.find((other) => other.task.startTime === task.startTime);
    if (same) return same;
    const made = { task, counts: [], plain: [] };
    this.all.push(made);
    this.#lives.set(task.pid, [...others, made]);
    return made;
  }
}
