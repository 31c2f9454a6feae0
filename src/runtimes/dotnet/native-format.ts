/** Reads the compact tables of precompiled images: src/coreclr/vm/nativeformatreader.h of .NET 8 to 10. */
import { Unreadable } from "./memory.ts";
import type { Work } from "./work.ts";

const BLOCK = 16;
const MAX_ELEMENTS = 1 << 22;
const MAX_BUCKETS = 1 << 22;

export class NativeReader {
  readonly #bytes: Buffer;
  readonly #work: Work;

  /** Each element and each entry that is looked for is taken from `work`. */
  constructor(bytes: Buffer, work: Work) {
    this.#bytes = bytes;
    this.#work = work;
  }

  step(): void {
    this.#work.take(1);
  }

  get length(): number {
    return this.#bytes.length;
  }

  u8(at: number): number {
    return this.index(at, 1);
  }

  /** Reads an unsigned number of 1, 2 or 4 bytes. */
  index(at: number, bytes: number): number {
    if (at < 0 || at + bytes > this.#bytes.length)
      throw new Unreadable("a table of its image is cut");
    return this.#bytes.readUIntLE(at, bytes);
  }

  /** Reads a number whose low bits say how many bytes it has; returns where the next thing starts, too. */
  unsigned(at: number): readonly [value: number, next: number] {
    const first = this.u8(at);
    if ((first & 1) === 0) return [first >>> 1, at + 1];
    if ((first & 2) === 0) return [this.index(at, 2) >>> 2, at + 2];
    if ((first & 4) === 0) return [(this.index(at, 2) + this.u8(at + 2) * 65_536) >>> 3, at + 3];
    if ((first & 8) === 0) return [this.index(at, 4) >>> 4, at + 4];
    return [this.index(at + 1, 4), at + 5];
  }

  /** Reads the like of unsigned(), with a sign. */
  signed(at: number): readonly [value: number, next: number] {
    const [value, next] = this.unsigned(at);
    const bits = [7, 14, 21, 28, 32][next - at - 1] ?? 32;
    return [bits < 32 && value >= 2 ** (bits - 1) ? value - 2 ** bits : value | 0, next];
  }

  /** Finds the elements of a sparse array: index and place. */
  *array(): Generator<readonly [index: number, at: number]> {
    if (this.length === 0) return;
    const [header, base] = this.unsigned(0);
    const count = Math.min(header >>> 2, MAX_ELEMENTS);
    const width = 1 << (header & 3);
    if (width > 4) throw new Unreadable("a table of its image is damaged");
    for (let index = 0; index < count; index++) {
      this.step();
      const root = base + this.index(base + Math.floor(index / BLOCK) * width, width);
      const at = this.#element(root, index % BLOCK);
      if (at !== undefined) yield [index, at];
    }
  }

  /** Finds an element of a block, which is a binary tree over the four bits of the index. */
  #element(root: number, index: number): number | undefined {
    let at = root;
    for (let bit = BLOCK / 2; bit > 0; bit >>= 1) {
      const [value, next] = this.unsigned(at);
      if (index & bit && value & 2) at += value >>> 2;
      else if ((index & bit) === 0 && value & 1) at = next;
      else if ((value & 3) === 0 && value >>> 2 === index) return next;
      else return undefined;
    }
    return at;
  }
}

/** Finds the places of all entries of a hash table. */
export function* readHashtable(reader: NativeReader): Generator<number> {
  if (reader.length === 0) return;
  const header = reader.u8(0);
  const buckets = 2 ** (header >>> 2);
  const width = 1 << (header & 3);
  if (buckets > MAX_BUCKETS || width > 4) throw new Unreadable("a table of its image is damaged");
  // Buckets must follow each other: so a table is gone through once, whatever it says.
  let last = 0;
  for (let bucket = 0; bucket < buckets; bucket++) {
    reader.step();
    const start = 1 + reader.index(1 + bucket * width, width);
    const end = 1 + reader.index(1 + (bucket + 1) * width, width);
    if (start < last || end < start) throw new Unreadable("a table of its image is damaged");
    last = end;
    for (let at = start; at < end; ) {
      reader.step();
      // An entry has the low byte of its hash, then its distance from here.
      const [distance, next] = reader.signed(at + 1);
      yield at + 1 + distance;
      at = next;
    }
  }
}
