/**
 * Reads the names that JIT compilers leave for profilers in /tmp/perf-PID.map: a line
 * `start size name` (hexadecimal, hexadecimal, the rest) for each function, appended to as code
 * is compiled (tools/perf/Documentation/jit-interface.txt of Linux).
 */
import { Told } from "../told.ts";
import { type Changes, type PerfMapName, ProcessMap, UNREAD } from "./process-map.ts";
import { ReadBudget, type ReadLimits } from "./read-budget.ts";
import { UserTurns } from "./user-turns.ts";

export interface PerfMapsOptions {
  readonly proc?: string;
  /** Milliseconds, on a clock that does not go back. */
  readonly now?: () => number;
}

/** Limits of what is kept at once of all processes. */
const MAX_PROCESSES = 1024;
const MAX_MEMORY_BYTES = 64 * 1024 * 1024;
/** Shorter than a refresh, so that each of them has its own budget. */
const REFRESH_MILLISECONDS = 900;
/**
 * What is not read in a refresh is read in the next ones. A map of 30 MB is ready in some seconds, and whoever writes
 * on and on costs no more than 3 % of a CPU.
 */
const LIMITS: ReadLimits = {
  bytes: 8 * 1024 * 1024,
  milliseconds: 80,
  millisecondsOfSecond: 30,
  savedMilliseconds: 400,
};

const ROOT = 0;

/**
 * Keeps the perf maps of processes. Each is read when it is asked for, and on as it grows: root's first, those of other
 * users in turn, for as long as a refresh allows. A process that is gone keeps the names that are known, until another
 * one has its pid.
 */
export class PerfMaps {
  readonly #proc: string;
  readonly #now: () => number;
  readonly #processes = new Map<number, ProcessMap>();
  readonly #turns = new UserTurns<ProcessMap>();
  readonly #budget = new ReadBudget(LIMITS, REFRESH_MILLISECONDS);
  readonly #told = new Told();

  constructor(options: PerfMapsOptions = {}) {
    this.#proc = options.proc ?? "/proc";
    this.#now = options.now ?? (() => performance.now());
  }

  /**
   * Reads on in the maps of processes, unless that was just done, or lately in vain: in steps of some 5 ms. Its time is
   * that of the reading alone.
   */
  *reading(pids: Iterable<number>): Generator<void, void> {
    this.#budget.renew(this.#now());
    for (const pid of pids) {
      this.#ask(pid);
      yield;
    }
    for (let next = this.#turns.pop(); next; next = this.#turns.pop()) {
      if (this.#budget.isLeft) this.#look(next);
      else this.#postpone(next);
      yield;
    }
  }

  /** Finds the function of a process that holds the address, by what was read. */
  find(pid: number, address: bigint): PerfMapName {
    return this.#processes.get(pid)?.find(Number(address)) ?? UNREAD;
  }

  /**
   * Says which names of a process may be others than at the last call; undefined: none. Compilers write names down as
   * they compile, and put new code where old code was.
   */
  takeChanges(pid: number): Changes | undefined {
    return this.#processes.get(pid)?.takeChanges();
  }

  /** Says whose maps are too much for all to be read. */
  notices(): string[] {
    return this.#told.take();
  }

  get memoryBytes(): number {
    let bytes = 0;
    for (const process of this.#processes.values()) bytes += process.memoryBytes;
    return bytes;
  }

  #ask(pid: number): void {
    const begun = this.#now();
    // The process that was asked for last is the last to be forgotten.
    const known = this.#processes.get(pid);
    // To meet a process takes time too.
    if (!known && !this.#budget.isAmple) return;
    const process = known ?? new ProcessMap(pid, this.#proc);
    this.#processes.delete(pid);
    this.#processes.set(pid, process);
    process.usedAt = begun;
    if (this.#processes.size > MAX_PROCESSES) this.#forgetOne();
    if (process.isDue(begun)) this.#turns.push(process.user, process.unreadBytes, process);
    this.#budget.spend(process.user, 0, this.#now() - begun);
  }

  #look(process: ProcessMap): void {
    const begun = this.#now();
    const { user } = process;
    const bytes = process.look(begun);
    const taken = this.#now() - begun;
    this.#budget.spend(user, bytes, taken);
    this.#turns.charge(user, taken);
    if (bytes > 0) this.#makeRoom(begun);
    if (process.hasMore) this.#turns.push(user, process.unreadBytes, process);
  }

  #postpone(process: ProcessMap): void {
    process.postpone();
    const greatest = this.#budget.greatest;
    if (greatest === undefined || (greatest === ROOT && process.user === ROOT)) return;
    this.#told.tell(
      `/tmp/perf-PID.map of user ${greatest}'s processes take long to read: generated code is named late`,
    );
  }

  /** The user who has most of something; root only if it has more than a half of what there may be. */
  #greatest(most: number, amount: (process: ProcessMap) => number): number {
    const users = new Map<number, number>();
    for (const it of this.#processes.values())
      users.set(it.user, (users.get(it.user) ?? 0) + amount(it));
    if ((users.get(ROOT) ?? 0) <= most / 2 && users.size > 1) users.delete(ROOT);
    const [greatest] = [...users].toSorted(([, a], [, b]) => b - a);
    return greatest?.[0] ?? ROOT;
  }

  /** Forgets the process of the user with most of them that nobody asked for longest. */
  #forgetOne(): void {
    const user = this.#greatest(MAX_PROCESSES, () => 1);
    for (const [pid, process] of this.#processes) {
      if (process.user === user) return void this.#processes.delete(pid);
    }
  }

  /**
   * Lets maps of the user go who has most, until the rest is small enough: those that nobody asked for lately. Others
   * would only be read again: of them the largest goes, and rests.
   */
  #makeRoom(now: number): void {
    while (this.memoryBytes > MAX_MEMORY_BYTES) {
      const user = this.#greatest(MAX_MEMORY_BYTES, (it) => it.memoryBytes);
      const maps = [...this.#processes].filter(([, it]) => it.user === user && it.memoryBytes > 0);
      const [oldest] = maps;
      if (oldest && now - oldest[1].usedAt >= REFRESH_MILLISECONDS) {
        this.#processes.delete(oldest[0]);
        continue;
      }
      const [largest] = maps.toSorted(([, a], [, b]) => b.memoryBytes - a.memoryBytes);
      if (!largest) return;
      largest[1].makeRoom(now);
      this.#told.tell(
        `/tmp/perf-${largest[0]}.map of user ${user} is longer than there is room for: its generated code is not named`,
      );
    }
  }
}
