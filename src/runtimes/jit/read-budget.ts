/** Limits what is read of all perf maps: whoever waits for a disk or many lines waits with all names. */

export interface ReadLimits {
  /** Of one refresh. */
  readonly bytes: number;
  readonly milliseconds: number;
  /** How much of each second may be used in the long run, and how much of what was not is saved. */
  readonly millisecondsOfSecond: number;
  readonly savedMilliseconds: number;
}

export class ReadBudget {
  readonly #limits: ReadLimits;
  readonly #refresh: number;
  #begin = Number.NEGATIVE_INFINITY;
  #bytes = 0;
  #milliseconds = 0;
  #saved = 0;
  /** Milliseconds that were taken in this refresh, by user. */
  readonly #users = new Map<number, number>();

  /** `refresh`: how long one is at least, in milliseconds. */
  constructor(limits: ReadLimits, refresh: number) {
    this.#limits = limits;
    this.#refresh = refresh;
  }

  /** Begins anew if a refresh has passed. What was taken beyond the limits is owed, a part of it at most. */
  renew(now: number): void {
    const passed = now - this.#begin;
    if (passed < this.#refresh) return;
    const { bytes, milliseconds, millisecondsOfSecond, savedMilliseconds } = this.#limits;
    const owed = Math.max(this.#saved, -millisecondsOfSecond);
    this.#saved = Math.min(savedMilliseconds, owed + (passed / 1000) * millisecondsOfSecond);
    this.#begin = now;
    this.#users.clear();
    this.#bytes = bytes;
    this.#milliseconds = Math.min(milliseconds, this.#saved);
  }

  /** Whether more may be read. */
  get isLeft(): boolean {
    return this.#bytes > 0 && this.#milliseconds > 0;
  }

  /** Whether more than a half of the time is left that all may have. */
  get isAmple(): boolean {
    return this.#milliseconds > this.#limits.millisecondsOfSecond / 2;
  }

  /** The user who took most, if anybody took something. */
  get greatest(): number | undefined {
    const [greatest] = [...this.#users].toSorted(([, a], [, b]) => b - a);
    return greatest?.[0];
  }

  /** Counts what was taken for a user. */
  spend(user: number, bytes: number, milliseconds: number): void {
    this.#bytes -= bytes;
    this.#milliseconds -= milliseconds;
    this.#saved -= milliseconds;
    this.#users.set(user, (this.#users.get(user) ?? 0) + milliseconds);
  }
}
