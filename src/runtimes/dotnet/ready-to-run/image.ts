/**
 * Names precompiled ("ready to run") methods by the image's own tables: they say which function of an image belongs
 * to which method, generic instances included. Formats: src/coreclr/inc/readytorun.h of .NET 8 to 10.
 */
import type { Bytes } from "../bytes.ts";
import { CompressedReader } from "../bytes.ts";
import type { Directory, PeImage } from "../image.ts";
import { type ImageMethod, type ImageModule, instanceMethod } from "../instance-name.ts";
import { CORE_MODULE, type MethodInstance, readMethodInstance } from "../instance-signature.ts";
import { Unreadable } from "../memory.ts";
import type { Metadata } from "../metadata.ts";
import { CompositeImage, isComposite, type OpenComponent } from "./composite.ts";
import { type ReadyToRunSections, readSections } from "./header.ts";
import { type FunctionRange, MethodIndex } from "./method-index.ts";
import {
  type Components,
  type FindMethods,
  readMethodTables,
  SECTION_INSTANCES,
} from "./method-tables.ts";

/** So many names are kept: each process that runs a method asks for it again. */
const MAX_NAMED = 4096;
/** No signature of an instance is longer. */
const MAX_SIGNATURE = 1024;

/** Opens the parts of an image that are read later. */
export interface ImageSource {
  /** Opens the metadata at a place of the image; without one, that of the image. */
  metadata(place?: Directory): Metadata;
  /** Opens a table of the image that is looked into again and again. */
  table(place: Directory): Bytes;
  readonly component: OpenComponent;
  readonly methods: FindMethods;
}

/** The assembly of an image that is no composite one. */
class SingleModule implements Components {
  readonly #module: ImageModule;
  readonly #sections: ReadyToRunSections;
  readonly count = 1;

  constructor(metadata: Metadata, sections: ReadyToRunSections) {
    this.#module = { name: metadata.assemblyName, metadata };
    this.#sections = sections;
  }

  sections(): ReadyToRunSections {
    return this.#sections;
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
  readonly #index: MethodIndex;
  readonly #signatures: Bytes | undefined;
  /** Methods that were named, by the index of the function that is their body. */
  readonly #named = new Map<number, ImageMethod>();

  /** Reads the tables of an image; throws Unreadable where it is not precompiled. */
  constructor(image: PeImage, source: ImageSource) {
    const sections = readSections(image);
    this.#modules = isComposite(sections)
      ? new CompositeImage(image, sections, (place) => source.metadata(place), source.component)
      : new SingleModule(source.metadata(), sections);
    this.#index = new MethodIndex(readMethodTables(sections, this.#modules, source.methods));
    const place = sections.get(SECTION_INSTANCES);
    if (place) this.#signatures = source.table(place);
  }

  /** Whether it is the code of several assemblies. */
  get isComposite(): boolean {
    return this.#modules instanceof CompositeImage;
  }

  /** The memory that the tables take, roughly. */
  get memoryBytes(): number {
    return this.#index.memoryBytes;
  }

  /** Names the method whose code is at an RVA; throws Unreadable where there is none. */
  method(rva: number): ImageMethod {
    const body = this.#index.bodyAt(rva);
    const known = this.#named.get(body);
    if (known) return known;
    const named = this.#name(body);
    if (this.#named.size >= MAX_NAMED) this.#named.clear();
    this.#named.set(body, named);
    return named;
  }

  /** The function whose code is at an RVA; undefined where there is none. */
  functionAt(rva: number): FunctionRange | undefined {
    return this.#index.functionAt(rva);
  }

  /** Names the method whose body is the function with an index. */
  #name(body: number): ImageMethod {
    const found = this.#index.methodOf(body);
    if ("signature" in found) {
      const instance = this.#instance(found.signature);
      return instanceMethod(instance, (index) => this.#modules.moduleOfSignature(index));
    }
    const module = this.#modules.module(found.component);
    const { type, name } = module.metadata.method(found.row);
    return { name: `${type}.${name}`, module: module.name };
  }

  #instance(at: number): MethodInstance {
    const length = this.#signatures?.length ?? 0;
    const size = Math.min(length - at, MAX_SIGNATURE);
    const bytes = this.#signatures?.slice(at, size) ?? Buffer.alloc(0);
    return readMethodInstance(new CompressedReader(bytes, 0, size));
  }
}
