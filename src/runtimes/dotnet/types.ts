/** Reads the types of a process by their handles: the address of a MethodTable, or of a TypeDesc with bit 1 set. */
import { DOTNET_TYPE_COMPONENTS, DOTNET_TYPE_GENERICS } from "../../../build/abi.ts";
import type { Layout } from "./layout.ts";
import { type ProcessMemory, pointerAt, Unreadable } from "./memory.ts";
import type { Module, ModuleReader } from "./modules.ts";
import { Work } from "./work.ts";

/** Further flags of a MethodTable (methodtable.h of .NET 8 to 11). */
const CATEGORY_MASK = 0xc0000;
const CATEGORY_ARRAY = 0x80000;
const VECTOR_MASK = 0xf0000;
const VECTOR = 0xa0000;

/** An array that is no vector has a length and a lower bound for each of its dimensions (object.h: ArrayBase). */
const VECTOR_SIZE = 24;
const BOUND_SIZE = 8;
const MAX_RANK = 32;

/** Kinds of TypeDescs: element types of ECMA-335 II.23.1.16. */
const POINTER = 0x0f;
const REFERENCE = 0x10;
const TYPE_VARIABLE = 0x13;
const METHOD_VARIABLE = 0x1e;

/**
 * GenericsDictInfo is in the 8 bytes before the dictionaries of a type: how many they are, and of how many arguments.
 */
const DICTIONARY_INFO_SIZE = 8;
const DICTIONARY_COUNT = 4;
const ARGUMENT_COUNT = 6;

const MAX_DEPTH = 8;
const MAX_ARGUMENTS = 64;
/** So many types are read for one name: a generic type whose arguments are generic again has a few. */
const MAX_TYPES = 256;

/** Says whether a name has the generic arguments in it: `Pair`2[System.Int32,System.__Canon]`, else `Pair`2`. */
type Form = "definition" | "instance";

/** Reads the types of one process. Throws Unreadable where one cannot be told. */
export class TypeReader {
  readonly #memory: ProcessMemory;
  readonly #layout: Layout;
  readonly #modules: ModuleReader;
  #work = new Work(MAX_TYPES, "its types");

  constructor(memory: ProcessMemory, layout: Layout, modules: ModuleReader) {
    this.#memory = memory;
    this.#layout = layout;
    this.#modules = modules;
  }

  /** The name of a type as its metadata has it. */
  name(type: number, form: Form = "definition"): string {
    this.#begin();
    return this.#name(type, form, 0);
  }

