/** Reads the name and the body of a MethodDesc out of the memory of its process. */
import {
  DOTNET_CLASS_ARRAY,
  DOTNET_CLASS_DYNAMIC,
  DOTNET_CLASS_INSTANTIATED,
  DOTNET_CLASS_MASK,
  DOTNET_METHOD_FLAGS,
  DOTNET_METHOD_SLOT,
} from "../../../build/abi.ts";
import { HeapTypes } from "./awaits/heap-types.ts";
import { type GenericArgument, paired } from "./generic-arguments.ts";
import { PeImage } from "./image.ts";
import type { ImageMethod } from "./instance-name.ts";
import { type Layout, NEWEST_MEASURED } from "./layout.ts";
import { type ProcessMemory, pointerAt, Unreadable } from "./memory.ts";
import { type ImageCache, type Module, ModuleReader } from "./modules.ts";
import { type Tier, TierReader } from "./tier.ts";
import { TypeReader } from "./types.ts";

/** A method as it is shown. */
export interface MethodName {
  readonly name: string;
  readonly module: string;
}

/** One of the bodies of a method's code. */
export interface MethodBody {
  /** How it was made, where that is certain. */
  readonly tier?: Tier;
  /** The arguments for the parameters of the type and then of the method; none: it is not generic. */
  readonly genericArguments: readonly GenericArgument[];
}

/** The start of a MethodDesc that is read: its flags and the pointer to its code data. */
const METHOD_BYTES = 16;
/** The headers of an image are in these. */
const HEADER_BYTES = 1024;
const MAX_IMAGES = 1024;
const ARRAY_METHODS = ["Get", "Set", "Address"];

/** What a MethodDesc and its chunk say. */
interface MethodFacts {
  /** The start of the MethodDesc. */
  readonly bytes: Buffer;
  readonly kind: number;
  /** The MethodTable of its type. */
  readonly type: number;
  /** Its row in the metadata of its module. */
  readonly row: number;
}

/** Names the methods of one process. */
export class MethodReader {
  readonly #memory: ProcessMemory;
  readonly #layout: Layout;
  readonly #cache: ImageCache;
  readonly #modules: ModuleReader;
  readonly #types: TypeReader;
  /** The types of objects on its heap. */
  readonly heap: HeapTypes;
  readonly #tiers: TierReader;
  /** Images by their address, with their headers: the address may be given to another one. */
  readonly #images = new Map<number, { readonly headers: Buffer; readonly image: PeImage }>();

  constructor(memory: ProcessMemory, layout: Layout, cache: ImageCache) {
    this.#memory = memory;
    this.#layout = layout;
    this.#cache = cache;
    this.#modules = new ModuleReader(memory, layout, cache);
    this.#types = new TypeReader(memory, layout, this.#modules);
    this.heap = new HeapTypes(memory, layout, this.#types);
    this.#tiers = new TierReader(memory, layout);
  }

  /** The name of a MethodDesc; throws Unreadable where it cannot be told. */
  name(methodDesc: number): MethodName {
    const { kind, bytes, type, row } = this.#facts(methodDesc);
    if (kind === DOTNET_CLASS_DYNAMIC)
      throw new Unreadable("its name was not told at its first sight");
    if (kind === DOTNET_CLASS_ARRAY)
      return this.#arrayMethod(type, bytes.readUInt16LE(DOTNET_METHOD_SLOT));
    const module = this.#moduleOf(type, row);
    if (this.#layout.major > NEWEST_MEASURED) this.#check(type, row, module);
    const found = module.metadata.method(row);
    return { name: `${found.type}.${found.name}`, module: module.name };
  }

  /**
   * What the runtime and the metadata say of a method must be the same where nobody has tried the runtime's layout: a
   * wrong one leads to the type that the metadata has for a method by accident alone.
   */
  #check(type: number, row: number, { metadata }: Module): void {
    if (metadata.typeOfMethod(row) !== this.#types.row(type))
      throw new Unreadable("its runtime is not laid out as it says");
  }

  /** The body of a MethodDesc that starts at an address; throws Unreadable where it cannot be told. */
  body(start: number, methodDesc: number): MethodBody {
    const facts = this.#facts(methodDesc);
    const tier = this.#tiers.tier(start, methodDesc, facts.bytes);
    const isNamed = facts.kind !== DOTNET_CLASS_DYNAMIC && facts.kind !== DOTNET_CLASS_ARRAY;
    const genericArguments = isNamed ? this.#genericArguments(methodDesc, facts) : [];
    return { ...(tier === undefined ? {} : { tier }), genericArguments };
  }

  /** The precompiled method at an address in an image that was loaded without its file. */
  imageMethod(address: number, base: number): ImageMethod {
    return this.#cache.tables(this.#imageAt(base)).method(address - base);
  }

  #imageAt(base: number): PeImage {
    const headers = this.#memory.bytes(base, HEADER_BYTES);
    const known = this.#images.get(base);
    if (known?.headers.equals(headers)) return known.image;
    const image = new PeImage((offset, size) => this.#memory.bytes(base + offset, size));
    if (this.#images.size >= MAX_IMAGES) this.#images.clear();
    this.#images.set(base, { headers, image });
    return image;
  }

  #facts(methodDesc: number): MethodFacts {
    const bytes = this.#memory.bytes(methodDesc, METHOD_BYTES);
    const chunk = this.#memory.bytes(
      methodDesc - 8 * bytes.readUInt8(2) - this.#layout.at["MethodDescChunk.!"],
      24,
    );
    const bits = this.#layout.tokenRemainderBits;
    const range = chunk.readUInt16LE(18) & ((1 << (24 - bits)) - 1);
    return {
      bytes,
      kind: bytes.readUInt16LE(DOTNET_METHOD_FLAGS) & DOTNET_CLASS_MASK,
      type: pointerAt(chunk, 0),
      row: (range << bits) | (bytes.readUInt16LE(0) & ((1 << bits) - 1)),
    };
  }

  #moduleOf(type: number, row: number): Module {
    return this.#modules.at(this.#types.moduleAddress(type), row);
  }

  #genericArguments(methodDesc: number, { kind, type, row }: MethodFacts): GenericArgument[] {
    const ofType = this.#types.typeArguments(type);
    const ofMethod = kind === DOTNET_CLASS_INSTANTIATED ? this.#methodArguments(methodDesc) : [];
    if (ofType.length + ofMethod.length === 0) return [];
    const { metadata } = this.#moduleOf(type, row);
    const typeParameters = metadata.genericParameters("type", this.#types.row(type));
    const methodParameters = metadata.genericParameters("method", row);
    return [
      ...paired("type", typeParameters, ofType),
      ...paired("method", methodParameters, ofMethod),
    ];
  }

  #methodArguments(methodDesc: number): string[] {
    const { at } = this.#layout;
    const count = this.#memory.u16(methodDesc + at["InstantiatedMethodDesc.NumGenericArgs"]);
    // A method that is not generic may be of this kind where its type is.
    if (count === 0) return [];
    const list = this.#memory.pointer(methodDesc + at["InstantiatedMethodDesc.PerInstInfo"]);
    return this.#types.names(list, count);
  }

  #arrayMethod(type: number, slot: number): MethodName {
    const virtuals = this.#memory.u16(type + 12);
    const method = ARRAY_METHODS[slot - virtuals] ?? ".ctor";
    return {
      name: `${this.#types.name(type)}.${method}`,
      module: this.#types.elementModule(type),
    };
  }
}
