/** MethodDesc -> name, out of the memory of its process. */
import { PeImage } from "./image.ts";
import type { Layout } from "./layout.ts";
import { type ProcessMemory, pointerAt, Unreadable } from "./memory.ts";
import { Metadata } from "./metadata.ts";
import type { ReadyToRunImage } from "./ready-to-run.ts";

/** A method as it is shown. */
export interface MethodName {
  readonly name: string;
  readonly module: string;
}

/** Keeps what many processes map. */
export interface ImageCache {
  metadata(image: PeImage): Metadata;
  tables(image: PeImage): ReadyToRunImage;
}

/** MethodDesc.Flags: what kind of method it is. */
const CLASS_MASK = 7;
const CLASS_ARRAY = 4;
const CLASS_DYNAMIC = 7;

/** MethodTable flags. */
const HAS_COMPONENTS = 0x80000000;
const GENERICS_MASK = 0x30;
const CATEGORY_MASK = 0xc0000;
const CATEGORY_ARRAY = 0x80000;
const VECTOR_MASK = 0xf0000;
const VECTOR = 0xa0000;

const MAX_DYNAMIC_METADATA = 64 << 20;
const MAX_TYPE_DEPTH = 8;
const ARRAY_METHODS = ["Get", "Set", "Address"];
const MAX_CACHED_MODULES = 4096;

interface Module {
  readonly name: string;
  readonly metadata: Metadata;
  /** Its metadata may grow. */
  readonly dynamic: boolean;
}

/** Names the methods of one process. */
export class MethodReader {
  readonly #memory: ProcessMemory;
  readonly #layout: Layout;
  readonly #cache: ImageCache;
  readonly #modules = new Map<number, Module>();

  constructor(memory: ProcessMemory, layout: Layout, cache: ImageCache) {
    this.#memory = memory;
    this.#layout = layout;
    this.#cache = cache;
  }

  /** The name of a MethodDesc; throws Unreadable where it cannot be told. */
  name(methodDesc: number): MethodName {
    const memory = this.#memory;
    const method = memory.bytes(methodDesc, 8);
    const chunkAddress = methodDesc - 8 * method.readUInt8(2) - this.#layout.chunkSize;
    const chunk = memory.bytes(chunkAddress, 24);
    const type = pointerAt(chunk, 0);
    const kind = method.readUInt16LE(6) & CLASS_MASK;
    if (kind === CLASS_DYNAMIC) throw new Unreadable("its name was not told at its first sight");
    if (kind === CLASS_ARRAY) return this.#arrayMethod(type, method.readUInt16LE(4));
    const bits = this.#layout.tokenRemainderBits;
    const range = chunk.readUInt16LE(18) & ((1 << (24 - bits)) - 1);
    const row = (range << bits) | (method.readUInt16LE(0) & ((1 << bits) - 1));
    const address = this.#moduleOf(type);
    const module = this.module(address, row);
    const found = module.metadata.method(row);
    return { name: `${found.type}.${found.name}`, module: module.name };
  }

