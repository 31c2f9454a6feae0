/** Numbers things from 0 on as they are first met, by a key; what is new can be taken from time to time. */
export class Interner<Key, Item> {
  readonly #numbers = new Map<Key, number>();
  #news: Item[] = [];

  get size(): number {
    return this.#numbers.size;
  }

  /** The number of a key; `item` is kept as news if the key is met for the first time. */
  number(key: Key, item: Item): number {
    const known = this.#numbers.get(key);
    if (known !== undefined) return known;
    const number = this.#numbers.size;
    this.#numbers.set(key, number);
    this.#news.push(item);
    return number;
  }

  /** Items that are new since the last call, in the order of their numbers. */
  takeNews(): Item[] {
    const news = this.#news;
    this.#news = [];
    return news;
  }
}
