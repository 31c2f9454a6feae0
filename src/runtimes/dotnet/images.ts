/** Names of precompiled code by its file: the same in every process, and after the last of them. */
import type { SampledFile, Sampler } from "../../collector/sampler.ts";
import { PeImage } from "./image.ts";
import { Unreadable } from "./memory.ts";
import { type ImageMethod, ReadyToRunImage } from "./ready-to-run.ts";

/** An image in a file: alone, or one of a single-file program. */
interface PlacedImage {
  readonly base: number;
  readonly end: number;
  readonly image: PeImage;
  readonly tables: ReadyToRunImage;
}

export class ImageNames {
  readonly #sampler: Pick<Sampler, "readFile">;
  /** Where the assemblies of a file are, by its id; for each: offset, size. */
  readonly #places = new Map<number, Float64Array>();
  readonly #images = new Map<number, PlacedImage[]>();

  constructor(sampler: Pick<Sampler, "readFile">) {
    this.#sampler = sampler;
  }

  learn(files: readonly SampledFile[]): void {
    for (const { id, assemblies } of files) {
      this.#images.delete(id);
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
    const { base, image, tables } = this.#find(file, offset);
    return tables.method(image.rvaOfOffset(offset - base));
  }

  #find(file: number, offset: number): PlacedImage {
    const placed = this.#images.get(file) ?? [];
    const known = placed.find((it) => offset >= it.base && offset < it.end);
    if (known) return known;
    const [base, end] = this.#placeOf(file, offset);
    const image = new PeImage((at, size) => this.#bytes(file, base + at, size), [false]);
    const found = { base, end, image, tables: new ReadyToRunImage(image) };
    this.#images.set(file, [...placed, found]);
    return found;
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
