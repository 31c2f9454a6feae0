/** Counts grouped by process, so that a function meets a process once. */
import type { Store } from "../tick/store.ts";
import type { Task, Tick } from "../tick/tick.ts";
import type { Selection } from "./selection.ts";

/** What of a tick belongs to one process. */
export interface ProcessPart {
  readonly tick: Tick;
  /** Places in the tick's counts. */
  readonly places: Int32Array;
}

/** A process with its counts in some ticks. */
export interface ProcessCounts {
  /** One of its threads: the first that was met, or the first whose process had been read. */
  task: Task;
  readonly parts: ProcessPart[];
}

/** In place of the number of a process: it was not asked for yet, or the selection leaves it out. */
const UNKNOWN = -2;
const UNWANTED = -1;

/** Numbers processes as their threads are met. */
class Processes {
  readonly all: ProcessCounts[] = [];
  readonly #selection: Selection;
  readonly #lives = new Map<number, number[]>();
  /** For each store and number of a thread the number of its process. */
  readonly #ofTasks = new Map<Store, Int32Array>();

  constructor(selection: Selection) {
    this.#selection = selection;
  }

  /** Numbers of processes by the numbers of a store's threads, filled as they are asked for. */
  ofTasks(store: Store): Int32Array {
    const known = this.#ofTasks.get(store);
    if (known && known.length >= store.tasks.length) return known;
    const made = new Int32Array(store.tasks.length).fill(UNKNOWN);
    this.#ofTasks.set(store, made);
    return made;
  }

  number(task: Task | undefined, store: Store): number {
    if (!task || !this.#selection.wants(task, store)) return UNWANTED;
    const lives = this.#lives.get(task.pid) ?? [];
    // A pid that was used again is another process.
    const same = lives.find((one) => this.all[one]?.task.startTime === task.startTime);
    const known = same === undefined ? undefined : this.all[same];
    if (same !== undefined && known) {
      if (!known.task.facts && task.facts) known.task = task;
      return same;
    }
    const number = this.all.push({ task, parts: [] }) - 1;
    this.#lives.set(task.pid, [...lives, number]);
    return number;
  }
}

/** The processes of some ticks that a selection wants, in the order in which they are met. */
export function byProcess(ticks: readonly Tick[], selection: Selection): readonly ProcessCounts[] {
  const processes = new Processes(selection);
  for (const tick of ticks) group(tick, processes);
  return processes.all;
}

/** Sorts the places of a tick by process: counts how many each has, and puts them there. */
function group(tick: Tick, processes: Processes): void {
  const { counts, store } = tick;
  const ofTasks = processes.ofTasks(store);
  const numbers = new Int32Array(counts.length);
  for (let place = 0; place < counts.length; place++) {
    const task = counts.tasks[place] ?? 0;
    let number = ofTasks[task] ?? UNKNOWN;
    if (number === UNKNOWN) {
      number = processes.number(store.tasks[task], store);
      ofTasks[task] = number;
    }
    numbers[place] = number;
  }
  const ends = new Int32Array(processes.all.length + 1);
  for (const number of numbers) if (number >= 0) ends[number + 1] = (ends[number + 1] ?? 0) + 1;
  for (let i = 1; i < ends.length; i++) ends[i] = (ends[i] ?? 0) + (ends[i - 1] ?? 0);
  const starts = ends.slice();
  const sorted = new Int32Array(ends.at(-1) ?? 0);
  for (let place = 0; place < numbers.length; place++) {
    const number = numbers[place] ?? UNWANTED;
    if (number < 0) continue;
    const at = ends[number] ?? 0;
    sorted[at] = place;
    ends[number] = at + 1;
  }
  processes.all.forEach(({ parts }, number) => {
    const places = sorted.subarray(starts[number], starts[number + 1]);
    if (places.length > 0) parts.push({ tick, places });
  });
}
