/** Numbers that will hardly be read again, compressed beside the main thread's work. */
import { deflateRaw, inflateRawSync } from "node:zlib";

/** Stacks repeat each other's frames: the fastest level finds that. */
const LEVEL = 1;

export class ArchivedNumbers {
  /** The numbers as they came, until they are compressed. */
  #plain: Uint32Array | undefined;
  #packed: Buffer | undefined;
  /** Who reads of one refresh reads of the next one too. */
  #lately: WeakRef<Uint32Array> | undefined;

  constructor(values: Uint32Array) {
    this.#plain = values;
    deflateRaw(values, { level: LEVEL }, (error, packed) => {
      // Without memory for it they stay as they are.
      if (error) return;
      // A copy: the buffer that comes is part of a larger one.
      this.#packed = Buffer.from(packed);
      this.#lately = new WeakRef(values);
      this.#plain = undefined;
    });
  }

  values(): Uint32Array {
    const known = this.#plain ?? this.#lately?.deref();
    if (known) return known;
    const bytes = inflateRawSync(this.#packed ?? Buffer.alloc(0));
    const values = new Uint32Array(new Uint8Array(bytes).buffer);
    this.#lately = new WeakRef(values);
    return values;
  }

  /** The memory that is taken for good. */
  get bytes(): number {
    return this.#plain?.byteLength ?? this.#packed?.byteLength ?? 0;
  }
}
