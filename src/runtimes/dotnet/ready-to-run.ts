/**
 * Precompiled ("ready to run") methods by the image's own tables: which function of an image belongs to which
 * method, generic instances included. Formats: src/coreclr/inc/readytorun.h and NativeFormat of .NET 8 to 10.
 */
import type { PeImage } from "./image.ts";
import { Unreadable } from "./memory.ts";
import { CompressedReader, type Metadata } from "./metadata.ts";
import { NativeReader, readHashtable } from "./native-format.ts";

const SECTION_FUNCTIONS = 102;
const SECTION_METHODS = 103;
const SECTION_INSTANCES = 109;
const FUNCTION_BYTES = 12;
const MAX_SECTIONS = 256;
const MAX_SECTION_BYTES = 64 << 20;
/** Funclets follow the body of their method; how far back it is looked for. */
const MAX_FUNCLETS = 256;

/** Flags of a method signature (ReadyToRunMethodSigFlags). */
const SIG_METHOD_INSTANTIATION = 0x04;
const SIG_SLOT = 0x08;
const SIG_MEMBER_REF = 0x10;
const SIG_CONSTRAINED = 0x20;
const SIG_OWNER_TYPE = 0x40;
const SIG_UPDATE_CONTEXT = 0x80;

/** A method as its image refers to it. */
interface MethodReference {
  readonly kind: (typeof KINDS)[number];
  readonly row: number;
}

const KINDS = ["definition", "member", "foreign"] as const;

/** An image has tens of thousands of references: a number each, which is never 0. */
const pack = ({ kind, row }: MethodReference): number =>
  row * KINDS.length + KINDS.indexOf(kind) + 1;

const unpack = (packed: number): MethodReference => ({
  kind: KINDS[(packed - 1) % KINDS.length] ?? "foreign",
  row: Math.floor((packed - 1) / KINDS.length),
});

/** A method of an image by name. */
export interface ImageMethod {
  readonly name: string;
  readonly module: string;
}

export class ReadyToRunImage {
  readonly #metadata: Metadata;
  readonly #module: string;
  readonly #functions: Buffer;
  /** By index of the function that is the method's body, packed; 0 for funclets and what is not known. */
  readonly #methods: Uint32Array;

  /** Reads the tables of an image; throws Unreadable where it is not precompiled. */
  constructor(image: PeImage, metadata: Metadata) {
    this.#metadata = metadata;
    this.#module = this.#metadata.assemblyName;
    const sections = readSections(image);
    this.#functions = sectionBytes(image, sections.get(SECTION_FUNCTIONS));
    this.#methods = new Uint32Array(Math.floor(this.#functions.length / FUNCTION_BYTES));
    this.#readDefinitions(sectionBytes(image, sections.get(SECTION_METHODS)));
    this.#readInstances(sectionBytes(image, sections.get(SECTION_INSTANCES)));
  }

  /** Roughly what the tables take in memory. */
  get memoryBytes(): number {
    return this.#functions.length + this.#methods.byteLength;
  }

  /** The method whose code is at an RVA; throws Unreadable where there is none. */
  method(rva: number): ImageMethod {
    const body = this.#bodyOf(this.#functionAt(rva));
    if (!body) throw new Unreadable("its image does not say which method this code belongs to");
    if (body.kind === "foreign")
      throw new Unreadable("it is an instance of another assembly's method");
    if (body.kind === "member") {
      const { type, name } = this.#metadata.memberRef(body.row);
      return { name: `${type.name}.${name}`, module: type.assembly || this.#module };
    }
    const { type, name } = this.#metadata.method(body.row);
    return { name: `${type}.${name}`, module: this.#module };
  }

  /** Index of the last function that begins at or before an RVA. */
  #functionAt(rva: number): number {
    let low = 0;
    let high = this.#methods.length - 1;
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if (this.#functions.readUInt32LE(middle * FUNCTION_BYTES) <= rva) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  #bodyOf(index: number): MethodReference | undefined {
    for (let at = index; at >= 0 && index - at <= MAX_FUNCLETS; at--) {
      const method = this.#methods[at];
      if (method) return unpack(method);
    }
    return undefined;
  }

  /** Entry points by the row of the method: an array of NativeFormat. */
  #readDefinitions(bytes: Buffer): void {
    const reader = new NativeReader(bytes);
    for (const [row, at] of reader.array()) {
      this.#methods[entryPoint(reader, at)] = pack({ kind: "definition", row: row + 1 });
    }
  }

  /** Entry points of generic instances: a hash table of NativeFormat; each entry is a signature and an entry point. */
  #readInstances(bytes: Buffer): void {
    const reader = new NativeReader(bytes);
    for (const at of readHashtable(reader)) {
      const signature = new CompressedReader(bytes, at, bytes.length);
      const method = readMethodSignature(signature);
      if (method) this.#methods[entryPoint(reader, signature.at)] = pack(method);
    }
  }
}

