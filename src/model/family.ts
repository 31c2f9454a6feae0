/** Remembers who started whom, so that "a process and all below it" holds processes that were never sampled. */
import type { Task } from "../tick/tick.ts";

/** Deeper families than this are taken for rings. */
const MAX_DEPTH = 64;
/** So many processes are remembered; the oldest half goes when there are more. */
const MAX_KNOWN = 20_000;

/** Says the parent of a process that was not sampled, as long as it is there. */
export type ParentLookup = (pid: number) => number | undefined;

/** Keeps parents as they were when a process was first met: who outlives its parent is still below it. */
export class Family {
  readonly #lookUp: ParentLookup;
  #parents = new Map<number, { parent: number; startTime: number }>();

  constructor(lookUp: ParentLookup = () => undefined) {
    this.#lookUp = lookUp;
  }

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
    const known = this.#parents.get(pid);
    if (known) return known.parent;
    const parent = this.#lookUp(pid);
    // The process has no samples yet: whatever comes with samples of that pid is newer.
    if (parent !== undefined) this.#parents.set(pid, { parent, startTime: -1 });
    return parent;
  }

  /** Says whether a task belongs to `pid` or to a process below it. */
  isBelow(task: Task, pid: number): boolean {
    if (task.pid === pid || task.parentPid === pid) return true;
    this.register(task);
    let at: number | undefined = this.parentOf(task.pid);
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
