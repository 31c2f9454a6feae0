/**
 * What a BPF object says of the kernel's fields that it touches: its relocations (CO-RE), each with the type that the
 * object declares the field with. Layouts: Documentation/bpf/btf.rst of Linux; struct bpf_core_relo, include/uapi/linux/bpf.h.
 */
import { readFileSync } from "node:fs";
import { section } from "./elf.ts";

/** A field of a struct of the kernel, as an object names and declares it. */
export interface KernelField {
  /** The struct and the fields on the way, `task_struct.se.cfs_rq`. */
  readonly name: string;
  /** Whether it is a whole number that may be negative: libbpf fits no load to a shorter or longer one. */
  readonly isSigned: boolean;
}

const KIND = { int: 1, pointer: 2, array: 3, struct: 4, union: 5, enum: 6, typedef: 8 } as const;
/** const, volatile and restrict: another type is behind them, as behind a typedef. */
const QUALIFIERS: readonly number[] = [KIND.typedef, 9, 10, 11];
/** Bytes behind the head of a type, by its kind: once, and for each of its parts. */
const TAILS: Readonly<Record<number, readonly [once: number, each: number]>> = {
  ...{ 1: [4, 0], 3: [12, 0], 4: [0, 12], 5: [0, 12], 6: [0, 8], 13: [0, 8], 14: [4, 0] },
  ...{ 15: [0, 12], 17: [4, 0], 19: [0, 12] },
};
const HEAD = 12;
const MEMBER = 12;
const BTF_INT_SIGNED = 1;
const BPF_CORE_FIELD_BYTE_OFFSET = 0;

interface Type {
  readonly at: number;
  readonly name: string;
  readonly kind: number;
  readonly parts: number;
  /** The size, or the type behind this one. */
  readonly value: number;
}

/** A part of a section whose header names its place and size at `at`. */
function part(bytes: Buffer, at: number): Buffer {
  const start = bytes.readUInt32LE(4) + bytes.readUInt32LE(at);
  return bytes.subarray(start, start + bytes.readUInt32LE(at + 4));
}

class Types {
  readonly #bytes: Buffer;
  readonly #strings: Buffer;
  readonly #types: (Type | undefined)[] = [undefined];

  constructor(btf: Buffer) {
    this.#bytes = part(btf, 8);
    this.#strings = part(btf, 16);
    for (let at = 0; at < this.#bytes.length; ) {
      const word = (offset: number): number => this.#bytes.readUInt32LE(at + offset);
      const kind = (word(4) >>> 24) & 31;
      const parts = word(4) & 0xffff;
      this.#types.push({ at, name: this.text(word(0)), kind, parts, value: word(8) });
      const [once, each] = TAILS[kind] ?? [0, 0];
      at += HEAD + once + each * parts;
    }
  }

  text(at: number): string {
    return this.#strings.toString("latin1", at, this.#strings.indexOf(0, at));
  }

  /** The type of a number, without its qualifiers. */
  plain(id: number): Type {
    const type = this.#types[id];
    if (!type) throw new Error(`BTF has no type ${id}`);
    return QUALIFIERS.includes(type.kind) ? this.plain(type.value) : type;
  }

  /** The field at a path like `0:3:1`: the first number counts structs, the others are members or elements. */
  field(root: number, path: string): KernelField {
    let type = this.plain(root);
    let name = type.name;
    for (const index of path.split(":").slice(1).map(Number)) {
      const isArray = type.kind === KIND.array;
      const at = type.at + HEAD + (isArray ? 0 : index * MEMBER);
      if (!isArray) name += `.${this.text(this.#bytes.readUInt32LE(at))}`;
      type = this.plain(this.#bytes.readUInt32LE(isArray ? at : at + 4));
    }
    const encoding =
      type.kind === KIND.int ? (this.#bytes.readUInt32LE(type.at + HEAD) >>> 24) & 15 : 0;
    const isEnum = type.kind === KIND.enum;
    return { name, isSigned: isEnum || (encoding & BTF_INT_SIGNED) !== 0 };
  }
}

/** The fields whose places in the kernel's structs are written into the code of an object when it is loaded. */
export function kernelFields(path: string): KernelField[] {
  const elf = readFileSync(path);
  const bytesOf = (name: string): Buffer => {
    const { offset, size } = section(elf, name);
    return elf.subarray(offset, offset + size);
  };
  const types = new Types(bytesOf(".BTF"));
  const relocations = part(bytesOf(".BTF.ext"), 24);
  const size = relocations.readUInt32LE(0);
  const fields: KernelField[] = [];
  for (let at = 4; at < relocations.length; ) {
    const end = at + 8 + relocations.readUInt32LE(at + 4) * size;
    for (at += 8; at < end; at += size) {
      const [root = 0, access = 0, kind] = [4, 8, 12].map((it) =>
        relocations.readUInt32LE(at + it),
      );
      if (kind === BPF_CORE_FIELD_BYTE_OFFSET) fields.push(types.field(root, types.text(access)));
    }
  }
  return fields;
}
