/** Numbers that grow, taken from time to time: about as many each time. */
export class News {
  #values = new Uint32Array(16);
  #length = 0;

  push(value: number): void {
    if (this.#length === this.#values.length) {
      const longer = new Uint32Array(2 * this.#length);
      longer.set(this.#values);
      this.#values = longer;
    }
    this.#values[this.#length++] = value;
  }

  /** The numbers since the last call, in memory of their own. */
  take(): Uint32Array<ArrayBuffer> {
    const taken = this.#values.slice(0, this.#length);
    this.#length = 0;
    return taken;
  }
}