  /** The precompiled method at an address in an image that was loaded without its file. */
  imageMethod(address: number, base: number): MethodName {
    const image = new PeImage((offset, size) => this.#memory.bytes(base + offset, size));
    return this.#cache.tables(image).method(address - base);
  }

  /** The module at an address of the process; `row`: a method that it must hold. */
  module(address: number, row = 0): Module {
    const known = this.#modules.get(address);
    if (known && !(known.dynamic && row > known.metadata.methodCount)) return known;
    if (this.#modules.size >= MAX_CACHED_MODULES) this.#modules.clear();
    const module = this.#readModule(address);
    this.#modules.set(address, module);
    return module;
  }

  #readModule(address: number): Module {
    const base = this.#imageBase(address);
    if (base > 0) {
      const metadata = this.#cache.metadata(
        new PeImage((offset, size) => this.#memory.bytes(base + offset, size)),
      );
      return { name: metadata.assemblyName, metadata, dynamic: false };
    }
    const metadata = new Metadata(this.#dynamicMetadata(address));
    return { name: metadata.assemblyName, metadata, dynamic: true };
  }

  #imageBase(module: number): number {
    const { moduleBase, modulePeAssembly, peAssemblyImage, peImageLayout, imageLayoutBase } =
      this.#layout;
    const memory = this.#memory;
    if (moduleBase > 0) {
      const base = memory.pointer(module + moduleBase);
      if (base > 0) return base;
    }
    const assembly = memory.pointer(module + modulePeAssembly);
    const image = assembly > 0 ? memory.pointer(assembly + peAssemblyImage) : 0;
    if (image === 0) return 0;
    const layout =
      memory.pointer(image + peImageLayout) || memory.pointer(image + peImageLayout - 8);
    return layout > 0 ? memory.pointer(layout + imageLayoutBase) : 0;
  }

  /** A copy that the runtime keeps of the metadata of an assembly that is made at run time. */
  #dynamicMetadata(module: number): Buffer {
    const memory = this.#memory;
    const copy = memory.pointer(module + this.#layout.moduleDynamicMetadata);
    if (copy === 0) throw new Unreadable("its dynamic assembly has no metadata yet");
    const size = memory.u32(copy);
    if (size > MAX_DYNAMIC_METADATA) throw new Unreadable("its metadata is too long");
    // 8 keeps it in an SBuffer {size, allocation, flags, pointer}, later versions as {size, bytes}.
    return memory.bytes(this.#layout.major <= 8 ? memory.pointer(copy + 16) : copy + 4, size);
  }

  #arrayMethod(type: number, slot: number): MethodName {
    const virtuals = this.#memory.u16(type + 12);
    const method = ARRAY_METHODS[slot - virtuals] ?? ".ctor";
    const element = this.#elementModule(type);
    return { name: `${this.#typeName(type)}.${method}`, module: element };
  }

  #elementModule(type: number): string {
    let element = type;
    for (let depth = 0; depth < MAX_TYPE_DEPTH && isArray(this.#memory.u32(element)); depth++) {
      element = this.#memory.pointer(element + this.#layout.typeInstance);
      if (element % 4 >= 2) return "";
    }
    return this.module(this.#moduleOf(element)).name;
  }

  /** The name of a type without its generic arguments. */
  #typeName(type: number, depth = 0): string {
    if (depth > MAX_TYPE_DEPTH) throw new Unreadable("its types are nested too deep");
    const memory = this.#memory;
    if (type % 4 >= 2) return this.#typeDescription(type - (type % 4), depth);
    const flags = memory.u32(type);
    if (isArray(flags)) {
      const element = this.#typeName(memory.pointer(type + this.#layout.typeInstance), depth + 1);
      if ((flags & VECTOR_MASK) === VECTOR) return `${element}[]`;
      const rank = memory.bytes(this.#typeClass(type) + this.#layout.arrayRank, 1).readUInt8(0);
      return `${element}[${rank > 1 ? ",".repeat(Math.min(rank, 32) - 1) : "*"}]`;
    }
    return this.module(this.#moduleOf(type)).metadata.typeName(this.#typeRow(type));
  }

  /** Pointers, references, type variables: a TypeDesc and no MethodTable. */
  #typeDescription(address: number, depth: number): string {
    const layout = this.#layout;
    const kind = this.#memory.u32(address) & 0xff;
    if (kind === 0x0f || kind === 0x10) {
      const inner = this.#memory.pointer(address + layout.paramTypeArgument);
      return this.#typeName(inner, depth + 1) + (kind === 0x0f ? "*" : "&");
    }
    if (kind === 0x13 || kind === 0x1e) {
      const module = this.module(this.#memory.pointer(address + layout.typeVariableModule));
      return module.metadata.genericParameterName(
        this.#memory.u32(address + layout.typeVariableToken) & 0xffffff,
      );
    }
    throw new Unreadable("one of its types is of a kind that is not known");
  }

  #typeRow(type: number): number {
    if (this.#layout.typeToken === "word10") return this.#memory.u16(type + 10);
    return this.#memory.u32(type + 8) >>> 8;
  }

  #canonical(type: number): number {
    const word = this.#memory.pointer(type + this.#layout.typeCanonical);
    return word % 2 === 1 ? word - 1 : type;
  }

  #typeClass(type: number): number {
    return this.#memory.pointer(this.#canonical(type) + this.#layout.typeCanonical);
  }

  /** The module that defines a type. */
  #moduleOf(type: number): number {
    const { typeModule } = this.#layout;
    if (typeModule > 0) return this.#memory.pointer(type + typeModule);
    // 8: the word at 24 is the module that loaded the type; another one, for generic types and arrays, is in a
    // slot of the canonical type whose number is that of the optional slots before it.
    const flags = this.#memory.u32(type);
    const isGeneric = (flags & HAS_COMPONENTS) === 0 && (flags & GENERICS_MASK) !== 0;
    if ((flags & HAS_COMPONENTS) === 0 && !isGeneric) return this.#memory.pointer(type + 24);
    const canonical = isGeneric ? this.#canonical(type) : type;
    const slots = this.#memory.u16(canonical + 8);
    if ((slots & 0x10) === 0) return this.#memory.pointer(canonical + 24);
    const before = [1, 2, 4, 8].filter((bit) => slots & bit).length;
    if (before < 2) return this.#memory.pointer(canonical + 48 + 8 * before);
    const virtuals = 8 * Math.ceil(this.#memory.u16(canonical + 12) / 8);
    return this.#memory.pointer(canonical + 64 + 8 * (before - 2) + virtuals);
  }
}

function isArray(flags: number): boolean {
  return (flags & CATEGORY_MASK) === CATEGORY_ARRAY;
}
