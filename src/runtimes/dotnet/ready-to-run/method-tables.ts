/**
 * Gathers the tables of a precompiled image that say which of its functions is the body of which method, generic
 * instances included: src/coreclr/inc/readytorun.h of .NET 8 to 10.
 */
import type { FunctionMethods, MethodFinder } from "../../../addon/method-finder.ts";
import { wordsOf } from "../bytes.ts";
import { Unreadable } from "../memory.ts";
import type { ReadyToRunSections } from "./header.ts";

const SECTION_FUNCTIONS = 102;
const SECTION_METHODS = 103;
/** Signatures and entry points of generic instances. */
export const SECTION_INSTANCES = 109;
const SECTION_COLD_PARTS = 120;
/** Funclets follow the body of their method, which is looked for so far back. */
const MAX_FUNCLETS = 256;
/** What the tables of an image take at most: those of System.Private.CoreLib take 1.3 MB. */
const MAX_BYTES = 64 << 20;

/** The functions of an image, and the methods that they are the bodies of. */
export interface MethodTables extends Omit<FunctionMethods, "isWhole"> {
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

/** Reads the tables of an image of some user: MethodFinder.find(). */
export type FindMethods = (
  functions: Buffer,
  instances: Buffer,
  definitions: readonly Buffer[],
) => FunctionMethods | string;

/** Has a finder read the tables of images of the user `owner`. */
export const methodsOf =
  (finder: MethodFinder, owner: number): FindMethods =>
  (...tables) =>
    finder.find(owner, ...tables);

/** Reads the tables of an image; throws Unreadable where they are damaged, or take too long to read. */
export function readMethodTables(
  sections: ReadyToRunSections,
  components: Components,
  find: FindMethods,
): MethodTables {
  let bytes = 0;
  const tableOf = (of: ReadyToRunSections, kind: number): Buffer => {
    bytes += of.get(kind)?.size ?? 0;
    if (bytes > MAX_BYTES) throw new Unreadable("its tables take too long to read");
    return of.bytes(kind);
  };
  const functions = tableOf(sections, SECTION_FUNCTIONS);
  const parts = tableOf(sections, SECTION_COLD_PARTS);
  const instances = tableOf(sections, SECTION_INSTANCES);
  const definitions = Array.from({ length: components.count }, (_, component) =>
    tableOf(components.sections(component), SECTION_METHODS),
  );
  const found = find(functions, instances, definitions);
  if (typeof found === "string") throw new Unreadable(found);
  const { isWhole, ...methods } = found;
  const coldParts = wordsOf(parts, 0, 2 * Math.floor(parts.length / 8));
  return { ...methods, coldParts, maxFunclets: isWhole ? MAX_FUNCLETS : 0 };
}
