/** Names precompiled code by its file: the same in every process, and after the last of them. */
import type { SampledFile } from "../../addon/drained.ts";
import type { MethodFinder } from "../../addon/method-finder.ts";
import type { Sampler } from "../../addon/sampler.ts";
import { type PageBudget, PagedBytes } from "./bytes.ts";
import { PeImage } from "./image.ts";
import type { ImageMethod } from "./instance-name.ts";
import { type KeptBytes, makerOf } from "./kept.ts";
import { KeptNames } from "./kept-names.ts";
import { readOr, Unreadable } from "./memory.ts";
import type { Metadata } from "./metadata.ts";
import { ReadyToRunImage } from "./ready-to-run/image.ts";
import type { FunctionRange } from "./ready-to-run/method-index.ts";
import { methodsOf } from "./ready-to-run/method-tables.ts";
import { TimeShare } from "./work.ts";

/** An image in a file: alone, or one of a single-file program. */
interface PlacedImage {
  readonly image: PeImage;
  metadata: Metadata | undefined;
  tables: ReadyToRunImage | undefined;
  /** Methods that were named, in this run or an earlier one: each process that has them asks again. */
  readonly names: KeptNames;
  /** The memory that it takes, roughly. */
  bytes: number;
  /** Why its tables cannot be read. */
  unreadable: Unreadable | undefined;
}

/** The memory of an image whose tables and metadata are not read yet, roughly. */
const IMAGE_BYTES = 16 << 10;
/**
 * Images above this are forgotten, and read again when a new method of theirs is met: named methods need them no more.
 */
const MAX_IMAGE_BYTES = 8 << 20;
const NAMES = makerOf("method names");
/** So many assemblies of a file are looked at for one of a composite image. */
const MAX_ASSEMBLIES = 4096;

/** What it needs of the sampler. */
export type ImageFiles = Pick<Sampler, "readFile" | "fileOwner" | "kept" | "keep">;

export class ImageNames {
  readonly #sampler: ImageFiles;
  readonly #pages: PageBudget;
  readonly #finder: MethodFinder;
  /** Places of the assemblies of a file, by its id: offset and size of each. */
  readonly #places = new Map<number, Float64Array>();
  /** Images by the id of the file and the place in it; the image that was used last is the last. */
  readonly #images = new Map<string, PlacedImage>();
  /** The image that was used last. */
  #last: { readonly file: number; readonly base: number; readonly placed: PlacedImage } | undefined;
  /** Places of assemblies in a single-file program by their build, by the id of the file. */
  readonly #builds = new Map<number, ReadonlyMap<string, number>>();
  /** The memory that the images take together, roughly. */
  #heldBytes = 0;
  /** What is spent on a file that is read again and again. */
  readonly #time = new Map<number, TimeShare>();

  constructor(sampler: ImageFiles, finder: MethodFinder, pages: PageBudget) {
    this.#sampler = sampler;
    this.#finder = finder;
    this.#pages = pages;
  }

  /** Takes in where the assemblies of files are. */
  placeFiles(files: readonly SampledFile[]): void {
    for (const { id, assemblies } of files) {
      this.#forgetFile(id);
      if (assemblies.length > 0) this.#places.set(id, assemblies);
      else this.#places.delete(id);
    }
  }

  /** Forgets what was read of files: the next file with the id may be another one. */
  forgetFiles(ids: Iterable<number>): void {
    for (const id of ids) this.#forgetFile(id);
  }

  /** Says whether an offset of a file is precompiled managed code. */
  holds(file: number, offset: number): boolean {
    const first = this.#places.get(file)?.[0];
    return first !== undefined && offset >= first;
  }

  /** Names the method at an offset of a file that holds() it; throws Unreadable where it cannot be told. */
  method(file: number, offset: number): ImageMethod {
    const base = this.#baseOf(file, offset);
    const placed = this.#at(file, base);
    return this.#precompiled(file, base, placed, placed.image.rvaOfOffset(offset - base));
  }

