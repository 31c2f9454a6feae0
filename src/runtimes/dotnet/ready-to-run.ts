/**
 * Precompiled ("ready to run") methods by the image's own tables: which function of an image belongs to which
 * method, generic instances included. Formats: src/coreclr/inc/readytorun.h and NativeFormat of .NET 8 to 10.
 */
import { type Bytes, WholeBytes } from "./bytes.ts";
import { CompositeImage, isComposite, type OpenComponent } from "./composite.ts";
import type { Directory, PeImage } from "./image.ts";
import { type ImageMethod, type ImageModule, instanceMethod } from "./instance-name.ts";
import { CORE_MODULE, type MethodInstance, readMethodInstance } from "./instance-signature.ts";
import { Unreadable } from "./memory.ts";
import { CompressedReader, type Metadata } from "./metadata.ts";
import { NativeReader, readHashtable } from "./native-format.ts";
import { type ReadyToRunSections, readSections } from "./ready-to-run-header.ts";

const SECTION_FUNCTIONS = 102;
const SECTION_METHODS = 103;
const SECTION_INSTANCES = 109;
const SECTION_COLD_PARTS = 120;
const FUNCTION_BYTES = 12;
/** Funclets follow the body of their method; how far back it is looked for. */
const MAX_FUNCLETS = 256;
const MAX_SIGNATURE = 1024;

/** What is kept of an image, and where the rest of it is found. */
export interface ImageSource {
  /** The metadata at a place of the image; without one, that of the image. */
  metadata(place?: Directory): Metadata;
  /** A table of the image that is looked into again and again. */
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
    // Whether it is the one that defines the types without a token is seen by their names.
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
   * By index of the function that is the method's body: of a definition its row, twice; of an instance where its
   * signature is in their table, twice and 1 more; 0 for funclets and what is not known.
   */
  readonly #methods: Uint32Array;
  /** Numbers of the assemblies of the definitions; empty in an image of one. */
  readonly #components: Uint16Array;
  readonly #signatures: Bytes | undefined;
  /** Parts of functions that were put behind all others, ascending; for each: its index, that of its function. */
  readonly #coldParts: Uint32Array;
  #maxFunclets = MAX_FUNCLETS;

  /** Reads the tables of an image; throws Unreadable where it is not precompiled. */
  constructor(image: PeImage, source: ImageSource) {
    const sections = readSections(image);
    const functions = sections.bytes(SECTION_FUNCTIONS);
    const count = Math.floor(functions.length / FUNCTION_BYTES);
    this.#begins = Uint32Array.from({ length: count }, (_, at) =>
      functions.readUInt32LE(at * FUNCTION_BYTES),
    );
    this.#methods = new Uint32Array(count);
    const parts = sections.bytes(SECTION_COLD_PARTS);
    this.#coldParts = Uint32Array.from({ length: 2 * Math.floor(parts.length / 8) }, (_, at) =>
      parts.readUInt32LE(at * 4),
    );
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
    this.#readInstances(sections.bytes(SECTION_INSTANCES));
    this.#signatures = source.table(place);
  }

  /** Roughly what the tables take in memory. */
  get memoryBytes(): number {
    const signatures = this.#signatures instanceof WholeBytes ? this.#signatures.length : 0;
    const tables = [this.#begins, this.#methods, this.#components, this.#coldParts];
    return tables.reduce((sum, { byteLength }) => sum + byteLength, signatures);
  }

  /** The method whose code is at an RVA; throws Unreadable where there is none. */
  method(rva: number): ImageMethod {
    const index = this.#functionAt(rva);
    const body = this.#bodyOf(this.#hotPartOf(index));
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

  /** Index of the last function that begins at or before an RVA. */
  #functionAt(rva: number): number {
    let low = 0;
    let high = this.#begins.length - 1;
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if ((this.#begins[middle] ?? 0) <= rva) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  /** Index of the function that a part belongs to: mostly itself. Funclets of a cold part follow it, as others do. */
  #hotPartOf(index: number): number {
    const parts = this.#coldParts;
    for (let at = parts.length - 2; at >= 0 && index >= (parts[0] ?? 0); at -= 2)
      if ((parts[at] ?? 0) <= index) return parts[at + 1] ?? index;
    return index;
  }

  /** Index of the function that is the body of the method, -1 if it is not known. */
  #bodyOf(index: number): number {
    for (let at = index; at >= 0 && index - at <= this.#maxFunclets; at--) {
      if (this.#methods[at]) return at;
    }
    return -1;
  }

  /** Entry points by the row of the method: an array of NativeFormat. */
  #readDefinitions(sections: ReadyToRunSections, component: number): void {
    const reader = new NativeReader(sections.bytes(SECTION_METHODS));
    for (const [row, at] of reader.array()) {
      const index = entryPoint(reader, at);
      this.#methods[index] = (row + 1) * 2;
      this.#components[index] = component;
    }
  }

  /** Entry points of generic instances: a hash table of NativeFormat; each entry is a signature and an entry point. */
  #readInstances(bytes: Buffer): void {
    const reader = new NativeReader(bytes);
    for (const at of readHashtable(reader)) {
      const signature = new CompressedReader(bytes, at, bytes.length);
      try {
        readMethodInstance(signature);
        this.#methods[entryPoint(reader, signature.at)] = at * 2 + 1;
      } catch (error) {
        if (!(error instanceof Unreadable)) throw error;
        // Its function is not known: it could be taken for a funclet of the one before it.
        this.#maxFunclets = 0;
      }
    }
  }
}

/** Index of the function of an entry point: with a bit that says whether a list of fixups follows. */
function entryPoint(reader: NativeReader, at: number): number {
  const [value] = reader.unsigned(at);
  return value & 1 ? value >>> 2 : value >>> 1;
}
