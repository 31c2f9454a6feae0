/** The frames of stacks in the order in which they are shown, as interleavers write them one after the other. */
export class MergedFrames {
  readonly #words: Uint32Array<ArrayBuffer>;
  #length = 0;

  /** `room`: so many words at most. Merged lists are no longer than they were before, as no frame is added. */
  constructor(room: number) {
    this.#words = new Uint32Array(room);
  }

  get length(): number {
    return this.#length;
  }

  push(word: number): void {
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
