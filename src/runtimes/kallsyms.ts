/**
 * /proc/kallsyms as a compact table.
 *
 * A line there is `address type name` and, for code that is not part of the kernel's image, a tab and
 * `[module]`; BPF programs are `bpf_prog_<tag>_<name> [bpf]`. Types t and T are code, w and W weak
 * symbols (nm(1)). x86-64 keeps all of its code in the top 2 GB of the address space (Documentation/
 * arch/x86/x86_64/mm.rst), so the low half of an address is all that is kept of it.
 */

import { closeSync, openSync, readSync } from "node:fs";
import { cleanName } from "./clean-name.ts";

/** Module of the kernel's own image. */
export const KERNEL = "kernel";
export const BPF = "bpf";

export interface KernelFunction {
  readonly name: string;
  readonly module: string;
}

/** A symbol, and what is known about where it ends. */
export interface FoundFunction {
  /** Undefined where the address lies behind the end of code. */
  readonly function: KernelFunction | undefined;
  /** From the symbol to the address. */
  readonly distance: number;
  /** Nothing of the same module follows: where the function ends is not known. */
  readonly lastOfModule: boolean;
}

/** Types of lines about code, and how well known their symbols are: global, weak, local. */
const CODE_TYPE_RANKS = new Map([
  ["T", 0],
  ["W", 1],
  ["w", 1],
  ["t", 2],
]);
/** Its own bytes follow the kernel's code: no function. */
const ENDS_OF_TEXT = new Set(["_etext", "_einittext"]);
/** Padding in front of a function X of that name, half of all symbols of newer kernels. */
const PADDING_PREFIX = "__pfx_";

const MAX_SYMBOLS = 1 << 21;
const MAX_MODULES = 1 << 14;
const CHUNK_BYTES = 256 * 1024;

const NEWLINE = 10;
const SPACE = 32;
const TAB = 9;
const OPEN_BRACKET = 91;
const CLOSE_BRACKET = 93;
const UNDERSCORE = 95;

/** By byte; what is no such type or digit has NOTHING. */
const NOTHING = 255;
const RANK_OF_TYPE = new Uint8Array(256).fill(NOTHING);
for (const [type, rank] of CODE_TYPE_RANKS) RANK_OF_TYPE[type.charCodeAt(0)] = rank;
const VALUE_OF_DIGIT = new Uint8Array(256).fill(NOTHING);
for (let value = 0; value < 16; value++) {
  VALUE_OF_DIGIT[value.toString(16).charCodeAt(0)] = value;
}

/** What `names` says instead of an offset. */
const NO_FUNCTION = 0xffff_ffff;
const PADDING_OF_NEXT = 0xffff_fffe;

/** The functions of the kernel, sorted by address: 10 bytes a symbol, and the names. */
export class KernelSymbolTable {
  readonly #addresses: Uint32Array;
  /** Offset in `#text`, or NO_FUNCTION or PADDING_OF_NEXT. */
  readonly #names: Uint32Array;
  /** Rank of the type << 14 | index in `#modules`. */
  readonly #kinds: Uint16Array;
  readonly #modules: readonly string[];
  /** Names, each ended by a line feed. */
  readonly #text: Buffer;

  constructor(
    addresses: Uint32Array,
    names: Uint32Array,
    kinds: Uint16Array,
    modules: readonly string[],
    text: Buffer,
  ) {
    this.#addresses = addresses;
    this.#names = names;
    this.#kinds = kinds;
    this.#modules = modules;
    this.#text = text;
  }

  /** How many symbols there are, ends of code among them. */
  get size(): number {
    return this.#addresses.length;
  }

  get memoryBytes(): number {
    const arrays = this.#addresses.byteLength + this.#names.byteLength + this.#kinds.byteLength;
    return arrays + this.#text.byteLength;
  }

  /** The symbol at or before the address, of which `low` is the lower half. */
  find(low: number): FoundFunction | undefined {
    const last = lastAtMost(this.#addresses, low);
    const start = this.#addresses[last];
    if (start === undefined) return undefined;
    const found = this.#function(this.#bestAlias(last));
    const lastOfModule = this.#function(last + 1)?.module !== found?.module;
    return { function: found, distance: low - start, lastOfModule };
  }

  /** Of the symbols of one address, `last` the last: global before weak before local, then fewest underscores. */
  #bestAlias(last: number): number {
    let best = last;
    let bestRank = this.#aliasRank(last);
    for (let i = last - 1; i >= 0 && this.#addresses[i] === this.#addresses[last]; i--) {
      const rank = this.#aliasRank(i);
      if (rank > bestRank) continue;
      best = i;
      bestRank = rank;
    }
    return best;
  }

