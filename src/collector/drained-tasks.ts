/** The threads that were drained, by their numbers there; whatever is counted in one enters the store with it. */
import type { NewTasks } from "../addon/drained.ts";
import { cleanName } from "../tick/clean-name.ts";
import type { Store } from "../tick/store.ts";
import type { Task } from "../tick/tick.ts";
import type { TickWriter } from "../tick/tick-writer.ts";
import type { ProcessReader } from "./process-facts.ts";

/** Columns of NewTasks.words. */
const TASK_WORDS = 6;

export class DrainedTasks {
  readonly #writer: TickWriter;
  readonly #reader: Pick<ProcessReader, "factsOf" | "beginRefresh">;
  #tasks: Task[] = [];
  /** For each its number in the store and 1; 0: it is not there. */
  #numbers: number[] = [];
  /** The store that the numbers are of. */
  #store: Store | undefined;
  #entered: Task[] = [];
  /** Numbers of threads that were counted before their process was read. */
  #unread: number[] = [];

  constructor(writer: TickWriter, reader: Pick<ProcessReader, "factsOf" | "beginRefresh">) {
    this.#writer = writer;
    this.#reader = reader;
  }

  /** Lets processes be read that are counted now; a refresh begins. */
  beginRefresh(): void {
    this.#reader.beginRefresh();
    for (const number of this.#unread) this.#numbers[number] = 0;
    this.#unread = [];
  }

  /** Takes in new threads. */
  register({ renewed, words, startTimes, cgroups, names }: NewTasks): void {
    if (renewed) [this.#tasks, this.#numbers, this.#unread] = [[], [], []];
    const clean = names.map(cleanName);
    for (let i = 0; i < startTimes.length; i++) {
      const [pid = 0, tid = 0, parentPid = 0, uid = 0, comm = 0, thread = 0] = words.subarray(
        i * TASK_WORDS,
        (i + 1) * TASK_WORDS,
      );
      this.#tasks.push({
        pid,
        tid,
        parentPid,
        uid,
        cgroup: String(cgroups[i] ?? 0),
        startTime: startTimes[i] ?? 0,
        comm: clean[comm] ?? "",
        thread: clean[thread] ?? "",
      });
      this.#numbers.push(0);
    }
  }

  /** The processes of threads that were counted. */
  pidsOf(...counts: readonly { readonly tasks: Uint32Array }[]): Set<number> {
    const pids = new Set<number>();
    for (const { tasks } of counts) {
      for (const task of tasks) pids.add(this.#tasks[task]?.pid ?? 0);
    }
    return pids;
  }

  /** The thread of a number. */
  task(number: number): Task | undefined {
    return this.#tasks[number];
  }

  /** The number in the store of a thread, which is entered there if it is new. */
  number(number: number): number | undefined {
    if (this.#store !== this.#writer.store) {
      this.#store = this.#writer.store;
      this.#numbers.fill(0);
    }
    const known = this.#numbers[number] ?? 0;
    if (known !== 0) return known - 1;
    const task = this.#tasks[number];
    if (!task) return undefined;
    const facts = this.#reader.factsOf(task);
    if (!facts) this.#unread.push(number);
    const entered = this.#writer.task(facts ? { ...task, facts } : task);
    this.#numbers[number] = entered + 1;
    this.#entered.push(task);
    return entered;
  }

  /** The threads that entered the store since the last call. */
  takeEntered(): readonly Task[] {
    const entered = this.#entered;
    this.#entered = [];
    return entered;
  }
}
