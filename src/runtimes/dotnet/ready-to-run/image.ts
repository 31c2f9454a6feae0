/**
 * Finds precompiled ("ready to run") methods by the image's own tables: they say which function of an image belongs
 * to which method, generic instances included. Formats: src/coreclr/inc/readytorun.h and NativeFormat of .NET 8 to 10.
 */
import { ARCHITECTURE } from "../../../machine/architecture.ts";
import { firstWhere } from "../../binary-search.ts";
import type { Bytes } from "../bytes.ts";
import type { Directory, PeImage } from "../image.ts";
import { type ImageMethod, type ImageModule, instanceMethod } from "../instance-name.ts";
import {
  CORE_MODULE,
  type MethodInstance,
  readMethodInstance,
  skipMethodInstance,
} from "../instance-signature.ts";
import { Unreadable } from "../memory.ts";
import { CompressedReader, type Metadata } from "../metadata.ts";
import { Work } from "../work.ts";
import { CompositeImage, isComposite, type OpenComponent } from "./composite.ts";
import { type ReadyToRunSections, readSections } from "./header.ts";
import { NativeReader } from "./native-format.ts";

const SECTION_FUNCTIONS = 102;
const SECTION_METHODS = 103;
const SECTION_INSTANCES = 109;
const SECTION_COLD_PARTS = 120;
const FUNCTION_BYTES = ARCHITECTURE.runtimeFunctionBytes;
/** Funclets follow the body of their method, which is looked for so far back. */
const MAX_FUNCLETS = 256;
const MAX_SIGNATURE = 1024;
/** So many names are kept: each process that runs a method asks for it again. */
const MAX_NAMED = 4096;
/** What reading the tables of an image takes at most: a hundred times as much as the largest assembly needs. */
const MAX_WORK = 8_000_000;
/** Reading bytes costs less than looking at them. */
const BYTES_PER_STEP = 8;

/** Opens the parts of an image that are read later. */
export interface ImageSource {
  /** Opens the metadata at a place of the image; without one, that of the image. */
  metadata(place?: Directory): Metadata;
  /** Opens a table of the image that is looked into again and again. */
  table(place: Directory): Bytes;
  readonly component: OpenComponent;
}

/** The assembly of an image that is no composite one. */
class SingleModule {
  readonly #module: ImageModule;

  constructor(metadata: Metadata) {
    this.#module = { name: metadata.assemblyName, metadata };
  }

  module(): ImageModule {
    return this.#module;
  }

  moduleOfSignature(index: number): ImageModule {
    // Names show whether this assembly defines the types without a token.
    if (index !== 0 && index !== CORE_MODULE)
      throw new Unreadable("it is an instance of another assembly's method");
    return this.#module;
  }
}

export class ReadyToRunImage {
  readonly #modules: SingleModule | CompositeImage;
  /** RVAs of the functions, ascending. */
  readonly #begins: Uint32Array;
  /**
   * Methods by the index of the function that is their body. A definition is 2 * its row; an instance is 2 * the
   * place of its signature + 1; 0 stands for funclets and what is not known.
   */
  readonly #methods: Uint32Array;
  /** Numbers of the assemblies of the definitions; empty in an image of one. */
  readonly #components: Uint16Array;
  readonly #signatures: Bytes | undefined;
  /** Parts of functions that were put behind all others, ascending: the index of each, and that of its function. */
  readonly #coldParts: Uint32Array;
  #maxFunclets = MAX_FUNCLETS;
  /** Methods that were named, by the index of the function that is their body. */
  readonly #named = new Map<number, ImageMethod>();
  readonly #work = new Work(MAX_WORK, "its tables");

  /** Reads the tables of an image; throws Unreadable where it is not precompiled. */
  constructor(image: PeImage, source: ImageSource) {
    const sections = readSections(image);
    const functions = this.#table(sections, SECTION_FUNCTIONS);
    const count = Math.floor(functions.length / FUNCTION_BYTES);
    this.#begins = numbersOf(functions, count, FUNCTION_BYTES);
    this.#methods = new Uint32Array(count);
    const parts = this.#table(sections, SECTION_COLD_PARTS);
    this.#coldParts = numbersOf(parts, 2 * Math.floor(parts.length / 8), 4);
    if (isComposite(sections)) {
      const composite = new CompositeImage(
        image,
        sections,
        (place) => source.metadata(place),
        source.component,
      );
      this.#modules = composite;
      this.#components = new Uint16Array(count);
      for (let component = 0; component < composite.count; component++)
        this.#readDefinitions(composite.sections(component), component);
    } else {
      this.#modules = new SingleModule(source.metadata());
      this.#components = new Uint16Array();
      this.#readDefinitions(sections, 0);
    }
    const place = sections.get(SECTION_INSTANCES);
    if (!place) return;
    this.#readInstances(this.#table(sections, SECTION_INSTANCES));
    this.#signatures = source.table(place);
  }

