/**
 * Reads composite images: one file has the precompiled code of many assemblies, whose metadata stays in files of
 * their own. The image numbers its assemblies in a metadata of its own, the manifest, and knows the build of each
 * (src/coreclr/vm/nativeimage.cpp, readytoruninfo.cpp and zapsig.cpp of .NET 8 to 10).
 */
import type { PeImage } from "../image.ts";
import type { ImageModule } from "../instance-name.ts";
import { CORE_MODULE } from "../instance-signature.ts";
import { Unreadable } from "../memory.ts";
import { GUID_BYTES, type Metadata } from "../metadata.ts";
import { type ReadyToRunSections, readCoreSections } from "./header.ts";

const SECTION_MANIFEST = 112;
const SECTION_COMPONENTS = 115;
const SECTION_BUILDS = 118;
/** READYTORUN_COMPONENT_ASSEMBLIES_ENTRY: COR header and core header, by RVA and size. */
const COMPONENT_BYTES = 16;
const CORE_HEADER = 8;
const MAX_COMPONENTS = 4096;
const NO_BUILD = "0".repeat(2 * GUID_BYTES);
/** The number of the first assembly in signatures: 0 stands for none of the image, 1 for the manifest (format 6.3). */
const FIRST_ASSEMBLY = 2;

const CORE_NAME = "System.Private.CoreLib";

/** Opens the metadata of the assembly of a name, in the build of an id; throws Unreadable where it cannot be read. */
export type OpenComponent = (name: string, moduleId: string) => Metadata;

/** Whether an image holds the code of several assemblies. */
export const isComposite = (sections: ReadyToRunSections): boolean =>
  sections.has(SECTION_COMPONENTS);

/** The assemblies whose code a composite image holds. */
export class CompositeImage {
  readonly #image: PeImage;
  readonly #open: OpenComponent;
  readonly #components: Buffer;
  readonly #builds: Buffer;
  readonly #names: readonly string[];
  readonly #modules = new Map<number, ImageModule>();

  /** Reads the tables of a composite image; `manifest` reads the metadata at a place of it. Throws Unreadable. */
  constructor(
    image: PeImage,
    sections: ReadyToRunSections,
    manifest: (place: { readonly rva: number; readonly size: number }) => Metadata,
    open: OpenComponent,
  ) {
    this.#image = image;
    this.#open = open;
    const place = sections.get(SECTION_MANIFEST);
    if (!place) throw new Unreadable("its composite image has no manifest");
    this.#components = sections.bytes(SECTION_COMPONENTS);
    this.#builds = sections.bytes(SECTION_BUILDS);
    this.#names = manifest(place).referredAssemblies();
  }

  /** The number of assemblies that it has code of: they are the first of the manifest. */
  get count(): number {
    const count = Math.floor(this.#components.length / COMPONENT_BYTES);
    return Math.min(count, this.#names.length, MAX_COMPONENTS);
  }

  /** Reads the tables of an assembly, by its number from 0. */
  sections(component: number): ReadyToRunSections {
    const at = component * COMPONENT_BYTES + CORE_HEADER;
    return readCoreSections(this.#image, this.#components.readUInt32LE(at));
  }

  /** Opens an assembly by its number from 0; throws Unreadable. */
  module(component: number): ImageModule {
    const known = this.#modules.get(component);
    if (known) return known;
    const name = this.#names[component];
    if (name === undefined) throw new Unreadable("its image does not say of which assembly it is");
    const at = component * GUID_BYTES;
    const build = this.#builds.toString("hex", at, at + GUID_BYTES);
    if (build.length < 2 * GUID_BYTES || build === NO_BUILD)
      throw new Unreadable("its image does not say of which build of its assembly it is");
    const metadata = this.#open(name, build);
    if (metadata.moduleId !== build)
      throw new Unreadable("the file of its assembly is of another build");
    const module = { name: metadata.assemblyName, metadata };
    this.#modules.set(component, module);
    return module;
  }

  /** Opens an assembly by the number that signatures have for it; throws Unreadable. */
  moduleOfSignature(index: number): ImageModule {
    if (index === CORE_MODULE) return this.module(this.#names.indexOf(CORE_NAME));
    if (index < FIRST_ASSEMBLY)
      throw new Unreadable("its image does not say of which assembly it is");
    return this.module(index - FIRST_ASSEMBLY);
  }
}