  /** What was read for one name says nothing of the next. */
  #begin(): void {
    this.#work = new Work(MAX_TYPES, "its types");
  }

  #name(type: number, form: Form, depth: number): string {
    if (depth > MAX_DEPTH) throw new Unreadable("its types are nested too deep");
    this.#work.take(1);
    const memory = this.#memory;
    if (isDescription(type)) return this.#description(type - (type % 4), form, depth);
    const flags = memory.u32(type);
    if (isArray(flags)) return this.#arrayName(type, flags, form, depth);
    const name = this.module(type).metadata.typeName(this.row(type));
    if (form === "definition" || !isGeneric(flags)) return name;
    return `${name}[${this.#argumentNames(this.#argumentsOf(type), depth).join(",")}]`;
  }

  /** The generic arguments of a type: `System.__Canon` where the code is for every class. */
  typeArguments(type: number): string[] {
    this.#begin();
    if (!isGeneric(this.#memory.u32(type))) return [];
    return this.#argumentNames(this.#argumentsOf(type));
  }

  /** Handles of the generic arguments of a type. */
  argumentHandles(type: number): number[] {
    return isGeneric(this.#memory.u32(type)) ? this.#argumentsOf(type) : [];
  }

  /** Says whether a handle is of a type with fields of its own: a class or a structure. */
  hasFields(type: number): boolean {
    return type > 0 && type % 8 === 0 && (this.#memory.u32(type) & DOTNET_TYPE_COMPONENTS) === 0;
  }

  /** The type that a type inherits from; 0: none. */
  parent(type: number): number {
    return this.#memory.pointer(type + this.#layout.at["MethodTable.ParentMethodTable"]);
  }

  /** The address of the EEClass of a type; throws Unreadable where the two do not belong together. */
  classOf(type: number): { readonly address: number; readonly canonical: number } {
    const { at } = this.#layout;
    const canonical = this.#canonical(type);
    const address = this.#memory.pointer(canonical + at["MethodTable.EEClassOrCanonMT"]);
    if (this.#memory.pointer(address + at["EEClass.MethodTable"]) !== canonical)
      throw new Unreadable("one of its types is none");
    return { address, canonical };
  }

  /** Names of the types whose handles are in an array at an address. */
  names(address: number, count: number): string[] {
    this.#begin();
    return this.#argumentNames(this.#handles(address, count));
  }

  /** The row of a type's definition in the metadata of its module. */
  row(type: number): number {
    if (this.#layout.major <= 8) return this.#memory.u16(type + 10);
    return this.#memory.u32(type + this.#layout.at["MethodTable.MTFlags2"]) >>> 8;
  }

  /** The module that defines a type. */
  module(type: number): Module {
    return this.#modules.at(this.moduleAddress(type));
  }

  /** The name of the assembly of the innermost elements of an array; empty where they are of none. */
  elementModule(type: number): string {
    let element = type;
    for (let depth = 0; depth < MAX_DEPTH && isArray(this.#memory.u32(element)); depth++) {
      element = this.#memory.pointer(element + this.#layout.at["MethodTable.PerInstInfo"]);
      if (isDescription(element)) return "";
    }
    return this.module(element).name;
  }

  moduleAddress(type: number): number {
    const typeModule = this.#layout.at["MethodTable.Module"];
    if (typeModule > 0) return this.#memory.pointer(type + typeModule);
    // In .NET 8 the word at 24 is the module that loaded the type; another one, for generic types and arrays, is in a
    // slot of the canonical type whose number is that of the optional slots before it.
    const flags = this.#memory.u32(type);
    if ((flags & DOTNET_TYPE_COMPONENTS) === 0 && !isGeneric(flags))
      return this.#memory.pointer(type + 24);
    const canonical = isGeneric(flags) ? this.#canonical(type) : type;
    const slots = this.#memory.u16(canonical + 8);
    if ((slots & 0x10) === 0) return this.#memory.pointer(canonical + 24);
    const before = [1, 2, 4, 8].filter((bit) => slots & bit).length;
    if (before < 2) return this.#memory.pointer(canonical + 48 + 8 * before);
    const virtuals = 8 * Math.ceil(this.#memory.u16(canonical + 12) / 8);
    return this.#memory.pointer(canonical + 64 + 8 * (before - 2) + virtuals);
  }

  #arrayName(type: number, flags: number, form: Form, depth: number): string {
    const handle = this.#memory.pointer(type + this.#layout.at["MethodTable.PerInstInfo"]);
    const element = this.#name(handle, form, depth + 1);
    if ((flags & VECTOR_MASK) === VECTOR) return `${element}[]`;
    const bounds = this.#memory.u32(type + this.#layout.at["MethodTable.BaseSize"]) - VECTOR_SIZE;
    const rank = bounds / BOUND_SIZE;
    if (!Number.isInteger(rank) || rank < 1 || rank > MAX_RANK)
      throw new Unreadable("one of its types is an array of no size");
    return `${element}[${rank > 1 ? ",".repeat(rank - 1) : "*"}]`;
  }

  /** Handles of the arguments of a generic type: its own dictionary is the last of those of its ancestors. */
  #argumentsOf(type: number): number[] {
    const dictionaries = this.#memory.pointer(type + this.#layout.at["MethodTable.PerInstInfo"]);
    const info = this.#memory.bytes(dictionaries - DICTIONARY_INFO_SIZE, DICTIONARY_INFO_SIZE);
    const own = dictionaries + 8 * (info.readUInt16LE(DICTIONARY_COUNT) - 1);
    return this.#handles(this.#memory.pointer(own), info.readUInt16LE(ARGUMENT_COUNT));
  }

  #handles(address: number, count: number): number[] {
    if (count > MAX_ARGUMENTS) throw new Unreadable("it has too many generic arguments");
    const bytes = this.#memory.bytes(address, 8 * count);
    return Array.from({ length: count }, (_, at) => pointerAt(bytes, 8 * at));
  }

  #argumentNames(handles: readonly number[], depth = 0): string[] {
    return handles.map((handle) => this.#name(handle, "instance", depth + 1));
  }

  #description(address: number, form: Form, depth: number): string {
    const { at } = this.#layout;
    const kind = this.#memory.u32(address) & 0xff;
    if (kind === POINTER || kind === REFERENCE) {
      const inner = this.#memory.pointer(address + at["ParamTypeDesc.TypeArg"]);
      return this.#name(inner, form, depth + 1) + (kind === POINTER ? "*" : "&");
    }
    if (kind === TYPE_VARIABLE || kind === METHOD_VARIABLE) {
      const module = this.#modules.at(this.#memory.pointer(address + at["TypeVarTypeDesc.Module"]));
      return module.metadata.genericParameterName(
        this.#memory.u32(address + at["TypeVarTypeDesc.Token"]) & 0xffffff,
      );
    }
    throw new Unreadable("one of its types is of a kind that is not known");
  }

  #canonical(type: number): number {
    const word = this.#memory.pointer(type + this.#layout.at["MethodTable.EEClassOrCanonMT"]);
    return word % 2 === 1 ? word - 1 : type;
  }
}

/** Arrays and strings have neither generic arguments nor the bits that tell of them. */
function isGeneric(flags: number): boolean {
  return (flags & DOTNET_TYPE_COMPONENTS) === 0 && (flags & DOTNET_TYPE_GENERICS) !== 0;
}

function isArray(flags: number): boolean {
  return (flags & CATEGORY_MASK) === CATEGORY_ARRAY;
}

const isDescription = (type: number): boolean => type % 4 >= 2;