/** Index of the function of an entry point: with a bit that says whether a list of fixups follows. */
function entryPoint(reader: NativeReader, at: number): number {
  const [value] = reader.unsigned(at);
  return value & 1 ? value >>> 2 : value >>> 1;
}

function readSections(image: PeImage): Map<number, readonly [rva: number, size: number]> {
  const { rva } = image.readyToRun;
  const sections = new Map<number, readonly [number, number]>();
  if (rva === 0) throw new Unreadable("its image is not precompiled");
  const header = image.at(rva, 16);
  if (header.toString("latin1", 0, 4) !== "RTR\0")
    throw new Unreadable("its image has no ready-to-run header");
  const count = Math.min(header.readUInt32LE(12), MAX_SECTIONS);
  const table = image.at(rva + 16, 12 * count);
  for (let at = 0; at < table.length; at += 12) {
    sections.set(table.readUInt32LE(at), [table.readUInt32LE(at + 4), table.readUInt32LE(at + 8)]);
  }
  return sections;
}

function sectionBytes(image: PeImage, section: readonly [number, number] | undefined): Buffer {
  if (!section) return Buffer.alloc(0);
  const [rva, size] = section;
  if (size > MAX_SECTION_BYTES) throw new Unreadable("a table of its image is too long");
  return image.at(rva, size);
}

/** Reads a method signature to its end; nothing for one of a form that is not known. */
function readMethodSignature(reader: CompressedReader): MethodReference | undefined {
  const flags = reader.next();
  let foreign = false;
  if (flags & SIG_UPDATE_CONTEXT) foreign = reader.next() !== 0;
  if (flags & SIG_SLOT) return undefined;
  if (flags & SIG_OWNER_TYPE) foreign = skipType(reader) || foreign;
  const row = reader.next();
  if (flags & SIG_METHOD_INSTANTIATION) {
    for (let left = reader.next(); left > 0; left--) skipType(reader);
  }
  if (flags & SIG_CONSTRAINED) skipType(reader);
  if (foreign) return { kind: "foreign", row };
  return { kind: flags & SIG_MEMBER_REF ? "member" : "definition", row };
}

/** Element types (ECMA-335 II.23.1.16), and those of ready-to-run images from 0x3b on. */
const WITH_TYPE = new Set([0x0f, 0x10, 0x1d, 0x3c, 0x3d, 0x45]);
const WITH_NUMBER = new Set([0x11, 0x12, 0x13, 0x1e, 0x3b]);
const MODULE_OVERRIDE = 0x3f;
const MAX_DEPTH = 32;

/** Skips a type of a signature. Returns whether it is of another module. */
function skipType(reader: CompressedReader, depth = 0): boolean {
  if (depth > MAX_DEPTH) throw new Unreadable("a signature is nested too deep");
  const kind = reader.next();
  if (WITH_TYPE.has(kind)) return skipType(reader, depth + 1);
  if (WITH_NUMBER.has(kind)) {
    reader.next();
  } else if (kind === MODULE_OVERRIDE) {
    const module = reader.next();
    skipType(reader, depth + 1);
    return module !== 0;
  } else if (kind === 0x14) {
    skipType(reader, depth + 1);
    reader.next();
    for (let list = 0; list < 2; list++) {
      for (let left = reader.next(); left > 0; left--) reader.next();
    }
  } else if (kind === 0x15) {
    const foreign = skipType(reader, depth + 1);
    for (let left = reader.next(); left > 0; left--) skipType(reader, depth + 1);
    return foreign;
  } else if (kind === 0x1b) {
    reader.next();
    for (let left = reader.next() + 1; left > 0; left--) skipType(reader, depth + 1);
  } else if (kind === 0x1f || kind === 0x20) {
    reader.next();
    return skipType(reader, depth + 1);
  }
  return false;
}
