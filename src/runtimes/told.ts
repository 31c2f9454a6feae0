/** What is told for a while, so that it is read: the screen has no room for much. */

/** So much is told in a refresh, each for so many refreshes. */
const MAX_NOTICES = 3;
const TOLD_REFRESHES = 10;

export class Told {
  /** For how many refreshes each is still told. */
  readonly #left = new Map<string, number>();

  /** Tells something, unless there is too much to tell already. */
  tell(notice: string): void {
    if (this.#left.has(notice) || this.#left.size < MAX_NOTICES)
      this.#left.set(notice, TOLD_REFRESHES);
  }

  /** What is told in the next refresh. */
  take(): string[] {
    const told = [...this.#left];
    for (const [notice, left] of told) {
      if (left > 1) this.#left.set(notice, left - 1);
      else this.#left.delete(notice);
    }
    return told.map(([notice]) => notice);
  }
}