  /** The memory that the tables take, roughly. */
  get memoryBytes(): number {
    const tables = [this.#begins, this.#methods, this.#components, this.#coldParts];
    return tables.reduce((sum, { byteLength }) => sum + byteLength, 0);
  }

  /** Names the method whose code is at an RVA; throws Unreadable where there is none. */
  method(rva: number): ImageMethod {
    const index = this.#functionAt(rva);
    const body = this.#bodyOf(this.#hotPartOf(index));
    const known = this.#named.get(body);
    if (known) return known;
    const named = this.#name(body);
    if (this.#named.size >= MAX_NAMED) this.#named.clear();
    this.#named.set(body, named);
    return named;
  }

  /** Names the method whose body is the function with an index. */
  #name(body: number): ImageMethod {
    const method = this.#methods[body] ?? 0;
    if (method === 0)
      throw new Unreadable("its image does not say which method this code belongs to");
    if (method & 1) {
      const instance = this.#instance(method >>> 1);
      return instanceMethod(instance, (index) => this.#modules.moduleOfSignature(index));
    }
    const module = this.#modules.module(this.#components[body] ?? 0);
    const { type, name } = module.metadata.method(method >>> 1);
    return { name: `${type}.${name}`, module: module.name };
  }

  #instance(at: number): MethodInstance {
    const length = this.#signatures?.length ?? 0;
    const size = Math.min(length - at, MAX_SIGNATURE);
    const bytes = this.#signatures?.slice(at, size) ?? Buffer.alloc(0);
    return readMethodInstance(new CompressedReader(bytes, 0, size));
  }

  /** Finds the index of the last function that begins at or before an RVA. */
  #functionAt(rva: number): number {
    const begins = this.#begins;
    return Math.max(0, firstWhere(0, begins.length, (index) => (begins[index] ?? 0) > rva) - 1);
  }

  /** Finds the index of the function that a part belongs to, mostly itself. Funclets follow a cold part, too. */
  #hotPartOf(index: number): number {
    const parts = this.#coldParts;
    const behind = firstWhere(0, parts.length / 2, (at) => (parts[2 * at] ?? 0) > index);
    return behind === 0 ? index : (parts[2 * behind - 1] ?? index);
  }

  /** Finds the index of the function that is the body of the method, -1 if it is not known. */
  #bodyOf(index: number): number {
    for (let at = index; at >= 0 && index - at <= this.#maxFunclets; at--) {
      if (this.#methods[at]) return at;
    }
    return -1;
  }

  #table(sections: ReadyToRunSections, kind: number): Buffer {
    this.#work.take((sections.get(kind)?.size ?? 0) / BYTES_PER_STEP);
    return sections.bytes(kind);
  }

  /** Reads entry points by the row of the method: an array of NativeFormat. */
  #readDefinitions(sections: ReadyToRunSections, component: number): void {
    const reader = new NativeReader(this.#table(sections, SECTION_METHODS), this.#work);
    reader.eachElement((row, at) => {
      const index = entryPoint(reader, at);
      this.#methods[index] = (row + 1) * 2;
      this.#components[index] = component;
    });
  }

  /**
   * Reads entry points of generic instances: a hash table of NativeFormat; each entry is a signature and an entry
   * point. Each instance has a function of its own, so there are no more of them.
   */
  #readInstances(bytes: Buffer): void {
    const reader = new NativeReader(bytes, this.#work);
    let left = this.#methods.length;
    reader.eachEntry((at) => {
      if (left-- === 0) throw new Unreadable("a table of its image is damaged");
      const signature = new CompressedReader(bytes, at, at + MAX_SIGNATURE);
      try {
        skipMethodInstance(signature);
        this.#methods[entryPoint(reader, signature.at)] = at * 2 + 1;
        this.#work.take(signature.at - at);
      } catch (error) {
        this.#work.take(MAX_SIGNATURE);
        if (!(error instanceof Unreadable)) throw error;
        // Its function is not known: it could be taken for a funclet of the one before it.
        this.#maxFunclets = 0;
      }
    });
  }
}

/** Takes a number out of each record of a table: it is the first thing of the record. */
function numbersOf(records: Buffer, count: number, width: number): Uint32Array {
  const numbers = new Uint32Array(count);
  for (let at = 0; at < count; at++) numbers[at] = records.readUInt32LE(at * width);
  return numbers;
}

/** Reads an entry point: the index of its function, and a bit that says whether a list of fixups follows. */
function entryPoint(reader: NativeReader, at: number): number {
  const value = reader.unsigned(at);
  return value & 1 ? value >>> 2 : value >>> 1;
}
