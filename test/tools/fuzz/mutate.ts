/** Changes inputs at random, and mixes them. */

/** Numbers at random, the same ones for the same seed. */
export class Chance {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0 || 1;
  }

  /** A whole number from 0 on, below a limit (xorshift32). */
  below(limit: number): number {
    let state = this.#state;
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    this.#state = state >>> 0;
    return limit > 0 ? this.#state % limit : 0;
  }

  of<Value>(values: readonly Value[]): Value | undefined {
    return values[this.below(values.length)];
  }
}

const INTERESTING = [0, 1, 0x7f, 0x80, 0xff, 0x7fff, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff];

type Change = (bytes: Buffer, chance: Chance, others: readonly Buffer[]) => Buffer;

const CHANGES: readonly Change[] = [
  (bytes, chance) => {
    const at = chance.below(bytes.length);
    bytes[at] = (bytes[at] ?? 0) ^ (1 << chance.below(8));
    return bytes;
  },
  (bytes, chance) => {
    bytes[chance.below(bytes.length)] = chance.below(256);
    return bytes;
  },
  (bytes, chance) => {
    const at = chance.below(bytes.length);
    bytes[at] = (bytes[at] ?? 0) + chance.below(33) - 16;
    return bytes;
  },
  (bytes, chance) => {
    const value = chance.of(INTERESTING) ?? 0;
    if (bytes.length >= 4) bytes.writeUInt32LE(value, chance.below(bytes.length - 3));
    return bytes;
  },
  // Taken out, put in twice.
  (bytes, chance) => {
    const at = chance.below(bytes.length);
    return Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + 1 + chance.below(16))]);
  },
  (bytes, chance) => {
    const at = chance.below(bytes.length);
    const part = bytes.subarray(at, at + 1 + chance.below(32));
    return Buffer.concat([bytes.subarray(0, at), part, bytes.subarray(at)]);
  },
  // From another input.
  (bytes, chance, others) => {
    const other = chance.of(others) ?? bytes;
    const from = chance.below(other.length);
    const part = other.subarray(from, from + 1 + chance.below(64));
    const at = chance.below(bytes.length);
    const behind = chance.below(2) === 0 ? at : at + part.length;
    return Buffer.concat([bytes.subarray(0, at), part, bytes.subarray(behind)]);
  },
];

/** Another input made of one of these; at most so long. */
export function mutate(inputs: readonly Buffer[], chance: Chance, longest: number): Buffer {
  let bytes = Buffer.from(chance.of(inputs) ?? Buffer.alloc(1));
  for (let left = 1 + chance.below(5); left > 0; left--) {
    if (bytes.length === 0) bytes = Buffer.alloc(1);
    bytes = Buffer.from(chance.of(CHANGES)?.(bytes, chance, inputs) ?? bytes);
  }
  return bytes.subarray(0, longest);
}