  #aliasRank(index: number): number {
    const offset = this.#names[index] ?? NO_FUNCTION;
    if (offset >= PADDING_OF_NEXT) return Number.MAX_SAFE_INTEGER;
    let underscores = 0;
    while (this.#text[offset + underscores] === UNDERSCORE) underscores++;
    return ((this.#kinds[index] ?? 0) >>> 14) * 1000 + underscores;
  }

  #function(index: number): KernelFunction | undefined {
    const offset = this.#names[index];
    if (offset === undefined || offset === NO_FUNCTION) return undefined;
    const module = this.#modules[(this.#kinds[index] ?? 0) & (MAX_MODULES - 1)] ?? KERNEL;
    if (offset === PADDING_OF_NEXT) {
      const padded = this.#function(index + 1);
      return padded && { name: cleanName(PADDING_PREFIX + padded.name), module };
    }
    const end = this.#text.indexOf(NEWLINE, offset);
    return { name: cleanName(this.#text.subarray(offset, end)), module };
  }
}

/** Index of the last element that is at most `value`; -1 if there is none. */
function lastAtMost(sorted: Uint32Array, value: number): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((sorted[middle] ?? 0) <= value) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** Undefined where all addresses are hidden. Throws what opening and reading throw. */
export function readKernelSymbols(path: string): KernelSymbolTable | undefined {
  const builder = new TableBuilder();
  const descriptor = openSync(path, "r");
  try {
    const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
    let filled = 0;
    for (;;) {
      const got = readSync(descriptor, chunk, filled, chunk.length - filled, null);
      filled += got;
      // The kernel hands out a page at a time: work through many of them at once.
      if (got > 0 && filled < chunk.length) continue;
      const lines = chunk.subarray(0, filled);
      let start = 0;
      for (let end = lines.indexOf(NEWLINE); end >= 0; end = lines.indexOf(NEWLINE, start)) {
        builder.add(lines, start, end);
        start = end + 1;
      }
      if (got === 0) {
        if (filled > start) builder.add(lines, start, filled);
        return builder.finish();
      }
      // A line that fills all of the chunk is none of the kernel's: drop it.
      filled = start > 0 ? filled - start : 0;
      chunk.copy(chunk, 0, start, start + filled);
    }
  } finally {
    closeSync(descriptor);
  }
}

/** Takes the lines of kallsyms one by one, so that the text as a whole is never in memory. */
class TableBuilder {
  #count = 0;
  #visible = false;
  #sorted = true;
  #lastIsFunction = false;
  #addresses = new Uint32Array(1 << 16);
  #names = new Uint32Array(1 << 16);
  #kinds = new Uint16Array(1 << 16);
  #text: Buffer = Buffer.allocUnsafe(1 << 20);
  #textLength = 0;
  readonly #modules: string[] = [KERNEL];
  readonly #moduleIds = new Map<string, number>([[KERNEL, 0]]);
  /** `#text` offset of the name of the last symbol, if that was the padding of a function. */
  #paddingAt = -1;

  add(line: Buffer, start: number, end: number): void {
    const high = hex(line, start, start + 8);
    const address = hex(line, start + 8, start + 16);
    if (end < start + 20 || line[start + 16] !== SPACE || line[start + 18] !== SPACE) return;
    if (high !== 0 || address !== 0) this.#visible = true;
    if (high !== 0xffff_ffff || address < 0 || this.#count >= MAX_SYMBOLS) return;

    const rank = RANK_OF_TYPE[line[start + 17] ?? 0] ?? NOTHING;
    let nameEnd = start + 19;
    while (nameEnd < end && line[nameEnd] !== TAB && line[nameEnd] !== SPACE) nameEnd++;
    if (rank === NOTHING || this.#endsText(line, start + 19, nameEnd)) {
      // Says where the code before it ends; one of a row of them is enough.
      if (this.#lastIsFunction || !this.#sorted) this.#push(address, NO_FUNCTION, 0);
      this.#lastIsFunction = false;
      this.#paddingAt = -1;
      return;
    }
    const kind = (rank << 14) | this.#moduleId(line, nameEnd, end);
    this.#replacePadding(line, start + 19, nameEnd);
    this.#push(address, this.#addName(line, start + 19, nameEnd), kind);
    this.#lastIsFunction = true;
  }

  finish(): KernelSymbolTable | undefined {
    if (!this.#visible) return undefined;
    const count = this.#count;
    const order = this.#sorted ? undefined : this.#order();
    const addresses = this.#addresses.slice(0, count);
    const names = this.#names.slice(0, count);
    const kinds = this.#kinds.slice(0, count);
    if (order !== undefined) {
      for (let i = 0; i < count; i++) {
        const from = order[i] ?? 0;
        addresses[i] = this.#addresses[from] ?? 0;
        names[i] = this.#names[from] ?? NO_FUNCTION;
        kinds[i] = this.#kinds[from] ?? 0;
      }
    }
    const text = Buffer.from(this.#text.subarray(0, this.#textLength));
    return new KernelSymbolTable(addresses, names, kinds, this.#modules, text);
  }

  /** Indexes by address, equal ones as they came: address and index are one number below 2^53, sorted natively. */
  #order(): Uint32Array {
    const keys = new Float64Array(this.#count);
    for (let i = 0; i < this.#count; i++) keys[i] = (this.#addresses[i] ?? 0) * MAX_SYMBOLS + i;
    keys.sort();
    return Uint32Array.from(keys, (key) => key % MAX_SYMBOLS);
  }

  #push(address: number, name: number, kind: number): void {
    if (this.#count === this.#addresses.length) {
      this.#addresses = grown(this.#addresses, Uint32Array);
      this.#names = grown(this.#names, Uint32Array);
      this.#kinds = grown(this.#kinds, Uint16Array);
    }
    if (this.#count > 0 && address < (this.#addresses[this.#count - 1] ?? 0)) this.#sorted = false;
    this.#addresses[this.#count] = address;
    this.#names[this.#count] = name;
    this.#kinds[this.#count] = kind;
    this.#count++;
  }

  #addName(line: Buffer, start: number, end: number): number {
    const length = end - start;
    if (this.#textLength + length + 1 > this.#text.length) {
      const larger = Buffer.allocUnsafe(this.#text.length * 2 + length);
      this.#text.copy(larger, 0, 0, this.#textLength);
      this.#text = larger;
    }
    const offset = this.#textLength;
    const text = this.#text;
    // Names are short: a loop is quicker than a call of copy().
    for (let i = 0; i < length; i++) text[offset + i] = line[start + i] ?? 0;
    text[offset + length] = NEWLINE;
    this.#textLength += length + 1;
    return offset;
  }

  /**
   * Where the line before was `__pfx_X` and this one is `X`, the name of that one is made of this one's: the
   * names of the kernel take half the memory then.
   */
  #replacePadding(line: Buffer, start: number, end: number): void {
    const at = this.#paddingAt;
    const isPadding = startsWith(line, start, end, PADDING_PREFIX);
    this.#paddingAt = isPadding ? this.#textLength : -1;
    if (at < 0) return;
    const from = at + PADDING_PREFIX.length;
    if (end - start !== this.#textLength - 1 - from) return;
    for (let i = 0; i < end - start; i++) {
      if (this.#text[from + i] !== line[start + i]) return;
    }
    this.#names[this.#count - 1] = PADDING_OF_NEXT;
    this.#textLength = at;
  }

  #moduleId(line: Buffer, start: number, end: number): number {
    let open = start;
    while (open < end && line[open] !== OPEN_BRACKET) open++;
    if (open >= end) return 0;
    const close = line[end - 1] === CLOSE_BRACKET ? end - 1 : end;
    const name = cleanName(line.subarray(open + 1, close));
    const known = this.#moduleIds.get(name);
    if (known !== undefined) return known;
    if (this.#modules.length >= MAX_MODULES) return 0;
    this.#modules.push(name);
    this.#moduleIds.set(name, this.#modules.length - 1);
    return this.#modules.length - 1;
  }

  #endsText(line: Buffer, start: number, end: number): boolean {
    if (end - start > 10 || !startsWith(line, start, end, "_e")) return false;
    return ENDS_OF_TEXT.has(line.toString("latin1", start, end));
  }
}

function grown<T extends Uint32Array | Uint16Array>(array: T, make: new (length: number) => T): T {
  const larger = new make(array.length * 2);
  larger.set(array);
  return larger;
}

function startsWith(line: Buffer, start: number, end: number, prefix: string): boolean {
  if (end - start < prefix.length) return false;
  for (let i = 0; i < prefix.length; i++) {
    if (line[start + i] !== prefix.charCodeAt(i)) return false;
  }
  return true;
}

/** The number that the digits spell; -1 where one is none. At most eight of them. */
function hex(line: Buffer, start: number, end: number): number {
  let value = 0;
  for (let i = start; i < end; i++) {
    const digit = VALUE_OF_DIGIT[line[i] ?? 0] ?? NOTHING;
    if (digit === NOTHING) return -1;
    value = value * 16 + digit;
  }
  return value;
}
