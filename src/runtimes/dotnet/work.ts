/** Bounds what reading something of a process or of its file may cost, however it is made. */
import { Unreadable } from "./memory.ts";

/** So many steps, some 50 ns each; who takes more reads what is no honest table. */
export class Work {
  #left: number;
  readonly #what: string;

  /** `what` takes too long then, as the reason says: "its types". */
  constructor(steps: number, what: string) {
    this.#left = steps;
    this.#what = what;
  }

  /** Throws Unreadable where more is taken than there is. */
  take(steps: number): void {
    this.#left -= steps;
    if (this.#left < 0) throw new Unreadable(`${this.#what} take too long to read`);
  }
}

/** A share of the time for who may ask again and again: so much at once, and this part of what goes by. */
const FIRST_MILLISECONDS = 500;
const SHARE = 0.02;

/** The time that is spent on one file. */
export class TimeShare {
  readonly #now: () => number;
  readonly #begun: number;
  #spent = 0;

  /** `now` says milliseconds on a clock that does not go back. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
    this.#begun = now();
  }

  /** Returns what `work` returns; throws Unreadable where its time is used up. */
  spend<Value>(work: () => Value): Value {
    const start = this.#now();
    if (this.#spent > FIRST_MILLISECONDS + SHARE * (start - this.#begun))
      throw new Unreadable("its file takes too long to read");
    try {
      return work();
    } finally {
      this.#spent += this.#now() - start;
    }
  }
}
