// SPDX-License-Identifier: Apache-2.0
// Takes line information, and the source lines that it quotes, out of what clang writes for a BPF object: half of the
// object, which the kernel would check and keep. What libbpf needs stays: types, functions, relocations (CO-RE).
// The layout: Documentation/bpf/btf.rst of Linux. Usage: bin/strip-lines.mjs BTF BTF_EXT, two sections in files of their own
import { readFileSync, writeFileSync } from "node:fs";

const BTF_HEADER = 24;
const EXT_HEADER = 32;
const TYPE_SIZE = 12;
/** What follows the head of a type, by its kind: bytes once, bytes for each of its parts, and whether parts begin with a name. */
const KINDS = [
  ...[[], [4], [], [12], [0, 12, true], [0, 12, true], [0, 8, true], [], [], []],
  ...[[], [], [], [0, 8, true], [4], [0, 12], [], [4], [], [0, 12, true]],
];

/** The strings that are still used, at their new places. */
class Strings {
  #old;
  #places = new Map([["", 0]]);
  #size = 1;

  constructor(old) {
    this.#old = old;
  }

  /** Has what is at the old place, and says the new one. */
  move(at) {
    const text = this.#old.toString("latin1", at, this.#old.indexOf(0, at));
    const known = this.#places.get(text);
    if (known !== undefined) return known;
    this.#places.set(text, this.#size);
    this.#size += text.length + 1;
    return this.#size - text.length - 1;
  }

  bytes() {
    return Buffer.from([...this.#places.keys()].map((text) => `${text}\0`).join(""), "latin1");
  }
}

/** Moves the name that a number in some bytes refers to. */
const moveName = (bytes, at, strings) =>
  bytes.writeUInt32LE(strings.move(bytes.readUInt32LE(at)), at);

function moveNamesOfTypes(types, strings) {
  for (let at = 0; at < types.length; ) {
    const info = types.readUInt32LE(at + 4);
    const kind = KINDS[(info >>> 24) & 31];
    if (kind === undefined) throw new Error(`BTF has a type of an unknown kind: ${info}`);
    const [once = 0, each = 0, isNamed = false] = kind;
    moveName(types, at, strings);
    at += TYPE_SIZE + once;
    for (let left = info & 0xffff; left > 0; left--, at += each)
      if (isNamed) moveName(types, at, strings);
  }
}

/** One part of .BTF.ext: records by sections, whose names move; `nameAt`: where a record has a string. */
function moveNamesOfRecords(part, strings, nameAt) {
  const size = part.length > 0 ? part.readUInt32LE(0) : 0;
  for (let at = 4; at < part.length; ) {
    moveName(part, at, strings);
    const end = at + 8 + part.readUInt32LE(at + 4) * size;
    for (at += 8; at < end; at += size)
      if (nameAt !== undefined) moveName(part, at + nameAt, strings);
  }
}

const [, , btfPath, extPath] = process.argv;
const btf = readFileSync(btfPath);
const ext = readFileSync(extPath);
const head = btf.readUInt32LE(4);
const extHead = ext.readUInt32LE(4);
const cut = (bytes, start, at) =>
  bytes.subarray(
    start + bytes.readUInt32LE(at),
    start + bytes.readUInt32LE(at) + bytes.readUInt32LE(at + 4),
  );

const strings = new Strings(cut(btf, head, 16));
const types = cut(btf, head, 8);
moveNamesOfTypes(types, strings);
const functions = cut(ext, extHead, 8);
moveNamesOfRecords(functions, strings);
const relocations = cut(ext, extHead, 24);
moveNamesOfRecords(relocations, strings, 8);

/** A header as it was, of a length, with other numbers behind its first eight bytes. */
function header(old, length, numbers) {
  const made = Buffer.alloc(length);
  old.copy(made, 0, 0, 4);
  made.writeUInt32LE(length, 4);
  for (const [at, number] of numbers.entries()) made.writeUInt32LE(number, 8 + at * 4);
  return made;
}
const text = strings.bytes();
writeFileSync(
  btfPath,
  Buffer.concat([
    header(btf, BTF_HEADER, [0, types.length, types.length, text.length]),
    types,
    text,
  ]),
);
const ends = [functions.length, functions.length + relocations.length];
const parts = [0, ends[0], ends[0], 0, ends[0], relocations.length];
writeFileSync(extPath, Buffer.concat([header(ext, EXT_HEADER, parts), functions, relocations]));
