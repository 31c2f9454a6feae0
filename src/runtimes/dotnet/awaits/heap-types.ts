/** Reads the types of objects on the heap of a process: their names, what they inherit from, where their fields are. */
import type { Layout } from "../layout.ts";
import { type ProcessMemory, pointerAt, Unreadable } from "../memory.ts";
import type { TypeReader } from "../types.ts";

/** A class or a structure. */
export interface HeapType {
  /** As its metadata has it, without generic arguments. */
  readonly name: string;
  readonly module: string;
  /** Names of what it inherits from, the nearest first. */
  readonly bases: readonly string[];
  /** Handles of its generic arguments. */
  readonly arguments: readonly number[];
  /** Offsets by the names of fields, those of its bases too, from the pointer to the MethodTable on. */
  readonly fields: ReadonlyMap<string, number>;
  /** The offset of the source of value tasks that it holds; undefined: it holds none. */
  readonly source: number | undefined;
}

/** A FieldDesc: the MethodTable of its type, then its row and flags, then its offset and kind (field.h of .NET 8 to 11). */
const FIELD_BYTES = 16;
const FIELD_ROW = 0xff_ffff;
const FIELD_IS_STATIC = 0x100_0000;
const FIELD_OFFSET = 0x7ff_ffff;
/** So many fields of a type are read at most. */
const MAX_FIELDS = 512;
const MAX_BASES = 16;
const MAX_TYPES = 4096;
/** The pointer to the MethodTable. */
const HEADER = 8;
const SOURCE = "System.Threading.Tasks.Sources.ManualResetValueTaskSourceCore`1";

export class HeapTypes {
  readonly #memory: ProcessMemory;
  readonly #layout: Layout;
  readonly #types: TypeReader;
  readonly #known = new Map<number, HeapType>();

  constructor(memory: ProcessMemory, layout: Layout, types: TypeReader) {
    this.#memory = memory;
    this.#layout = layout;
    this.#types = types;
  }

  /** The type with a handle; throws Unreadable where that is of none. */
  at(type: number, depth = 0): HeapType {
    const known = this.#known.get(type);
    if (known) return known;
    if (depth > MAX_BASES) throw new Unreadable("its types are nested too deep");
    if (!this.#types.hasFields(type)) throw new Unreadable("it is a type without fields");
    const read = this.#read(type, depth);
    if (this.#known.size >= MAX_TYPES) this.#known.clear();
    this.#known.set(type, read);
    return read;
  }

  #read(type: number, depth: number): HeapType {
    const types = this.#types;
    const parent = types.parent(type);
    const inherited = parent > 0 ? this.at(parent, depth + 1) : undefined;
    const fields = new Map(inherited?.fields);
    let source = inherited?.source;
    const { metadata, name: module } = types.module(type);
    for (const { row, offset } of this.#fieldsOf(type)) {
      fields.set(metadata.fieldName(row), HEADER + offset);
      if (metadata.fieldStructure(row) === SOURCE) source = HEADER + offset;
    }
    return {
      name: types.name(type),
      module,
      bases: inherited ? [inherited.name, ...inherited.bases] : [],
      arguments: types.argumentHandles(type),
      fields,
      source,
    };
  }

  /** The fields of objects that a type itself defines: their list ends where one is no field of it. */
  *#fieldsOf(type: number): Generator<{ readonly row: number; readonly offset: number }> {
    const { address, canonical } = this.#types.classOf(type);
    const rows = this.#types.module(type).metadata.fieldsOfType(this.#types.row(type));
    const list = this.#memory.pointer(address + this.#layout.at["EEClass.FieldDescList"]);
    const count = Math.min(rows.end - rows.first, MAX_FIELDS);
    for (let index = 0; list > 0 && index < count; index++) {
      const bytes = this.#memory.bytes(list + FIELD_BYTES * index, FIELD_BYTES);
      const [what, where] = [bytes.readUInt32LE(8), bytes.readUInt32LE(12)];
      const row = what & FIELD_ROW;
      if (pointerAt(bytes, 0) !== canonical || row < rows.first || row >= rows.end) return;
      if ((what & FIELD_IS_STATIC) === 0) yield { row, offset: where & FIELD_OFFSET };
    }
  }
}
