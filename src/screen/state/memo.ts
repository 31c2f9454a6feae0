/** Keeps the last result of what takes long, while all that it depends on stays the same. */
export class Memo<T> {
  #key: readonly unknown[] | undefined;
  #result: T | undefined;

  /** Returns the result for a key, compared part by part; `make` works it out for another one. */
  of(key: readonly unknown[], make: () => T): T {
    if (
      this.#result === undefined ||
      this.#key?.length !== key.length ||
      !key.every((part, i) => part === this.#key?.[i])
    ) {
      this.#result = make();
      this.#key = key;
    }
    return this.#result;
  }
}
