/** Keeps the tables of precompiled images from run to run: reading those of an image anew takes some 10 ms. */
import type { KeptBytes } from "../kept.ts";
import type { ReadyToRunSections } from "./header.ts";
import {
  type Components,
  functionCount,
  type MethodTables,
  readMethodTables,
  wordsOf,
} from "./method-tables.ts";

/**
 * Tables of fewer functions are read as fast as they are found on the disk: in the first refresh, when V8 has compiled
 * nothing of this, it takes 1 ms to read 300.
 */
const WORTH_KEEPING = 64;
const MAX_KEPT_BYTES = 8 << 20;
/** Words in front of the tables: the lengths of all four in elements, and MethodTables.maxFunclets. */
const HEADER_WORDS = 5;

/** Returns the tables of an image as an earlier run kept them, else as readMethodTables() reads them. */
export function findMethodTables(
  sections: ReadyToRunSections,
  components: Components,
  kept: KeptBytes | undefined,
): MethodTables {
  const known = kept && decodeTables(kept.read());
  if (known && known.begins.length === functionCount(sections)) return known;
  const tables = readMethodTables(sections, components);
  if (kept && tables.begins.length >= WORTH_KEEPING) {
    const bytes = encodeTables(tables);
    if (bytes.length <= MAX_KEPT_BYTES) kept.write(bytes);
  }
  return tables;
}

/** Tables as bytes, in the byte order of this machine. */
export function encodeTables(tables: MethodTables): Buffer {
  const { begins, methods, coldParts, components, maxFunclets } = tables;
  const lists = [begins, methods, coldParts, components];
  const header = Uint32Array.of(...lists.map(({ length }) => length), maxFunclets);
  return Buffer.concat([header, ...lists].map(bytesOf));
}

/** The tables of such bytes; undefined where these are none, or cut. */
export function decodeTables(bytes: Buffer): MethodTables | undefined {
  if (bytes.length < 4 * HEADER_WORDS) return undefined;
  const header = wordsOf(bytes, 0, HEADER_WORDS);
  const [functions = 0, methodCount = 0, partWords = 0, owners = 0, maxFunclets = 0] = header;
  const isOfOneLength = methodCount === functions && (owners === functions || owners === 0);
  const words = HEADER_WORDS + functions + methodCount + partWords;
  if (!isOfOneLength || bytes.length !== 4 * words + 2 * owners) return undefined;
  let at = 4 * HEADER_WORDS;
  const next = (count: number): Uint32Array => {
    const list = wordsOf(bytes, at, count);
    at += 4 * count;
    return list;
  };
  const [begins, methods, coldParts] = [next(functions), next(methodCount), next(partWords)];
  const components = new Uint16Array(owners);
  bytes.copy(bytesOf(components), 0, at);
  return { begins, methods, coldParts, components, maxFunclets };
}

const bytesOf = ({ buffer, byteOffset, byteLength }: ArrayBufferView): Buffer =>
  Buffer.from(buffer as ArrayBuffer, byteOffset, byteLength);
