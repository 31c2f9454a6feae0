/** Names precompiled code that was loaded without its file: by tables that are read out of the memory of processes. */
import type { MethodFinder } from "../../addon/method-finder.ts";
import { type PageBudget, PagedBytes } from "./bytes.ts";
import type { Directory, PeImage } from "./image.ts";
import { Unreadable } from "./memory.ts";
import { Metadata } from "./metadata.ts";
import type { ImageCache } from "./modules.ts";
import { ReadyToRunImage } from "./ready-to-run/image.ts";
import { type FindMethods, methodsOf } from "./ready-to-run/method-tables.ts";

/** Tables above this are forgotten, those that were not used for longest first. */
const MAX_TABLE_BYTES = 8 << 20;

/** An image without a file, in the process that was met with it last: the others may be gone. */
export interface LoadedImage {
  image: PeImage;
}

interface SharedImage {
  readonly loaded: LoadedImage;
  readonly tables: ReadyToRunImage;
}

/** Keeps tables of images without a file for all processes of a user: those of another user could lend wrong names. */
export class SharedTables {
  /** The image that was used last is the last. */
  readonly #known = new Map<string, SharedImage>();
  readonly #finder: MethodFinder;
  readonly #pages: PageBudget;
  #bytes = 0;

  constructor(finder: MethodFinder, pages: PageBudget) {
    this.#finder = finder;
    this.#pages = pages;
  }

  of(owner: number): ImageCache {
    return { pages: this.#pages, tables: (image) => this.#find(owner, image) };
  }

  #find(owner: number, image: PeImage): ReadyToRunImage {
    const key = `${owner}:${image.key}`;
    const shared = this.#known.get(key) ?? this.#read(owner, image);
    shared.loaded.image = image;
    this.#known.delete(key);
    this.#known.set(key, shared);
    return shared.tables;
  }

  #read(owner: number, image: PeImage): SharedImage {
    const loaded = { image };
    const tables = tablesInMemory(loaded, methodsOf(this.#finder, owner), this.#pages);
    this.#bytes += tables.memoryBytes;
    for (const [key, oldest] of this.#known) {
      if (this.#bytes <= MAX_TABLE_BYTES) break;
      this.#known.delete(key);
      this.#bytes -= oldest.tables.memoryBytes;
    }
    return { loaded, tables };
  }
}

/** Reads the tables of an image without a file; the rest is read page by page, while a process has it. */
export function tablesInMemory(
  loaded: LoadedImage,
  methods: FindMethods,
  pages: PageBudget,
): ReadyToRunImage {
  const paged = ({ rva, size }: Directory): PagedBytes =>
    new PagedBytes(size, (at, count) => loaded.image.at(rva + at, count), pages);
  return new ReadyToRunImage(loaded.image, {
    metadata: (place = loaded.image.metadataPlace) => new Metadata(paged(place)),
    table: paged,
    methods,
    component: () => {
      throw new Unreadable("its composite image is in no file");
    },
  });
}
