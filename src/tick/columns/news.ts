/** Numbers that grow, taken from time to time: about as many each time. */
export class News {
  #values = new Uint32Array(16);
  /** How many there is room for. In code that Maglev compiled, V8 calls a function for the length of an array. */
  #room = 16;
  #length = 0;

  push(value: number): void {
    if (this.#length === this.#room) this.#reserve(1);
    this.#values[this.#length++] = value;
  }

  /** Adds the values of an array from one place to before another. */
  append(values: Int32Array, start: number, end: number): void {
    this.#reserve(end - start);
    const own = this.#values;
    let length = this.#length;
    for (let at = start; at < end; at++) own[length++] = values[at] ?? 0;
    this.#length = length;
  }

  /** Adds a value so many times. */
  repeat(value: number, count: number): void {
    this.#reserve(count);
    const own = this.#values;
    let length = this.#length;
    for (const end = length + count; length < end; ) own[length++] = value;
    this.#length = length;
  }

  #reserve(count: number): void {
    if (this.#length + count <= this.#room) return;
    this.#room = Math.max(this.#length + count, 2 * this.#room);
    const longer = new Uint32Array(this.#room);
    longer.set(this.#values);
    this.#values = longer;
  }

  /** The numbers since the last call, in memory of their own. */
  take(): Uint32Array<ArrayBuffer> {
    const taken = this.#values.slice(0, this.#length);
    this.#length = 0;
    return taken;
  }
}
