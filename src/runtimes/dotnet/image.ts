/** Reads assemblies, precompiled or not: PE images in a file or in the memory of a process. */
import { type PageBudget, PagedBytes } from "./bytes.ts";
import { readOr, Unreadable } from "./memory.ts";
import { Metadata } from "./metadata.ts";

/** Reads exactly `size` bytes at an offset of the image; throws Unreadable where they are not there. */
export type ReadImage = (offset: number, size: number) => Buffer;

/** A table of an image. */
export interface Directory {
  readonly rva: number;
  readonly size: number;
}

/** What the headers of an image lead to, and how it lies. */
interface Headers {
  readonly mapped: boolean;
  readonly metadata: Directory;
  readonly readyToRun: Directory;
}

interface Section {
  readonly rva: number;
  readonly size: number;
  readonly raw: number;
}

/** A 32-bit image needs this much for the data directory of the COR header. */
const MIN_OPTIONAL_HEADER = 96 + 15 * 8;
const MAX_SECTIONS = 96;
/** The list of streams fits into this. */
const ROOT_BYTES = 256;
const COR_HEADER_SIZE = 72;
const SIGNATURE = 0x424a5342; // BSJB
const EXPORTS_SIZE = 40;
const HEADER_EXPORT = "RTR_HEADER\0";

export class PeImage {
  readonly #read: ReadImage;
  readonly #sections: readonly Section[];
  /** Sections lie at their RVA, as the loader maps them; else as in the file. */
  readonly #mapped: boolean;
  readonly #metadata: Directory;
  readonly #header: string;
  #key: string | undefined;
  /** Where the ready-to-run header is; size 0: the image is not precompiled. */
  readonly readyToRun: Directory;

  /**
   * Reads the headers. `layouts` are those to try: mapped (true), as in the file (false). Throws Unreadable for no
   * assembly.
   */
  constructor(read: ReadImage, layouts: readonly boolean[] = [true, false]) {
    this.#read = read;
    if (read(0, 2).toString("latin1") !== "MZ") throw new Unreadable("its image has no header");
    const header = read(0, 64).readUInt32LE(60);
    const coff = read(header, 24);
    if (coff.toString("latin1", 0, 4) !== "PE\0\0")
      throw new Unreadable("its image is no PE image");
    const optional = read(header + 24, coff.readUInt16LE(20));
    if (optional.length < MIN_OPTIONAL_HEADER) throw new Unreadable("its image is cut");
    this.#header = coff.toString("latin1") + optional.toString("latin1");
    const directories = optional.readUInt16LE(0) === 0x20b ? 112 : 96;
    const cor = optional.readUInt32LE(directories + 14 * 8);
    const exported = optional.readUInt32LE(directories);
    const count = Math.min(coff.readUInt16LE(6), MAX_SECTIONS);
    const table = read(header + 24 + optional.length, 40 * count);
    this.#sections = Array.from({ length: count }, (_, at) => ({
      rva: table.readUInt32LE(40 * at + 12),
      size: Math.max(table.readUInt32LE(40 * at + 8), table.readUInt32LE(40 * at + 16)),
      raw: table.readUInt32LE(40 * at + 20),
    }));
    const found = layouts
      .map((mapped) => this.#corHeader(cor, mapped) ?? this.#exportedHeader(exported, mapped))
      .find((it) => it !== undefined);
    if (!found) throw new Unreadable("its image has no metadata");
    this.#mapped = found.mapped;
    this.#metadata = found.metadata;
    this.readyToRun = found.readyToRun;
  }

  /** Reads bytes at an RVA. */
  at(rva: number, size: number): Buffer {
    return this.#read(this.#offset(rva, this.#mapped), size);
  }

  /** The RVA of a file offset: in an image as in its file. */
  rvaOfOffset(offset: number): number {
    const section = this.#sections.find((it) => offset >= it.raw && offset < it.raw + it.size);
    if (!section) throw new Unreadable("the offset is in no section of the image");
    return section.rva + offset - section.raw;
  }

  /** Bytes that tell whether two images are the same: PE headers, the start of the metadata, the id of the module. */
  get key(): string {
    this.#key ??= this.#readKey();
    return this.#key;
  }

  #readKey(): string {
    const { rva, size } = this.#metadata;
    const root = this.at(rva, Math.min(size, ROOT_BYTES));
    // The module's own id is the first in the heap of GUIDs: ECMA-335 II.24.2.2, II.22.30.
    const stream = root.indexOf("#GUID\0", 0, "latin1") - 8;
    const guids = stream > 0 ? root.readUInt32LE(stream) : 0;
    const id = guids + 16 <= size ? this.at(rva + guids, 16).toString("latin1") : "";
    return `${this.#header}:${size}:${id}:${root.toString("latin1")}`;
  }

  /** Where the metadata of the image is. */
  get metadataPlace(): Directory {
    return this.#metadata;
  }

  /** Opens the metadata at a place, else that of the image; it is read as it is needed, while the image can be read. */
  metadata(budget: PageBudget, { rva, size }: Directory = this.#metadata): Metadata {
    return new Metadata(new PagedBytes(size, (at, count) => this.at(rva + at, count), budget));
  }

  #offset(rva: number, mapped: boolean): number {
    if (mapped) return rva;
    const section = this.#sections.find((it) => rva >= it.rva && rva < it.rva + it.size);
    if (!section) throw new Unreadable("an address is in no section of the image");
    return section.raw + rva - section.rva;
  }

  /** Reads the COR header: ECMA-335 II.25.3.3. */
  #corHeader(rva: number, mapped: boolean): Headers | undefined {
    return readOr<Headers | undefined>(() => {
      const header = this.#read(this.#offset(rva, mapped), COR_HEADER_SIZE);
      if (header.readUInt32LE(0) !== COR_HEADER_SIZE) return undefined;
      const metadata = { rva: header.readUInt32LE(8), size: header.readUInt32LE(12) };
      if (this.#read(this.#offset(metadata.rva, mapped), 4).readUInt32LE(0) !== SIGNATURE)
        return undefined;
      const readyToRun = { rva: header.readUInt32LE(64), size: header.readUInt32LE(68) };
      return { mapped, metadata, readyToRun };
    }, undefined);
  }

  /** A composite image need not have a COR header: the runtime finds its code by the one name that it exports. */
  #exportedHeader(rva: number, mapped: boolean): Headers | undefined {
    return readOr<Headers | undefined>(() => {
      const read = (at: number, size: number): Buffer => this.#read(this.#offset(at, mapped), size);
      // Export directory of the PE format: addresses at 28, names at 32, ordinals at 36.
      const table = read(rva, EXPORTS_SIZE);
      const name = read(read(table.readUInt32LE(32), 4).readUInt32LE(0), HEADER_EXPORT.length);
      if (name.toString("latin1") !== HEADER_EXPORT) return undefined;
      const ordinal = read(table.readUInt32LE(36), 2).readUInt16LE(0);
      const address = read(table.readUInt32LE(28) + 4 * ordinal, 4).readUInt32LE(0);
      return { mapped, metadata: { rva: 0, size: 0 }, readyToRun: { rva: address, size: 0 } };
    }, undefined);
  }
}