  /** Where in a file the code of the function lies that holds an offset which holds() says yes to; undefined: not known. */
  codeAt(file: number, offset: number): FunctionRange | undefined {
    return readOr(() => {
      const base = this.#baseOf(file, offset);
      const placed = this.#at(file, base);
      const rva = placed.image.rvaOfOffset(offset - base);
      const range = this.#tables(file, base, placed).functionAt(rva);
      return range && { begin: offset + range.begin - rva, end: offset + range.end - rva };
    }, undefined);
  }

  /** Names the method at an RVA of the image at an offset of a file; throws Unreadable where it cannot be told. */
  methodOfRva(file: number, base: number, rva: number): ImageMethod {
    return this.#precompiled(file, base, this.#at(file, base), rva);
  }

  #precompiled(file: number, base: number, placed: PlacedImage, rva: number): ImageMethod {
    const known = placed.names.ofRva(rva);
    if (known) return known;
    const tables = this.#tables(file, base, placed);
    const method = tables.method(rva);
    // The names of a composite image come from other files: these may be replaced while that stays the same.
    const isNamedByOthers = tables.isComposite && base === 0;
    const range = isNamedByOthers ? undefined : tables.functionAt(rva);
    if (range) this.#addName(placed, (names) => names.addFunction(range, method));
    return method;
  }

  #tables(file: number, base: number, placed: PlacedImage): ReadyToRunImage {
    return placed.tables ?? this.#openTables(file, base, placed);
  }

  #openTables(file: number, base: number, placed: PlacedImage): ReadyToRunImage {
    if (placed.unreadable) throw placed.unreadable;
    const time = this.#time.get(file) ?? new TimeShare();
    this.#time.set(file, time);
    try {
      const tables = time.spend(() => this.#readTables(file, base, placed.image));
      placed.tables = tables;
      this.#grow(placed, tables.memoryBytes);
      return tables;
    } catch (error) {
      // It is not tried again for each method.
      if (error instanceof RangeError) placed.unreadable = new Unreadable("its tables are cut");
      if (error instanceof Unreadable) placed.unreadable = error;
      throw placed.unreadable ?? error;
    }
  }

  /** Names the method of a row of the metadata of the image at an offset of a file. */
  methodOfRow(file: number, base: number, row: number): ImageMethod {
    const placed = this.#at(file, base);
    const known = placed.names.ofRow(row);
    if (known) return known;
    placed.metadata ??= placed.image.metadata(this.#pages);
    const { type, name } = placed.metadata.method(row);
    const method = { name: `${type}.${name}`, module: placed.metadata.assemblyName };
    this.#addName(placed, (names) => names.addRow(row, method));
    return method;
  }

  #addName(placed: PlacedImage, add: (names: KeptNames) => void): void {
    const before = placed.names.memoryBytes;
    add(placed.names);
    this.#grow(placed, placed.names.memoryBytes - before);
  }

  /** Keeps the names that are new for the next run. */
  keepNames(): void {
    for (const { names } of this.#images.values()) names.save();
  }

  #at(file: number, base: number): PlacedImage {
    const last = this.#last;
    // Frames of one image come one after the other.
    if (last?.file === file && last.base === base) return last.placed;
    const key = `${file}:${base}`;
    const known = this.#images.get(key);
    const placed = known ?? this.#readImage(file, base);
    this.#images.delete(key);
    this.#images.set(key, placed);
    if (!known) this.#heldBytes += placed.bytes;
    this.#forgetOldest(key);
    this.#last = { file, base, placed };
    return placed;
  }

  #readImage(file: number, base: number): PlacedImage {
    const image = this.#peImage(file, base);
    const names = new KeptNames(this.#keptOf(file, base, NAMES));
    const nothing = { metadata: undefined, tables: undefined, unreadable: undefined };
    return { image, ...nothing, names, bytes: IMAGE_BYTES + names.memoryBytes };
  }

  #peImage(file: number, base: number): PeImage {
    return new PeImage((at, size) => this.#bytes(file, base + at, size), [false]);
  }

  #keptOf(file: number, base: number, maker: string): KeptBytes {
    return {
      read: () => this.#sampler.kept(file, base, maker),
      write: (bytes) => this.#sampler.keep(file, base, maker, bytes),
    };
  }

  #readTables(file: number, base: number, image: PeImage): ReadyToRunImage {
    return new ReadyToRunImage(image, {
      metadata: (place) => image.metadata(this.#pages, place),
      table: ({ rva, size }) =>
        new PagedBytes(size, (at, count) => image.at(rva + at, count), this.#pages),
      component: (name, build) =>
        base === 0 ? this.#beside(file, name) : this.#inProgram(file, build),
      methods: methodsOf(this.#finder, this.#sampler.fileOwner(file)),
    });
  }

  /** Reads an assembly of a composite image that is a file of its own, in the same folder. */
  #beside(file: number, name: string): Metadata {
    const read = (offset: number, size: number): Buffer => {
      const bytes = this.#sampler.readFile(file, offset, size, `${name}.dll`);
      if (bytes.length < size) throw new Unreadable("the file of its assembly could not be read");
      return bytes;
    };
    return new PeImage(read, [false]).metadata(this.#pages);
  }

  /** Reads an assembly of a composite image in a single-file program: it is another part of that. */
  #inProgram(file: number, build: string): Metadata {
    const builds = this.#builds.get(file) ?? this.#findBuilds(file);
    this.#builds.set(file, builds);
    const base = builds.get(build);
    if (base === undefined) throw new Unreadable("its assembly is not in its program");
    return this.#peImage(file, base).metadata(this.#pages);
  }

  #findBuilds(file: number): Map<string, number> {
    const builds = new Map<string, number>();
    const places = this.#places.get(file) ?? new Float64Array();
    for (let at = 0; at < Math.min(places.length, 2 * MAX_ASSEMBLIES); at += 2) {
      const base = places[at] ?? 0;
      const read = () => this.#peImage(file, base).metadata(this.#pages).moduleId;
      const build = readOr<string | undefined>(read, undefined);
      if (build !== undefined) builds.set(build, base);
    }
    return builds;
  }

  /** Adds to the memory that an image takes. */
  #grow(placed: PlacedImage, bytes: number): void {
    placed.bytes += bytes;
    this.#heldBytes += bytes;
  }

  /** Forgets images that were not used for long, down to the limit; the one in use stays, however large it is. */
  #forgetOldest(inUse: string): void {
    for (const [key, placed] of this.#images) {
      if (this.#heldBytes <= MAX_IMAGE_BYTES || key === inUse) return;
      placed.names.save();
      this.#forget(key, placed);
    }
  }

  #forget(key: string, placed: PlacedImage): void {
    this.#images.delete(key);
    this.#heldBytes -= placed.bytes;
    if (this.#last?.placed === placed) this.#last = undefined;
  }

  #forgetFile(file: number): void {
    this.#builds.delete(file);
    this.#time.delete(file);
    for (const [key, placed] of this.#images) {
      if (key.startsWith(`${file}:`)) this.#forget(key, placed);
    }
  }

  /** Where the assembly begins that holds an offset of a file: a single-file program has hundreds. */
  #baseOf(file: number, offset: number): number {
    const places = this.#places.get(file) ?? new Float64Array();
    for (let at = places.length - 2; at >= 0; at -= 2) {
      const base = places[at] ?? 0;
      if (offset >= base && offset < base + (places[at + 1] ?? 0)) return base;
    }
    throw new Unreadable("no assembly of the file holds it");
  }

  #bytes(file: number, offset: number, size: number): Buffer {
    const bytes = this.#sampler.readFile(file, offset, size);
    if (bytes.length < size) throw new Unreadable("its file could not be read");
    return bytes;
  }
}
