/**
 * Reads signatures of precompiled generic instances: ECMA-335 II.23.2 with the additions of ready-to-run images
 * (docs/design/coreclr/botr/readytorun-format.md; src/coreclr/vm/zapsig.cpp of .NET 8 to 10).
 */

import type { CompressedReader } from "./bytes.ts";
import { Unreadable } from "./memory.ts";

/** Flags of a method signature (ReadyToRunMethodSigFlags). */
const METHOD_INSTANTIATION = 0x04;
const SLOT = 0x08;
const MEMBER_REF = 0x10;
const CONSTRAINED = 0x20;
const OWNER_TYPE = 0x40;
const UPDATE_CONTEXT = 0x80;

/** Element types (ECMA-335 II.23.1.16), and those of ready-to-run images from 0x3b on. */
const NAMES = new Map([
  [0x01, "System.Void"],
  [0x02, "System.Boolean"],
  [0x03, "System.Char"],
  [0x04, "System.SByte"],
  [0x05, "System.Byte"],
  [0x06, "System.Int16"],
  [0x07, "System.UInt16"],
  [0x08, "System.Int32"],
  [0x09, "System.UInt32"],
  [0x0a, "System.Int64"],
  [0x0b, "System.UInt64"],
  [0x0c, "System.Single"],
  [0x0d, "System.Double"],
  [0x0e, "System.String"],
  [0x16, "System.TypedReference"],
  [0x18, "System.IntPtr"],
  [0x19, "System.UIntPtr"],
  [0x1c, "System.Object"],
  [0x3e, "System.__Canon"],
]);
const SUFFIXES = new Map([
  [0x0f, "*"],
  [0x10, "&"],
  [0x1d, "[]"],
]);
const VALUE_TYPE = 0x11;
const CLASS = 0x12;
const ARRAY = 0x14;
const INSTANCE = 0x15;
const MODULE_OVERRIDE = 0x3f;

const MAX_DEPTH = 32;
const MAX_ARGUMENTS = 64;
const MAX_RANK = 32;

/** The number of the module that a token belongs to: 0 is the image itself, others are as the image counts them. */
export type ModuleIndex = number;
/** The module of the types that have no token: System.Private.CoreLib. */
export const CORE_MODULE: ModuleIndex = -1;

/** A type of a signature. */
export type SignatureType =
  | { readonly name: string }
  | { readonly element: SignatureType; readonly suffix: string }
  | {
      readonly module: ModuleIndex;
      /** A TypeDefOrRefOrSpecEncoded. */
      readonly token: number;
      readonly typeArguments: readonly SignatureType[];
    };

/** A generic instance of a method. */
export interface MethodInstance {
  /** The module whose metadata has the row. */
  readonly module: ModuleIndex;
  readonly isMemberRef: boolean;
  readonly row: number;
  /** The type that it is a method of, where that is told. */
  readonly owner: SignatureType | undefined;
  readonly methodArguments: readonly SignatureType[];
}

/** Reads the signature of a generic instance to its end; throws Unreadable for one of a form that is not known. */
export function readMethodInstance(reader: CompressedReader): MethodInstance {
  const flags = reader.next();
  if (flags & (SLOT | CONSTRAINED)) throw new Unreadable("a signature is of an unknown form");
  const context = flags & UPDATE_CONTEXT ? reader.next() : 0;
  const owner = flags & OWNER_TYPE ? readType(reader, context) : undefined;
  const row = reader.next();
  const count = flags & METHOD_INSTANTIATION ? reader.next() : 0;
  const methodArguments = readTypes(reader, count, 0);
  const isMemberRef = (flags & MEMBER_REF) !== 0;
  const module = owner === undefined || isMemberRef ? context : moduleOf(owner);
  return { module, isMemberRef, row, owner, methodArguments };
}

/** Finds the module of a definition: it is the one that defines its type. */
function moduleOf(owner: SignatureType): ModuleIndex {
  if ("token" in owner) return owner.module;
  if ("name" in owner) return CORE_MODULE;
  throw new Unreadable("a signature has a method of no class");
}

function readTypes(reader: CompressedReader, count: number, depth: number): SignatureType[] {
  if (count > MAX_ARGUMENTS) throw new Unreadable("it has too many generic arguments");
  // The tokens of arguments are again those of the image, whatever module defines their type.
  const types: SignatureType[] = [];
  for (let left = count; left > 0; left--) types.push(readType(reader, 0, depth + 1));
  return types;
}

function readType(reader: CompressedReader, module: ModuleIndex, depth = 0): SignatureType {
  if (depth > MAX_DEPTH) throw new Unreadable("a signature is nested too deep");
  const kind = reader.next();
  const name = NAMES.get(kind);
  if (name !== undefined) return { name };
  const suffix = SUFFIXES.get(kind);
  if (suffix !== undefined) return { element: readType(reader, module, depth + 1), suffix };
  if (kind === MODULE_OVERRIDE) return readType(reader, reader.next(), depth + 1);
  if (kind === VALUE_TYPE || kind === CLASS)
    return { module, token: reader.next(), typeArguments: [] };
  if (kind === INSTANCE) {
    const type = readType(reader, module, depth + 1);
    if (!("token" in type)) throw new Unreadable("a signature has an instance of no type");
    return { ...type, typeArguments: readTypes(reader, reader.next(), depth) };
  }
  if (kind === ARRAY) {
    const element = readType(reader, module, depth + 1);
    const rank = readArrayShape(reader);
    return { element, suffix: `[${rank > 1 ? ",".repeat(rank - 1) : "*"}]` };
  }
  throw new Unreadable("a signature has a type of an unknown kind");
}

/** Reads the shape of an array: rank, sizes, lower bounds. Returns the rank. */
function readArrayShape(reader: CompressedReader): number {
  const rank = reader.next();
  if (rank < 1 || rank > MAX_RANK) throw new Unreadable("a signature has an array of no rank");
  for (let list = 0; list < 2; list++) {
    for (let left = reader.next(); left > 0; left--) reader.next();
  }
  return rank;
}
