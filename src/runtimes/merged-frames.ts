/** The frames of stacks in the order in which they are shown, as interleavers write them one after the other. */
export class MergedFrames {
  #words: Uint32Array<ArrayBuffer>;
  #length = 0;

  constructor(room = 1024) {
    this.#words = new Uint32Array(room);
  }

  get length(): number {
    return this.#length;
  }

  at(index: number): number {
    return this.#words[index] ?? 0;
  }

  push(word: number): void {
    if (this.#length === this.#words.length) {
      const words = new Uint32Array(2 * this.#length);
      words.set(this.#words);
      this.#words = words;
    }
    this.#words[this.#length++] = word;
  }

  /** Adds a native frame. Beside interpreted frames the number after that of a native frame is the same one, hidden. */
  pushNative(number: number, isHidden: boolean): void {
    this.push(isHidden ? number + 1 : number);
  }

  set(index: number, word: number): void {
    this.#words[index] = word;
  }

  /** All words, in memory of their own. */
  copy(): Uint32Array<ArrayBuffer> {
    return this.#words.slice(0, this.#length);
  }
}
