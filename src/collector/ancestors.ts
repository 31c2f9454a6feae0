/**
 * Enters processes that were not sampled but stand above those that were: whoever reads a tick, or a recording of it,
 * then knows of families what /proc knew at the time.
 */
import { statSync } from "node:fs";
import { nameOf, statFields } from "../machine/process.ts";
import { TICKS_PER_SECOND } from "../machine/process-start.ts";
import { cleanName } from "../tick/clean-name.ts";
import type { Store } from "../tick/store.ts";
import type { Task } from "../tick/tick.ts";
import type { TickWriter } from "../tick/tick-writer.ts";

/** A pid that was looked at is another process after so many seconds, for all we know. */
const ASK_AGAIN_SECONDS = 10;
const MAX_KNOWN = 20_000;

/** Returns a process of /proc as a task of its first thread; undefined where it is gone. */
function readProcess(pid: number, proc: string): Task | undefined {
  const fields = statFields(pid, proc);
  const { uid } = statSync(`${proc}/${pid}`, { throwIfNoEntry: false }) ?? {};
  if (!fields || uid === undefined) return undefined;
  const comm = cleanName(nameOf(pid, proc) ?? "");
  // Fields 4 and 22 of proc_pid_stat(5).
  const [parentPid, start] = [Number(fields[1]), Number(fields[19])];
  const startTime = (start * 1000) / TICKS_PER_SECOND;
  return { pid, tid: pid, comm, thread: comm, parentPid, uid, cgroup: "0", startTime };
}

export class Ancestors {
  readonly #writer: TickWriter;
  readonly #proc: string;
  /** When a process was entered last, in seconds, by its pid. */
  readonly #entered = new Map<number, number>();
  /** The store that they were entered in. */
  #store: Store | undefined;

  constructor(writer: TickWriter, proc = "/proc") {
    this.#writer = writer;
    this.#proc = proc;
  }

  /** Enters the processes above some that were sampled; `now` in seconds of a clock that only goes forward. */
  enterAbove(
    tasks: readonly Pick<Task, "pid" | "parentPid">[],
    now = performance.now() / 1000,
  ): void {
    if (this.#writer.store !== this.#store || this.#entered.size > MAX_KNOWN) {
      this.#store = this.#writer.store;
      this.#entered.clear();
    }
    for (const { pid } of tasks) this.#entered.set(pid, now);
    for (const { parentPid } of tasks) this.#enter(parentPid, now);
  }

  #enter(first: number, now: number): void {
    for (let pid = first; pid > 0; ) {
      const entered = this.#entered.get(pid);
      if (entered !== undefined && now - entered < ASK_AGAIN_SECONDS) return;
      this.#entered.set(pid, now);
      const found = readProcess(pid, this.#proc);
      if (!found) return;
      this.#writer.task(found);
      pid = found.parentPid;
    }
  }
}
