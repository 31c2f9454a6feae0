/** Remembers who started whom, so that "a process and all below it" holds processes that were never sampled. */
import type { Task } from "./tick.ts";

/** Deeper families than this are taken for rings. */
const MAX_DEPTH = 64;
/** So many processes are remembered; the oldest half goes when there are more. */
const MAX_KNOWN = 20_000;

/** Keeps parents as they were when a process was first met: who outlives its parent is still below it. */
export class Family {
  #parents = new Map<number, { parent: number; startTime: number }>();

  /** Remembers a task. A pid that is used again is another process. */
  register({ pid, parentPid, startTime }: Task): void {
    const known = this.#parents.get(pid);
    if (known && (known.startTime === startTime || known.startTime > startTime)) return;
    if (this.#parents.size >= MAX_KNOWN) {
      this.#parents = new Map([...this.#parents].slice(MAX_KNOWN / 2));
    }
    this.#parents.set(pid, { parent: parentPid, startTime });
  }

  /** Returns the parent of a process; undefined where nobody knows it. */
  parentOf(pid: number): number | undefined {
    return this.#parents.get(pid)?.parent;
  }

  /** Says whether a task belongs to `pid` or to a process below it. */
  isBelow(task: Task, pid: number): boolean {
    if (task.pid === pid || task.parentPid === pid) return true;
    let at: number | undefined = this.parentOf(task.pid) ?? task.parentPid;
    for (let depth = 0; at !== undefined && at > 0 && depth < MAX_DEPTH; depth++) {
      if (at === pid) return true;
      at = this.parentOf(at);
    }
    return false;
  }

  /** Finds the nearest ancestor that fulfils a condition. */
  nearest(pid: number, parentPid: number, accept: (pid: number) => boolean): number | undefined {
    let at: number | undefined = parentPid;
    for (let depth = 0; at !== undefined && at > 0 && depth < MAX_DEPTH; depth++) {
      if (at === pid) return undefined;
      if (accept(at)) return at;
      at = this.parentOf(at);
    }
    return undefined;
  }
}
