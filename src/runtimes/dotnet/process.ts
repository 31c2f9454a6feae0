/** A process that runs .NET: what its methods are called. */
import type { NamedFunction } from "../frames.ts";
import { type Layout, layoutOf, readDescriptor } from "./layout.ts";
import { type ProcessMemory, Unreadable } from "./memory.ts";
import { type ImageCache, type MethodName, MethodReader } from "./method.ts";

/** The file of a runtime, as far as names need it. */
export interface RuntimeFile {
  readonly major: number;
  /** Address of the contract descriptor in the file's headers, 0 if there is none. */
  readonly descriptor: number;
}

const MAX_NAMES = 200_000;

/** Names of code addresses are kept for as long as the process lives: the kernel side tells of each once. */
export class DotnetProcess {
  readonly memory: ProcessMemory;
  readonly #reader: MethodReader;
  readonly #layout: Layout;
  readonly #names = new Map<bigint, NamedFunction>();

  constructor(memory: ProcessMemory, file: RuntimeFile, bias: number, cache: ImageCache) {
    this.memory = memory;
    this.#layout = layoutOf(file.major, describe(memory, file, bias));
    this.#reader = new MethodReader(memory, this.#layout, cache);
  }

  /** What is known of a frame word. */
  known(word: bigint): NamedFunction | undefined {
    return this.#names.get(word);
  }

  keep(word: bigint, named: NamedFunction): NamedFunction {
    if (this.#names.size >= MAX_NAMES) this.#names.clear();
    this.#names.set(word, named);
    return named;
  }

  /** The method whose code starts at an address; its MethodDesc is read from its code header. */
  methodAt(start: number): MethodName {
    return this.method(start, this.#methodDescOf(start));
  }

  /** The name of the MethodDesc whose code starts at an address. Throws Unreadable where it is not certain. */
  method(start: number, methodDesc: number): MethodName {
    const name = this.#reader.name(methodDesc);
    // Code that was collected meanwhile may have given its place to another method.
    if (this.#methodDescOf(start) !== methodDesc) throw new Unreadable("its code was collected");
    return name;
  }

  /** The precompiled method at an address of an image. */
  imageMethod(address: number, image: number): MethodName {
    return this.#reader.imageMethod(address, image);
  }

  #methodDescOf(start: number): number {
    const header = this.memory.pointer(start - 8);
    return this.memory.pointer(header + this.#layout.headerMethodDesc);
  }
}

function describe(memory: ProcessMemory, file: RuntimeFile, bias: number): unknown {
  if (file.descriptor === 0) return undefined;
  try {
    return readDescriptor(memory, bias + file.descriptor);
  } catch (error) {
    // The table of the version is complete: without a descriptor it has to do.
    if (error instanceof Unreadable || error instanceof SyntaxError) return undefined;
    throw error;
  }
}
