/** Things that are numbered upwards without gaps and forgotten from the lowest number on. */
export class Numbered<T> {
  #items: (T | undefined)[] = [];
  #first = 0;

  get(number: number): T | undefined {
    return this.#items[number - this.#first];
  }

  set(number: number, item: T): void {
    if (this.#items.length === 0) this.#first = number;
    if (number >= this.#first) this.#items[number - this.#first] = item;
  }

  /** Forgets all with a lower number. */
  forgetBelow(limit: number): void {
    const count = Math.min(limit - this.#first, this.#items.length);
    if (count <= 0) return;
    this.#items = this.#items.slice(count);
    this.#first += count;
  }
}
