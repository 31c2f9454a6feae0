/**
 * Reads the headers of precompiled images, which lead to their tables: src/coreclr/inc/readytorun.h of .NET 8 to 10.
 */
import type { Directory, PeImage } from "../image.ts";
import { Unreadable } from "../memory.ts";

const MAX_SECTIONS = 256;
const MAX_SECTION_BYTES = 64 << 20;
const SECTION_BYTES = 12;
/** A core header follows the signature and the version. It has flags, the number of sections, the sections. */
const CORE_OFFSET = 8;
const CORE_BYTES = 8;

/** The tables of an image, by their kind. */
export class ReadyToRunSections {
  readonly #image: PeImage;
  readonly #places: ReadonlyMap<number, Directory>;

  constructor(image: PeImage, places: ReadonlyMap<number, Directory>) {
    this.#image = image;
    this.#places = places;
  }

  has(kind: number): boolean {
    return this.#places.has(kind);
  }

  get(kind: number): Directory | undefined {
    return this.#places.get(kind);
  }

  /** Reads a table; it is empty where the image has no such one. Throws Unreadable where it cannot be read. */
  bytes(kind: number): Buffer {
    const place = this.#places.get(kind);
    if (!place) return Buffer.alloc(0);
    if (place.size > MAX_SECTION_BYTES) throw new Unreadable("a table of its image is too long");
    return this.#image.at(place.rva, place.size);
  }
}

/** Finds the tables of an image; throws Unreadable where it is not precompiled. */
export function readSections(image: PeImage): ReadyToRunSections {
  const { rva } = image.readyToRun;
  if (rva === 0) throw new Unreadable("its image is not precompiled");
  if (image.at(rva, 4).toString("latin1") !== "RTR\0")
    throw new Unreadable("its image has no ready-to-run header");
  return readCoreSections(image, rva + CORE_OFFSET);
}

/** Finds the tables behind a core header: that of an image, or of an assembly in a composite one. */
export function readCoreSections(image: PeImage, rva: number): ReadyToRunSections {
  const count = Math.min(image.at(rva, CORE_BYTES).readUInt32LE(4), MAX_SECTIONS);
  const table = image.at(rva + CORE_BYTES, SECTION_BYTES * count);
  const places = new Map<number, Directory>();
  for (let at = 0; at < table.length; at += SECTION_BYTES) {
    const place = { rva: table.readUInt32LE(at + 4), size: table.readUInt32LE(at + 8) };
    places.set(table.readUInt32LE(at), place);
  }
  return new ReadyToRunSections(image, places);
}
