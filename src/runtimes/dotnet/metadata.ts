/** Reads names out of the metadata of an assembly (ECMA-335 partition II, sections 22 to 24). */
import { firstWhere } from "../../tick/binary-search.ts";
import { type Bytes, CompressedReader, WholeBytes } from "./bytes.ts";
import { Unreadable } from "./memory.ts";
import {
  ASSEMBLY,
  ASSEMBLY_REF,
  type Column,
  FIELD,
  GENERIC_PARAM,
  MEMBER_REF,
  METHOD,
  METHOD_PTR,
  MODULE,
  memberRefParent,
  NESTED_CLASS,
  resolutionScope,
  SCHEMA,
  TYPE_DEF,
  TYPE_REF,
  TYPE_SPEC,
  typeOrMethod,
} from "./metadata-tables.ts";

/** Of signatures (section 23.2.4) and of the types in them (23.1.16). */
const FIELD_SIGNATURE = 0x06;
const VALUE_TYPE = 0x11;
const GENERIC_INSTANCE = 0x15;

const MAX_NESTING = 16;
const MAX_NAME_BYTES = 1024;
const MAX_STREAMS = 16;
/** Compilers sort their tables; one that is not sorted is that of a dynamic assembly, or of one that was edited. */
const MAX_UNSORTED_ROWS = 1 << 16;
/** So many rows have the same key: a type has fewer generic parameters. */
const MAX_EQUAL_ROWS = 256;
const MAX_METHOD_POINTERS = 1 << 17;
const MAX_ASSEMBLIES = 1 << 13;
export const GUID_BYTES = 16;
/** So much of a type's signature is read. */
const MAX_TYPE_BYTES = 64;
/** The root of the metadata has room for the version text and the list of streams in this. */
const ROOT_BYTES = 1024;
/** The header of the tables, with a count for each of 64. */
const TABLES_HEADER_BYTES = 24 + 64 * 4;

interface Table {
  readonly start: number;
  readonly width: number;
  readonly rows: number;
  /** Widths of the columns, one behind the other in a row. */
  readonly columns: readonly number[];
}

/** A type of this or another assembly. */
export interface TypeName {
  readonly name: string;
  /** Simple name of its assembly; empty: this one. */
  readonly assembly: string;
}

/** A row number of a table. */
interface Reference {
  readonly table: number;
  readonly row: number;
}

export class Metadata {
  readonly #bytes: Bytes;
  readonly #tables = new Map<number, Table>();
  /** A bit for each table whose rows are in the order of their key. */
  #sorted = 0n;
  #strings = { start: 0, end: 0 };
  #blobs = { start: 0, end: 0 };
  #guids = { start: 0, end: 0 };
  #methodPointers: Map<number, number> | undefined;

  /**
   * Reads the directory of the metadata in `bytes`, which begin with the signature `BSJB`. Throws Unreadable where they
   * are no metadata.
   */
  constructor(bytes: Bytes | Buffer) {
    this.#bytes = Buffer.isBuffer(bytes) ? new WholeBytes(bytes) : bytes;
    try {
      this.#readTables(this.#readStreams());
    } catch (error) {
      // Something lies behind the end of the bytes.
      if (error instanceof RangeError) throw new Unreadable("its metadata is cut");
      throw error;
    }
  }

  /** The number of rows of the method table; it grows in a dynamic assembly. */
  get methodCount(): number {
    return this.#rows(METHOD);
  }

  /** The simple name of the assembly, else the name of the module. */
  get assemblyName(): string {
    return this.#rows(ASSEMBLY) > 0 ? this.#string(ASSEMBLY, 1, 7) : this.#string(MODULE, 1, 1);
  }

