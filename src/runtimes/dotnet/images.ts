/** Names of precompiled code by its file: the same in every process, and after the last of them. */
import type { SampledFile, Sampler } from "../../collector/sampler.ts";
import type { PageBudget } from "./bytes.ts";
import { PeImage } from "./image.ts";
import { Unreadable } from "./memory.ts";
import type { Metadata } from "./metadata.ts";
import { type ImageMethod, ReadyToRunImage } from "./ready-to-run.ts";

/** An image in a file: alone, or one of a single-file program. */
interface PlacedImage {
  readonly image: PeImage;
  readonly metadata: Metadata;
  tables: ReadyToRunImage | undefined;
  /** Roughly what it takes in memory. */
  bytes: number;
}

/** Images are read again when a new method of theirs is met: what is named already needs them no more. */
/** Roughly, of an image whose tables and metadata are not read yet. */
const IMAGE_BYTES = 16 << 10;
const MAX_IMAGE_BYTES = 8 << 20;

export class ImageNames {
  readonly #sampler: Pick<Sampler, "readFile">;
  readonly #pages: PageBudget;
  /** Where the assemblies of a file are, by its id; for each: offset, size. */
  readonly #places = new Map<number, Float64Array>();
  /** By id of the file and place in it; the one used last is the last. */
  readonly #images = new Map<string, PlacedImage>();

  constructor(sampler: Pick<Sampler, "readFile">, pages: PageBudget) {
    this.#sampler = sampler;
    this.#pages = pages;
  }

  learn(files: readonly SampledFile[]): void {
    for (const { id, assemblies } of files) {
      this.#forgetFile(id);
      if (assemblies.length > 0) this.#places.set(id, assemblies);
      else this.#places.delete(id);
    }
  }

  /** Whether an offset of a file is precompiled managed code. */
  holds(file: number, offset: number): boolean {
    const first = this.#places.get(file)?.[0];
    return first !== undefined && offset >= first;
  }

  /** The method at an offset of a file that holds() it; throws Unreadable where it cannot be told. */
  method(file: number, offset: number): ImageMethod {
    const [base] = this.#placeOf(file, offset);
    const placed = this.#at(file, base);
    if (!placed.tables) {
      placed.tables = new ReadyToRunImage(placed.image, placed.metadata);
      placed.bytes += placed.tables.memoryBytes;
    }
    return placed.tables.method(placed.image.rvaOfOffset(offset - base));
  }

  /** The method of a row of the metadata of the image at an offset of a file. */
  methodOfRow(file: number, base: number, row: number): ImageMethod {
    const { metadata } = this.#at(file, base);
    const { type, name } = metadata.method(row);
    return { name: `${type}.${name}`, module: metadata.assemblyName };
  }

  #at(file: number, base: number): PlacedImage {
    const key = `${file}:${base}`;
    const placed = this.#images.get(key) ?? this.#readImage(file, base);
    this.#images.delete(key);
    this.#forgetOldest();
    this.#images.set(key, placed);
    return placed;
  }

  #readImage(file: number, base: number): PlacedImage {
    const image = new PeImage((at, size) => this.#bytes(file, base + at, size), [false]);
    const metadata = image.metadata(this.#pages);
    return { image, metadata, tables: undefined, bytes: IMAGE_BYTES };
  }

  #forgetOldest(): void {
    let bytes = 0;
    for (const placed of this.#images.values()) bytes += placed.bytes;
    for (const [key, placed] of this.#images) {
      if (bytes <= MAX_IMAGE_BYTES) return;
      this.#images.delete(key);
      bytes -= placed.bytes;
    }
  }

  #forgetFile(file: number): void {
    for (const key of this.#images.keys()) {
      if (key.startsWith(`${file}:`)) this.#images.delete(key);
    }
  }

  #placeOf(file: number, offset: number): readonly [base: number, end: number] {
    const places = this.#places.get(file) ?? new Float64Array();
    for (let at = places.length - 2; at >= 0; at -= 2) {
      const [base = 0, size = 0] = places.subarray(at, at + 2);
      if (offset >= base && offset < base + size) return [base, base + size];
    }
    throw new Unreadable("no assembly of the file holds it");
  }

  #bytes(file: number, offset: number, size: number): Buffer {
    const bytes = this.#sampler.readFile(file, offset, size);
    if (bytes.length < size) throw new Unreadable("its file could not be read");
    return bytes;
  }
}
