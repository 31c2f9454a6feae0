/** Names the methods of one process that runs .NET. */
import type { SeenMethod } from "../../addon/drained.ts";
import type { NamedFunction } from "../reader.ts";
import { type Link, linkOf } from "./awaits/links.ts";
import type { ImageMethod } from "./instance-name.ts";
import { type Layout, layoutOf, NEWEST_MEASURED, readDescriptor } from "./layout.ts";
import { type ProcessMemory, Unreadable } from "./memory.ts";
import { type MethodBody, type MethodName, MethodReader } from "./method.ts";
import type { ImageCache } from "./modules.ts";

/** The file of a runtime, as far as names need it. */
export interface RuntimeFile {
  readonly major: number;
  /** Address of the contract descriptor in the file's headers, 0 if there is none. */
  readonly descriptor: number;
}

/** The number that the allocator of what may be collected had, and the address of it; 0: it cannot be collected. */
type AllocatedBy = Pick<SeenMethod, "allocator" | "allocatorNumber">;

const MAX_NAMES = 200_000;
/** This many methods without a name, and none with one, are no accident. */
const MISFITS = 8;

/** Keeps names of frame words for as long as the process lives: the kernel side tells of each once. */
export class DotnetProcess {
  readonly memory: ProcessMemory;
  /** The version of its runtime where that is later than what was tried; else 0. */
  readonly untried: number;
  readonly #open: () => { readonly layout: Layout; readonly reader: MethodReader };
  #opened: { readonly layout: Layout; readonly reader: MethodReader } | undefined;
  readonly #awaited = new Map<bigint, SeenMethod>();
  readonly #names = new Map<bigint, NamedFunction>();
  #isNamed = false;
  #isChecked = false;
  #refusals = 0;
  #lastRefusal = "";

  constructor(memory: ProcessMemory, file: RuntimeFile, bias: number, cache: ImageCache) {
    this.memory = memory;
    this.untried = file.major > NEWEST_MEASURED ? file.major : 0;
    this.#open = () => {
      const layout = layoutOf(file.major, describe(memory, file, bias));
      return { layout, reader: new MethodReader(memory, layout, cache) };
    };
  }

  /** Most methods are named by their files: the process is asked of its layouts only where one is not. */
  get #parts(): { readonly layout: Layout; readonly reader: MethodReader } {
    this.#opened ??= this.#open();
    return this.#opened;
  }

  /** The name that is known of a frame word. */
  known(word: bigint): NamedFunction | undefined {
    return this.#names.get(word);
  }

  /** Remembers a method until the file that it is in is known, which names it. */
  await(word: bigint, seen: SeenMethod): void {
    if (this.#awaited.size >= MAX_NAMES) this.#awaited.clear();
    this.#awaited.set(word, seen);
    this.#names.delete(word);
  }

  awaited(word: bigint): SeenMethod | undefined {
    return this.#awaited.get(word);
  }

  keep(word: bigint, named: NamedFunction): NamedFunction {
    this.#awaited.delete(word);
    if (this.#names.size >= MAX_NAMES) this.#names.clear();
    this.#names.set(word, named);
    if (named.whyUnnamed === undefined) {
      this.#isNamed = true;
    } else {
      this.#refusals++;
      this.#lastRefusal = named.whyUnnamed;
    }
    return named;
  }

  /** Says why no method at all could be named, where that is so: the runtime is not laid out as it says. */
  get misfit(): string | undefined {
    return this.#isNamed || this.#refusals < MISFITS ? undefined : this.#lastRefusal;
  }

  /** The method whose code starts at an address; its MethodDesc is read from its code header. */
  methodAt(start: number): MethodName {
    return this.method(start, this.#methodDescOf(start));
  }

  /**
   * The name of the MethodDesc whose code starts at an address, of what an allocator allocated. Throws Unreadable where
   * it is not certain.
   */
  method(start: number, methodDesc: number, by?: AllocatedBy): MethodName {
    const name = this.#parts.reader.name(methodDesc);
    // Code that was collected meanwhile may have given its place to another method, and all else with it.
    if (this.#methodDescOf(start, this.memory.now) !== methodDesc || (by && !this.#isAllocated(by)))
      throw new Unreadable("its code was collected");
    this.#isChecked = true;
    return name;
  }

  /** Says that the runtime was read though nobody has tried it, where that is so. */
  get news(): string | undefined {
    if (this.untried === 0 || !this.#isChecked) return undefined;
    return `.NET ${this.untried} is newer than what was tried (${NEWEST_MEASURED}): its layout was checked against itself`;
  }

  #isAllocated({ allocator, allocatorNumber }: AllocatedBy): boolean {
    if (allocator === 0) return true;
    return this.memory.now.bytes(allocator, 8).readBigUInt64LE(0) === allocatorNumber;
  }

  /** Tells which body of its method the code at an address is. Throws Unreadable where it is not certain. */
  body(start: number): MethodBody {
    const methodDesc = this.#methodDescOf(start);
    const body = this.#parts.reader.body(start, methodDesc);
    if (this.#methodDescOf(start, this.memory.now) !== methodDesc)
      throw new Unreadable("its code was collected");
    return body;
  }

  /** What objects of the type with a MethodTable tell of who awaits them. */
  linkOf(type: number): Link {
    return linkOf(type, this.#parts.reader.heap);
  }

  /** The precompiled method at an address of an image. */
  imageMethod(address: number, image: number): ImageMethod {
    return this.#parts.reader.imageMethod(address, image);
  }

  #methodDescOf(start: number, memory = this.memory): number {
    const header = memory.pointer(start - 8);
    return memory.pointer(header + this.#parts.layout.at["RealCodeHeader.MethodDesc"]);
  }
}

function describe(memory: ProcessMemory, file: RuntimeFile, bias: number): unknown {
  if (file.descriptor === 0) return undefined;
  try {
    return readDescriptor(memory, bias + file.descriptor);
  } catch (error) {
    // The measured layout of a version is complete: it has to do without a descriptor, and a later version cannot.
    if (error instanceof Unreadable || error instanceof SyntaxError) return undefined;
    throw error;
  }
}
