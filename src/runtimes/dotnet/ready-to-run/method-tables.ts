/**
 * Reads which function of a precompiled image is the body of which method, by the image's own tables, generic
 * instances included. Formats: src/coreclr/inc/readytorun.h and NativeFormat of .NET 8 to 10.
 */
import { ARCHITECTURE } from "../../../machine/architecture.ts";
import { skipMethodInstance } from "../instance-signature.ts";
import { Unreadable } from "../memory.ts";
import { CompressedReader } from "../metadata.ts";
import { Work } from "../work.ts";
import type { ReadyToRunSections } from "./header.ts";
import { NativeReader } from "./native-format.ts";

const SECTION_FUNCTIONS = 102;
const SECTION_METHODS = 103;
/** Signatures and entry points of generic instances. */
export const SECTION_INSTANCES = 109;
const SECTION_COLD_PARTS = 120;
const FUNCTION_BYTES = ARCHITECTURE.runtimeFunctionBytes;
/** Funclets follow the body of their method, which is looked for so far back. */
const MAX_FUNCLETS = 256;
export const MAX_SIGNATURE = 1024;
/** What reading the tables of an image takes at most: a hundred times as much as the largest assembly needs. */
const MAX_WORK = 8_000_000;
/** Reading bytes costs less than looking at them. */
const BYTES_PER_STEP = 8;

/** The functions of an image, and the methods that they are the bodies of. */
export interface MethodTables {
  /** RVAs of the functions, ascending. */
  readonly begins: Uint32Array;
  /**
   * Methods by the index of the function that is their body. A definition is 2 * its row; an instance is 2 * the
   * place of its signature + 1; 0 stands for funclets and what is not known.
   */
  readonly methods: Uint32Array;
  /** Numbers of the assemblies of the definitions; empty in an image of one. */
  readonly components: Uint16Array;
  /** Parts of functions that were put behind all others, ascending: the index of each, and that of its function. */
  readonly coldParts: Uint32Array;
  /** How many funclets of a method are looked at; 0: they cannot be told from bodies that are not known. */
  readonly maxFunclets: number;
}

/** The assemblies of an image, by their numbers from 0: each has tables of its definitions. */
export interface Components {
  readonly count: number;
  sections(component: number): ReadyToRunSections;
}

/** Says how many functions an image has. */
export function functionCount(sections: ReadyToRunSections): number {
  return Math.floor((sections.get(SECTION_FUNCTIONS)?.size ?? 0) / FUNCTION_BYTES);
}

/** Reads the tables of an image; throws Unreadable where they are damaged, or take too long to read. */
export function readMethodTables(
  sections: ReadyToRunSections,
  components: Components,
): MethodTables {
  const work = new Work(MAX_WORK, "its tables");
  const count = functionCount(sections);
  const begins = numbersOf(tableOf(sections, SECTION_FUNCTIONS, work), count, FUNCTION_BYTES);
  const parts = tableOf(sections, SECTION_COLD_PARTS, work);
  const coldParts = numbersOf(parts, 2 * Math.floor(parts.length / 8), 4);
  const methods = new Uint32Array(count);
  const owners = new Uint16Array(components.count > 1 ? count : 0);
  for (let component = 0; component < components.count; component++) {
    const definitions = tableOf(components.sections(component), SECTION_METHODS, work);
    readDefinitions(new NativeReader(definitions, work), (row, index) => {
      methods[index] = (row + 1) * 2;
      owners[index] = component;
    });
  }
  const isWhole = readInstances(tableOf(sections, SECTION_INSTANCES, work), methods, work);
  return {
    begins,
    methods,
    components: owners,
    coldParts,
    maxFunclets: isWhole ? MAX_FUNCLETS : 0,
  };
}

function tableOf(sections: ReadyToRunSections, kind: number, work: Work): Buffer {
  work.take((sections.get(kind)?.size ?? 0) / BYTES_PER_STEP);
  return sections.bytes(kind);
}

/** Reads entry points by the row of the method: an array of NativeFormat. */
function readDefinitions(reader: NativeReader, visit: (row: number, index: number) => void): void {
  reader.eachElement((row, at) => visit(row, entryPoint(reader, at)));
}

/**
 * Reads entry points of generic instances: a hash table of NativeFormat; each entry is a signature and an entry
 * point. Each instance has a function of its own, so there are no more of them. Says whether all could be read: the
 * function of another is not known, and could be taken for a funclet of the one before it.
 */
function readInstances(bytes: Buffer, methods: Uint32Array, work: Work): boolean {
  const reader = new NativeReader(bytes, work);
  const signature = new CompressedReader(bytes, 0, 0);
  let left = methods.length;
  let isWhole = true;
  reader.eachEntry((at) => {
    if (left-- === 0) throw new Unreadable("a table of its image is damaged");
    signature.at = at;
    signature.end = at + MAX_SIGNATURE;
    try {
      skipMethodInstance(signature);
      methods[entryPoint(reader, signature.at)] = at * 2 + 1;
      work.take(signature.at - at);
    } catch (error) {
      work.take(MAX_SIGNATURE);
      if (!(error instanceof Unreadable)) throw error;
      isWhole = false;
    }
  });
  return isWhole;
}

/** Takes a number out of each record of a table, whose length is one of words: it is the first thing of the record. */
function numbersOf(records: Buffer, count: number, width: number): Uint32Array {
  // Most would be read before V8 has compiled readUInt32LE().
  const step = width / 4;
  const words = wordsOf(records, 0, count * step);
  if (step === 1) return words;
  const numbers = new Uint32Array(count);
  for (let at = 0; at < count; at++) numbers[at] = words[at * step] ?? 0;
  return numbers;
}

/** Copies words of 32 bits out of bytes, wherever these are. */
export function wordsOf(bytes: Buffer, at: number, count: number): Uint32Array {
  const words = new Uint32Array(count);
  bytes.copy(new Uint8Array(words.buffer), 0, at, at + 4 * count);
  return words;
}

/** Reads an entry point: the index of its function, and a bit that says whether a list of fixups follows. */
function entryPoint(reader: NativeReader, at: number): number {
  const value = reader.unsigned(at);
  return value & 1 ? value >>> 2 : value >>> 1;
}
