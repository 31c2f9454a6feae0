/** What the runtime itself keeps of precompiled methods: which MethodDesc each entry point belongs to. */
import { readFileSync } from "node:fs";
import { PeImage } from "../../../src/runtimes/dotnet/image.ts";
import { type ProcessMemory, Unreadable } from "../../../src/runtimes/dotnet/memory.ts";

/**
 * Offsets in ReadyToRunInfo (src/coreclr/vm/readytoruninfo.h), measured on 8.0.29, 9.0.18, 10.0.12: where that of the
 * composite image is, its functions, their number, its map.
 */
const COMPOSITE_INFO = 40;
const FUNCTIONS = 80;
const COUNT = 88;
const ENTRY_MAP: Readonly<Record<number, number>> = { 8: 432, 9: 432, 10: 360 };
const SECTION_FUNCTIONS = 102;
const FUNCTION_BYTES = 12;
const MAX_FUNCLETS = 64;
const MAX_BUCKETS = 1 << 20;
const PAGE = 4096;
/** Longer ones are of the heap of objects. */
const MAX_SEARCHED = 64 << 20;

/** A line of /proc/PID/maps. */
export interface Mapping {
  readonly start: number;
  readonly size: number;
  readonly access: string;
  readonly offset: number;
  readonly path: string;
}

/** The mappings of a process. */
export function readMappings(pid: number): Mapping[] {
  const lines = readFileSync(`/proc/${pid}/maps`, "utf8").split("\n");
  return lines.flatMap((line) => {
    const [, first, end, access = "", offset, path = ""] =
      /^(\w+)-(\w+) (\S+) (\w+) \S+ \d+ *(.*)$/.exec(line) ?? [];
    if (!first || !end || !offset) return [];
    const begin = parseInt(first, 16);
    return [
      { start: begin, size: parseInt(end, 16) - begin, access, offset: parseInt(offset, 16), path },
    ];
  });
}

/** Where a precompiled image is in the process, and its methods as far as the runtime has prepared them. */
export interface EntryMap {
  readonly base: number;
  /** Address of its functions. */
  readonly functions: number;
  /** RVAs where functions begin, ascending. */
  readonly begins: readonly number[];
  /** Start of the code -> MethodDesc. */
  readonly methods: Map<number, number>;
}

/** The image of a file of which an offset is mapped at an address; its map is still empty. Throws Unreadable. */
export function imageAt(path: string, address: number, offset: number): EntryMap {
  const bytes = readFileSync(path);
  const image = new PeImage((at, size) => bytes.subarray(at, at + size), [false]);
  const base = address - image.rvaOfOffset(offset);
  const { rva } = image.readyToRun;
  const sections = image.at(rva + 16, 12 * image.at(rva + 12, 4).readUInt32LE(0));
  for (let at = 0; at < sections.length; at += 12) {
    if (sections.readUInt32LE(at) !== SECTION_FUNCTIONS) continue;
    const start = sections.readUInt32LE(at + 4);
    const table = image.at(start, sections.readUInt32LE(at + 8));
    const begins = Array.from({ length: Math.floor(table.length / FUNCTION_BYTES) }, (_, i) =>
      table.readUInt32LE(i * FUNCTION_BYTES),
    );
    return { base, functions: base + start, begins, methods: new Map() };
  }
  throw new Unreadable("its image has no functions");
}

/** Fills the maps: what the runtime keeps of an image points to the image's functions and says how many they are. */
export function readEntryMaps(
  memory: ProcessMemory,
  major: number,
  images: readonly EntryMap[],
  mappings: readonly Mapping[],
): void {
  const wanted = images.map((image) => {
    const bytes = Buffer.alloc(12);
    bytes.writeBigUInt64LE(BigInt(image.functions));
    bytes.writeUInt32LE(image.begins.length, COUNT - FUNCTIONS);
    return { image, bytes };
  });
  for (const { start: first, size, access } of mappings) {
    if (!access.startsWith("rw") || size > MAX_SEARCHED) continue;
    for (let page = first; page < first + size; page += PAGE) {
      const read = pageAt(memory, page, page + PAGE < first + size);
      for (const { image, bytes } of wanted) {
        const at = read.indexOf(bytes);
        if (at < 0 || image.methods.size > 0) continue;
        const info = memory.pointer(page + at - FUNCTIONS + COMPOSITE_INFO);
        readHashMap(memory, info + (ENTRY_MAP[major] ?? 0), image.methods);
      }
    }
  }
}

/** A page and, where another one follows, a word of that; empty where it is not there. */
function pageAt(memory: ProcessMemory, page: number, isFollowed: boolean): Buffer {
  try {
    return memory.bytes(page, PAGE + (isFollowed ? 8 : 0));
  } catch (error) {
    if (error instanceof Unreadable) return Buffer.alloc(0);
    throw error;
  }
}

/** A HashMap of the runtime: the number of its buckets, and from 64 on four keys and four values of each. */
function readHashMap(memory: ProcessMemory, address: number, into: Map<number, number>): void {
  const buckets = memory.pointer(address + 16);
  const size = Math.min(memory.u32(buckets), MAX_BUCKETS);
  const words = memory.bytes(buckets + 64, size * 64);
  for (let i = 0; i < size * 8; i++) {
    const key = words.readBigUInt64LE(i * 8);
    if (i % 8 > 3 || key <= 1n) continue;
    const value = words.readBigUInt64LE(i * 8 + 32);
    into.set(Number(key), Number(BigInt.asUintN(63, value) << 1n));
  }
}

/** The MethodDesc of the code at an address; throws Unreadable where the runtime has none. */
export function methodDescAt({ base, begins, methods }: EntryMap, address: number): number {
  const last = begins.findLastIndex((begin) => base + begin <= address);
  // Funclets, which have no entry, follow their method.
  for (let at = last; at >= 0 && last - at <= MAX_FUNCLETS; at--) {
    const found = methods.get(base + (begins[at] ?? 0));
    if (found !== undefined) return found;
  }
  throw new Unreadable("the runtime has no entry point there");
}