  /** What tells a build of the module from every other: its MVID, in hexadecimal; empty where it has none. */
  get moduleId(): string {
    const index = this.#value(MODULE, 1, 2);
    const at = this.#guids.start + GUID_BYTES * (index - 1);
    if (index < 1 || at + GUID_BYTES > this.#guids.end) return "";
    return this.#bytes.slice(at, GUID_BYTES).toString("hex");
  }

  /** Simple names of the assemblies that it refers to. */
  referredAssemblies(): string[] {
    const count = Math.min(this.#rows(ASSEMBLY_REF), MAX_ASSEMBLIES);
    return Array.from({ length: count }, (_, at) => this.#string(ASSEMBLY_REF, at + 1, 6));
  }

  /** The method of a row, and its type: both as written. */
  method(row: number): { readonly type: string; readonly name: string } {
    if (row < 1 || row > this.#rows(METHOD))
      throw new Unreadable("its token is not in the metadata");
    return { type: this.typeName(this.#declaringType(row)), name: this.#name(METHOD, row, 3) };
  }

  /** The rows of the fields that the type of a row defines: from the first up to the end. */
  fieldsOfType(type: number): { readonly first: number; readonly end: number } {
    const isLast = type >= this.#rows(TYPE_DEF);
    const end = isLast ? this.#rows(FIELD) + 1 : this.#value(TYPE_DEF, type + 1, 4);
    return { first: this.#value(TYPE_DEF, type, 4), end };
  }

  /** The name of the field of a row. */
  fieldName(row: number): string {
    return this.#name(FIELD, row, 1);
  }

  /** The name of the structure that the field of a row holds, without generic arguments; empty: it holds none. */
  fieldStructure(row: number): string {
    const blob = this.#blobs.start + this.#value(FIELD, row, 2);
    const size = Math.min(MAX_TYPE_BYTES, this.#blobs.end - blob);
    const reader = new CompressedReader(this.#bytes.slice(blob, size), 0, size);
    reader.next(); // length of the blob
    if (reader.next() !== FIELD_SIGNATURE) return "";
    let kind = reader.next();
    if (kind === GENERIC_INSTANCE) kind = reader.next();
    return kind === VALUE_TYPE ? this.#type(typeOfToken(reader.next())).name : "";
  }

  /** `Namespace.Outer+Inner` of a type of this assembly. */
  typeName(row: number): string {
    let name = this.#qualified(TYPE_DEF, row, 1);
    let outer = this.#outerType(row);
    for (let depth = 0; outer !== undefined; depth++) {
      if (depth >= MAX_NESTING) throw new Unreadable("its types are nested too deep");
      name = `${this.#qualified(TYPE_DEF, outer, 1)}+${name}`;
      outer = this.#outerType(outer);
    }
    return name;
  }

  /** The row of the type that holds a method of this assembly. */
  typeOfMethod(method: number): number {
    if (method < 1 || method > this.#rows(METHOD))
      throw new Unreadable("its token is not in the metadata");
    return this.#declaringType(method);
  }

  /** The type of a TypeDefOrRefOrSpecEncoded; throws Unreadable where it is neither defined nor referred to here. */
  typeOfToken(token: number): TypeName {
    const reference = typeOfToken(token);
    if (reference.table === TYPE_SPEC) throw new Unreadable("a type is no class");
    return this.#type(reference);
  }

  genericParameterName(row: number): string {
    return this.#string(GENERIC_PARAM, row, 3);
  }

  /** Names of the generic parameters of a type or method of this assembly, in their order. */
  genericParameters(of: "type" | "method", row: number): string[] {
    const tag = typeOrMethod.tables.indexOf(of === "type" ? TYPE_DEF : METHOD);
    const owner = (row << typeOrMethod.tagBits) | tag;
    const rows = this.#rowsWith(GENERIC_PARAM, 2, owner);
    const number = (it: number): number => this.#value(GENERIC_PARAM, it, 0);
    return rows
      .toSorted((a, b) => number(a) - number(b))
      .map((it) => this.genericParameterName(it));
  }

  /** The method that a MemberRef stands for: its name and its type. */
  memberRef(row: number): { readonly type: TypeName; readonly name: string } {
    const parent = this.#coded(MEMBER_REF, row, 0, memberRefParent);
    return { type: this.#type(parent), name: this.#name(MEMBER_REF, row, 1) };
  }

  #type({ table, row }: Reference, depth = 0): TypeName {
    if (depth > MAX_NESTING) throw new Unreadable("its types are nested too deep");
    if (table === TYPE_DEF) return { name: this.typeName(row), assembly: "" };
    if (table === TYPE_REF) return this.#referredType(row, depth);
    if (table === TYPE_SPEC) return this.#type(this.#genericTypeOf(row), depth + 1);
    throw new Unreadable("a method belongs to no type");
  }

  #referredType(row: number, depth: number): TypeName {
    const scope = this.#coded(TYPE_REF, row, 0, resolutionScope);
    const name = this.#qualified(TYPE_REF, row, 1);
    if (scope.table === TYPE_REF) {
      const outer = this.#type(scope, depth + 1);
      return { name: `${outer.name}+${name}`, assembly: outer.assembly };
    }
    const assembly = scope.table === ASSEMBLY_REF ? this.#string(ASSEMBLY_REF, scope.row, 6) : "";
    return { name, assembly };
  }

  /** The generic type of a TypeSpec that is an instance of one (section 23.2.12). */
  #genericTypeOf(row: number): Reference {
    const blob = this.#blobs.start + this.#value(TYPE_SPEC, row, 0);
    const size = Math.min(MAX_TYPE_BYTES, this.#blobs.end - blob);
    const reader = new CompressedReader(this.#bytes.slice(blob, size), 0, size);
    reader.next(); // length of the blob
    const kind = reader.next();
    const isInstance = kind === 0x15 && [0x11, 0x12].includes(reader.next());
    if (!isInstance) throw new Unreadable("a type is no class");
    return typeOfToken(reader.next());
  }

  /** The type whose list of methods holds the row: the last that starts at or before it. */
  #declaringType(method: number): number {
    const place = this.#methodPlaces()?.get(method) ?? method;
    const isBehind = (row: number) => this.#value(TYPE_DEF, row, 5) > place;
    return Math.max(1, firstWhere(1, this.#rows(TYPE_DEF) + 1, isBehind) - 1);
  }

  /** The place of a method in the lists, where a table of pointers re-orders them (edit and continue, dynamic). */
  #methodPlaces(): Map<number, number> | undefined {
    const count = this.#rows(METHOD_PTR);
    if (count === 0) return undefined;
    if (count > MAX_METHOD_POINTERS) throw new Unreadable("its methods are out of order");
    this.#methodPointers ??= new Map(
      Array.from({ length: count }, (_, at) => [this.#value(METHOD_PTR, at + 1, 0), at + 1]),
    );
    return this.#methodPointers;
  }

  /** The type that a nested type is in. */
  #outerType(row: number): number | undefined {
    const [found] = this.#rowsWith(NESTED_CLASS, 0, row);
    return found === undefined ? undefined : this.#value(NESTED_CLASS, found, 1);
  }

  /** Finds the rows whose key is a value. The table is sorted by the key, unless it says that it is not. */
  #rowsWith(table: number, column: number, value: number): number[] {
    const count = this.#rows(table);
    const found: number[] = [];
    const isSorted = (this.#sorted & (1n << BigInt(table))) !== 0n;
    if (!isSorted && count > MAX_UNSORTED_ROWS)
      throw new Unreadable("a table of its metadata is out of order");
    const isReached = (row: number) => this.#value(table, row, column) >= value;
    for (let at = isSorted ? firstWhere(1, count + 1, isReached) : 1; at <= count; at++) {
      if (found.length > MAX_EQUAL_ROWS) throw new Unreadable("its metadata repeats itself");
      if (this.#value(table, at, column) === value) found.push(at);
      else if (isSorted) break;
    }
    return found;
  }

  /** Joins the namespace and the name in two adjoining columns. */
  #qualified(table: number, row: number, column: number): string {
    const name = this.#name(table, row, column);
    const namespace = this.#string(table, row, column + 1);
    return namespace ? `${namespace}.${name}` : name;
  }

  #rows(table: number): number {
    return this.#tables.get(table)?.rows ?? 0;
  }

  #value(number: number, row: number, column: number): number {
    const table = this.#tables.get(number);
    const size = table?.columns[column];
    if (!table || !size || row < 1 || row > table.rows)
      throw new Unreadable("its metadata has no such row");
    let at = table.start + (row - 1) * table.width;
    for (let before = 0; before < column; before++) at += table.columns[before] ?? 0;
    return this.#bytes.number(at, size);
  }

  #coded(table: number, row: number, column: number, kind: Column): Reference {
    if (typeof kind !== "object") throw new Unreadable("its metadata has no such column");
    const value = this.#value(table, row, column);
    const tag = value & ((1 << kind.tagBits) - 1);
    return { table: kind.tables[tag] ?? -1, row: value >>> kind.tagBits };
  }

  #string(table: number, row: number, column: number): string {
    const start = this.#strings.start + this.#value(table, row, column);
    const room = Math.min(this.#strings.end - start, MAX_NAME_BYTES);
    if (room < 1) throw new Unreadable("a name is not among those of its metadata");
    const text = this.#bytes.textUntilZero(start, room);
    if (text === undefined) throw new Unreadable("a name in its metadata has no end");
    return text;
  }

  /** A name that cannot be empty. */
  #name(table: number, row: number, column: number): string {
    const name = this.#string(table, row, column);
    if (name === "") throw new Unreadable("a name in its metadata is empty");
    return name;
  }

  /** Reads the list of streams (section 24.2.1); returns where the stream of tables starts. */
  #readStreams(): number {
    const bytes = this.#bytes.slice(0, Math.min(this.#bytes.length, ROOT_BYTES));
    if (bytes.toString("latin1", 0, 4) !== "BSJB")
      throw new Unreadable("its metadata has no signature");
    let at = 16 + bytes.readUInt32LE(12);
    const count = Math.min(bytes.readUInt16LE(at + 2), MAX_STREAMS);
    let tables = -1;
    at += 4;
    for (let stream = 0; stream < count; stream++) {
      const start = bytes.readUInt32LE(at);
      const end = Math.min(this.#bytes.length, start + bytes.readUInt32LE(at + 4));
      const nameEnd = bytes.indexOf(0, at + 8);
      if (nameEnd < 0 || nameEnd > at + 8 + 32) throw new Unreadable("its metadata has no streams");
      const name = bytes.toString("latin1", at + 8, nameEnd);
      if (name === "#~" || name === "#-") tables = start;
      if (name === "#Strings") this.#strings = { start, end };
      if (name === "#GUID") this.#guids = { start, end };
      if (name === "#Blob") this.#blobs = { start, end };
      at = nameEnd + 4 - ((nameEnd - at) % 4);
    }
    if (tables < 0) throw new Unreadable("its metadata has no tables");
    return tables;
  }

  /** Reads where the tables and their columns are (section 24.2.6). */
  #readTables(start: number): void {
    const size = Math.min(this.#bytes.length - start, TABLES_HEADER_BYTES);
    const bytes = this.#bytes.slice(start, size);
    const heaps = bytes.readUInt8(6);
    const valid = bytes.readBigUInt64LE(8);
    this.#sorted = bytes.readBigUInt64LE(16);
    const rows: number[] = [];
    let counts = 24;
    for (let table = 0; table < 64; table++) {
      const isThere = (valid >> BigInt(table)) & 1n;
      rows.push(isThere ? bytes.readUInt32LE(counts) : 0);
      if (isThere) counts += 4;
    }
    let at = start + counts + (heaps & 0x40 ? 4 : 0);
    for (const [table, schema] of SCHEMA.entries()) {
      const count = rows[table] ?? 0;
      // Most tables are empty: in nobody's way, and nobody looks into them.
      if (count === 0) continue;
      const columns = schema.map((column) => columnSize(column, heaps, rows));
      const width = columns.reduce((sum, size) => sum + size, 0);
      this.#tables.set(table, { start: at, width, rows: count, columns });
      at += width * count;
      if (at > this.#bytes.length) throw new Unreadable("its metadata is cut");
    }
  }
}

function columnSize(column: Column, heaps: number, rows: readonly number[]): number {
  if (typeof column === "number") return column;
  if (column === "string") return heaps & 1 ? 4 : 2;
  if (column === "guid") return heaps & 2 ? 4 : 2;
  if (column === "blob") return heaps & 4 ? 4 : 2;
  let most = 0;
  for (const table of column.tables) most = Math.max(most, rows[table] ?? 0);
  return most < 2 ** (16 - column.tagBits) ? 2 : 4;
}

/** Reads a TypeDefOrRefOrSpecEncoded (section 23.2.8). */
function typeOfToken(token: number): Reference {
  return { table: [TYPE_DEF, TYPE_REF, TYPE_SPEC][token & 3] ?? -1, row: token >>> 2 };
}
