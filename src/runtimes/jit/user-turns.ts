/** Whose turn it is to have something read. native/turns/fair_queue.h does the same for files. */
import { firstWhere } from "../../tick/binary-search.ts";

const ROOT = 0;
/** Users that are remembered. */
const MAX_USERS = 1024;

interface Line<Job> {
  /** The smallest is the last. */
  readonly jobs: { readonly size: number; readonly job: Job }[];
  /** What the jobs of the user took, in whatever unit. */
  taken: number;
}

/**
 * Jobs of users. Root's come first; else it is the turn of the user whose jobs took least, so that nobody waits for all
 * that another one asks for. Of the jobs of a user the smallest comes first.
 */
export class UserTurns<Job> {
  readonly #lines = new Map<number, Line<Job>>();
  /** What the jobs of the user had taken whose turn came last. */
  #reached = 0;

  push(user: number, size: number, job: Job): void {
    const line = this.#line(user);
    // Time in which somebody asked for nothing is lost to him.
    if (line.jobs.length === 0) line.taken = Math.max(line.taken, this.#reached);
    const at = firstWhere(0, line.jobs.length, (i) => (line.jobs[i]?.size ?? 0) <= size);
    line.jobs.splice(at, 0, { size, job });
  }

  /** Takes the next job out; undefined where there is none. */
  pop(): Job | undefined {
    let next: Line<Job> | undefined = this.#lines.get(ROOT);
    if (!next?.jobs.length) {
      next = undefined;
      for (const line of this.#lines.values()) {
        if (line.jobs.length > 0 && (!next || line.taken < next.taken)) next = line;
      }
      if (next) this.#reached = next.taken;
    }
    return next?.jobs.pop()?.job;
  }

  /** Notes what a job of a user took. */
  charge(user: number, taken: number): void {
    this.#line(user).taken += taken;
  }

  #line(user: number): Line<Job> {
    const known = this.#lines.get(user);
    if (known) return known;
    if (this.#lines.size >= MAX_USERS) this.#forgetIdle();
    const line = { jobs: [], taken: 0 };
    this.#lines.set(user, line);
    return line;
  }

  #forgetIdle(): void {
    for (const [user, { jobs }] of this.#lines) if (jobs.length === 0) this.#lines.delete(user);
  }
}
