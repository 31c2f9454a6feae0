/** Reads the metadata of the modules of a process out of the memory that it is loaded in. */
import type { PageBudget } from "./bytes.ts";
import { PeImage } from "./image.ts";
import type { Layout } from "./layout.ts";
import { type ProcessMemory, Unreadable } from "./memory.ts";
import { Metadata } from "./metadata.ts";
import type { ReadyToRunImage } from "./ready-to-run/image.ts";

/** Keeps what is known of images for all processes. */
export interface ImageCache {
  /** The room for pages of metadata that are read. */
  readonly pages: PageBudget;
  tables(image: PeImage): ReadyToRunImage;
}

/** An assembly, or a part of one. */
export interface Module {
  readonly name: string;
  readonly metadata: Metadata;
  /** Says whether its metadata may grow. */
  readonly dynamic: boolean;
}

const MAX_DYNAMIC_METADATA = 64 << 20;
const MAX_CACHED_MODULES = 4096;

export class ModuleReader {
  readonly #memory: ProcessMemory;
  readonly #layout: Layout;
  readonly #cache: ImageCache;
  readonly #modules = new Map<number, Module>();

  constructor(memory: ProcessMemory, layout: Layout, cache: ImageCache) {
    this.#memory = memory;
    this.#layout = layout;
    this.#cache = cache;
  }

  /** Reads the module at an address of the process; it must hold the method of the row. */
  at(address: number, row = 0): Module {
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
      const image = new PeImage((offset, size) => this.#memory.bytes(base + offset, size));
      const metadata = image.metadata(this.#cache.pages);
      return { name: metadata.assemblyName, metadata, dynamic: false };
    }
    const metadata = new Metadata(this.#dynamicMetadata(address));
    return { name: metadata.assemblyName, metadata, dynamic: true };
  }

  #imageBase(module: number): number {
    const { at } = this.#layout;
    const memory = this.#memory;
    if (at["Module.Base"] > 0) {
      const base = memory.pointer(module + at["Module.Base"]);
      if (base > 0) return base;
    }
    const assembly = memory.pointer(module + at["Module.PEAssembly"]);
    const image = assembly > 0 ? memory.pointer(assembly + at["PEAssembly.PEImage"]) : 0;
    if (image === 0) return 0;
    const place = image + at["PEImage.LoadedImageLayout"];
    const layout = memory.pointer(place) || memory.pointer(place - 8);
    return layout > 0 ? memory.pointer(layout + at["PEImageLayout.Base"]) : 0;
  }

  /** Reads the copy that the runtime keeps of the metadata of an assembly that is made at run time. */
  #dynamicMetadata(module: number): Buffer {
    const memory = this.#memory;
    const copy = memory.pointer(module + this.#layout.at["Module.DynamicMetadata"]);
    if (copy === 0) throw new Unreadable("its dynamic assembly has no metadata yet");
    const size = memory.u32(copy);
    if (size > MAX_DYNAMIC_METADATA) throw new Unreadable("its metadata is too long");
    // .NET 8 keeps it in an SBuffer {size, allocation, flags, pointer}, later versions as {size, bytes}.
    return memory.bytes(this.#layout.major <= 8 ? memory.pointer(copy + 16) : copy + 4, size);
  }
}
