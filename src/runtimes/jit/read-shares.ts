/** Divides what is read of all perf maps among those who want to read: none can keep the others from it. */
export class ReadShares {
  readonly #bytes: number;
  readonly #milliseconds: number;
  #begin = Number.NEGATIVE_INFINITY;
  #left: number;
  /** Who read since then, and how many did in the time before: each of as many has a share. */
  readonly #readers = new Set<number>();
  #expected = 1;

  /** So many bytes may be read in so many milliseconds. */
  constructor(bytes: number, milliseconds: number) {
    this.#bytes = bytes;
    this.#milliseconds = milliseconds;
    this.#left = bytes;
  }

  /** Says how many bytes a process's map may be read by now. */
  of(pid: number, now: number): number {
    if (now - this.#begin >= this.#milliseconds) {
      this.#begin = now;
      this.#left = this.#bytes;
      this.#expected = Math.max(1, this.#readers.size);
      this.#readers.clear();
    }
    this.#readers.add(pid);
    return Math.min(this.#left, Math.ceil(this.#bytes / this.#expected));
  }

  /** Counts bytes that were read. */
  spend(bytes: number): void {
    this.#left = Math.max(0, this.#left - bytes);
  }
}
