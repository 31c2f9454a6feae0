/** Watches the processes that sampling is narrowed to: whether they still are the same ones. */
import { startOfProcess } from "../machine/process-start.ts";

/** A pid that no process has: sampling nothing is not sampling everything. */
const NOBODY = 0;

export class TargetWatch {
  #starts = new Map<number, string | undefined>();
  #notices: string[] = [];
  readonly #startOf: (pid: number) => string | undefined;

  constructor(pids: readonly number[], startOf = startOfProcess) {
    this.#startOf = startOf;
    this.set(pids);
  }

  set(pids: readonly number[]): void {
    this.#starts = new Map(pids.map((pid) => [pid, this.#startOf(pid)]));
    // What has no start by now is a zombie, or has gone since it was asked for.
    const gone = pids.filter((pid) => this.#starts.get(pid) === undefined);
    this.#notices = gone.map((pid) => `pid ${pid} has exited`);
  }

  /** The pids that were asked for. */
  wanted(): number[] {
    return [...this.#starts.keys()];
  }

  /** The pids to sample: those that still are what was asked for. */
  sampled(): number[] {
    if (this.#starts.size === 0) return [];
    const alive = this.wanted().filter((pid) => this.#starts.get(pid) !== undefined);
    return alive.length > 0 ? alive : [NOBODY];
  }

  /** Looks at the processes again. `changed`: sampled() is another list now. */
  check(): { changed: boolean; notices: readonly string[] } {
    let changed = false;
    for (const [pid, start] of this.#starts) {
      const now = this.#startOf(pid);
      if (start === undefined || now === start) continue;
      this.#starts.set(pid, undefined);
      this.#notices.push(
        now === undefined
          ? `pid ${pid} has exited`
          : `pid ${pid} has exited; another process has its number`,
      );
      changed = true;
    }
    return { changed, notices: [...this.#notices] };
  }
}
