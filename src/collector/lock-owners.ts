/** Who holds a lock: the number that a thread left in it, as the thread is known here; and the files that are locked. */
import { existsSync, readdirSync } from "node:fs";
import { readLink, readText } from "../machine/read-text.ts";

/** So many threads of processes in other PID namespaces are asked for their numbers there, in one refresh. */
const MAX_ASKED = 4096;

const namespaceOf = (pid: number | "self"): string | undefined => readLink(`/proc/${pid}/ns/pid`);

/** The number of a thread in the PID namespace that it is in: the last one of `NSpid` in proc_pid_status(5). */
const ownNumber = (status: string): number =>
  Number(/^NSpid:.*?(\d+)\s*$/m.exec(status)?.[1] ?? "0");

/**
 * The processes that hold what others wait for, by the pid that waits, of a text like /proc/locks (proc_locks(5)).
 * 0 where a process waits for several: a lock says which process took it, not which thread waits for it.
 */
export function fileLockHolders(text: string): Map<number, number> {
  const found = new Map<number, number>();
  let holder = 0;
  for (const line of text.split("\n")) {
    // The kernel shows who waits below the lock that is waited for, with an arrow in front.
    const parts = /^\d+:\s+(-> )?\s*\w+\s+\w+\s+\w+\s+(-?\d+)\s/.exec(line);
    if (!parts) continue;
    const number = Number(parts[2]);
    if (parts[1] === undefined) {
      holder = Math.max(number, 0);
    } else {
      const known = found.get(number);
      found.set(number, known === undefined || known === holder ? holder : 0);
    }
  }
  return found;
}

/** Answers for one refresh. */
export class LockOwners {
  readonly #known = new Map<string, number>();
  /** The namespace of polytop itself, once somebody asked. */
  #own: string | undefined;
  #files: Map<number, number> | undefined;
  #asked = 0;

  /**
   * The thread of a process that left `number` in a lock; 0 if the process has no such thread: what lies in a lock is
   * what the process wrote there, and may name anybody.
   */
  thread(pid: number, number: number): number {
    if (number <= 0) return 0;
    const key = `${pid} ${number}`;
    const known = this.#known.get(key) ?? this.#find(pid, number);
    this.#known.set(key, known);
    return known;
  }

  #find(pid: number, number: number): number {
    const namespace = namespaceOf(pid);
    if (namespace === undefined) return 0;
    this.#own ??= namespaceOf("self");
    if (namespace === this.#own) return existsSync(`/proc/${pid}/task/${number}`) ? number : 0;
    let threads: string[] = [];
    try {
      threads = readdirSync(`/proc/${pid}/task`);
    } catch {
      return 0;
    }
    for (const tid of threads) {
      if (this.#asked++ >= MAX_ASKED) return 0;
      const status = readText(`/proc/${pid}/task/${tid}/status`);
      if (status !== undefined && ownNumber(status) === number) return Number(tid);
    }
    return 0;
  }

  /** The process that holds the file lock for which a process waits; 0 if that is not known. */
  fileLock(pid: number): number {
    this.#files ??= fileLockHolders(readText("/proc/locks") ?? "");
    return this.#files.get(pid) ?? 0;
  }
}
