/**
 * Keeps the names of an image's methods that were met from run to run: a further run needs neither its tables nor its
 * metadata for these, which are half of a first refresh beside a build.
 */
import { firstWhere } from "../../tick/binary-search.ts";
import { wordsOf } from "./bytes.ts";
import type { GenericArgument } from "./generic-arguments.ts";
import type { ImageMethod } from "./instance-name.ts";
import type { KeptBytes } from "./kept.ts";
import type { FunctionRange } from "./ready-to-run/method-index.ts";

/** An image of which more is met, or whose names are longer together, is a strange one. */
const MAX_NAMES = 16_384;
const MAX_TEXT_BYTES = 1 << 20;
/** What a name takes beside its text, roughly. */
const NAME_BYTES = 200;
/** Words in front: how many names there are of functions, and of rows. */
const HEADER_WORDS = 2;
/** Words of a name: the first and the end of the numbers that it stands for, where its text begins, and how long it is. */
const NAME_WORDS = 4;
const MAX_WORD = 0xffff_ffff;
/** What stands around the words of an object as JSON. */
const FRAME_BYTES = 36;

/** The numbers that a method stands for, and the method. */
interface Added extends FunctionRange {
  readonly method: ImageMethod;
}

/** Names by number: RVAs, of which a function has many, or rows. */
class NameList {
  /** Those of earlier runs, in the order of their numbers; their texts are read as they are needed. */
  readonly #words: Uint32Array;
  readonly #texts: Buffer;
  readonly #read = new Map<number, ImageMethod | undefined>();
  /** Those of this run, in the order of their numbers. */
  readonly #added: Added[] = [];

  constructor(words: Uint32Array, texts: Buffer) {
    this.#words = words;
    this.#texts = texts;
  }

  get length(): number {
    return this.#words.length / NAME_WORDS + this.#added.length;
  }

  find(number: number): ImageMethod | undefined {
    const added = this.#added[this.#firstAddedBehind(number) - 1];
    if (added && number < added.end) return added.method;
    const words = this.#words;
    const index = this.#firstKnownBehind(number) - 1;
    if (index < 0 || number >= (words[NAME_WORDS * index + 1] ?? 0)) return undefined;
    if (!this.#read.has(index)) this.#read.set(index, methodIn(this.#textAt(index)));
    return this.#read.get(index);
  }

  add({ begin, end }: FunctionRange, method: ImageMethod): void {
    const named = { begin, end: Math.min(end, MAX_WORD), method };
    this.#added.splice(this.#firstAddedBehind(begin), 0, named);
  }

  /**
   * The words of all names in the order of their numbers. The texts of those of earlier runs are the first of `texts`;
   * those of the others are appended.
   */
  encode(texts: Buffer[]): Uint32Array {
    const words = new Uint32Array(NAME_WORDS * this.length);
    let at = texts.reduce((sum, { length }) => sum + length, 0);
    let known = 0;
    let to = 0;
    const takeKnown = (behind: number): void => {
      // What the disk gave may be in any order.
      const end = Math.max(known, behind);
      words.set(this.#words.subarray(known, end), to);
      to += end - known;
      known = end;
    };
    for (const { begin, end, method } of this.#added) {
      takeKnown(NAME_WORDS * this.#firstKnownBehind(begin));
      const text = textOf(method);
      words.set([begin, end, at, text.length], to);
      to += NAME_WORDS;
      at += text.length;
      texts.push(text);
    }
    takeKnown(this.#words.length);
    return words;
  }

  #textAt(index: number): Buffer {
    const [at = 0, length = 0] = this.#words.subarray(NAME_WORDS * index + 2);
    return this.#texts.subarray(at, at + length);
  }

  #firstKnownBehind(number: number): number {
    const words = this.#words;
    const isBehind = (index: number) => (words[NAME_WORDS * index] ?? 0) > number;
    return firstWhere(0, words.length / NAME_WORDS, isBehind);
  }

  #firstAddedBehind(number: number): number {
    const added = this.#added;
    return firstWhere(0, added.length, (index) => (added[index]?.begin ?? 0) > number);
  }
}

export class KeptNames {
  readonly #kept: KeptBytes;
  readonly #functions: NameList;
  readonly #rows: NameList;
  /** Of the names of earlier runs. */
  readonly #texts: Buffer;
  #textBytes: number;
  #hasNews = false;

  constructor(kept: KeptBytes) {
    this.#kept = kept;
    const { functions, rows, texts } = decodeNames(kept.read());
    this.#functions = new NameList(functions, texts);
    this.#rows = new NameList(rows, texts);
    this.#texts = texts;
    this.#textBytes = texts.length;
  }

  /** The memory that they take, roughly. */
  get memoryBytes(): number {
    return this.#textBytes + NAME_BYTES * (this.#functions.length + this.#rows.length);
  }

  /** The method of the function whose code is at an RVA; undefined where it was not named. */
  ofRva(rva: number): ImageMethod | undefined {
    return this.#functions.find(rva);
  }

  /** The method of a row of the table of methods; undefined where it was not named. */
  ofRow(row: number): ImageMethod | undefined {
    return this.#rows.find(row);
  }

  /** Takes in the method that a function belongs to, which was not named before. */
  addFunction(range: FunctionRange, method: ImageMethod): void {
    this.#add(this.#functions, range, method);
  }

  /** Takes in the method of a row, which was not named before. */
  addRow(row: number, method: ImageMethod): void {
    this.#add(this.#rows, { begin: row, end: row + 1 }, method);
  }

  /** Writes them, where there are further ones than are kept. */
  save(): void {
    if (!this.#hasNews) return;
    this.#hasNews = false;
    this.#kept.write(encodeNames(this.#functions, this.#rows, this.#texts));
  }

  #add(list: NameList, range: FunctionRange, method: ImageMethod): void {
    const textBytes = lengthOf(method);
    const isFull = this.#functions.length + this.#rows.length >= MAX_NAMES;
    if (isFull || this.#textBytes + textBytes > MAX_TEXT_BYTES) return;
    list.add(range, method);
    this.#textBytes += textBytes;
    this.#hasNews = true;
  }
}

/** Names as bytes, in the byte order of this machine: words in front, then the texts, those of earlier runs first. */
function encodeNames(functions: NameList, rows: NameList, known: Buffer): Buffer {
  const texts = [known];
  const ofFunctions = functions.encode(texts);
  const ofRows = rows.encode(texts);
  const header = Uint32Array.of(functions.length, rows.length);
  const words = [header, ofFunctions, ofRows].map(({ buffer }) => Buffer.from(buffer));
  return Buffer.concat([...words, ...texts]);
}

/** The words of the names in such bytes, and their texts; none where the bytes are cut. */
function decodeNames(bytes: Buffer) {
  const none = { functions: new Uint32Array(), rows: new Uint32Array(), texts: Buffer.alloc(0) };
  if (bytes.length < 4 * HEADER_WORDS) return none;
  const [functions = 0, rows = 0] = wordsOf(bytes, 0, HEADER_WORDS);
  const words = HEADER_WORDS + NAME_WORDS * (functions + rows);
  if (bytes.length < 4 * words) return none;
  const wordsFrom = (at: number, count: number) => wordsOf(bytes, 4 * at, NAME_WORDS * count);
  return {
    functions: wordsFrom(HEADER_WORDS, functions),
    rows: wordsFrom(HEADER_WORDS + NAME_WORDS * functions, rows),
    texts: bytes.subarray(4 * words),
  };
}

/** The length of the text of a method, roughly: it is made when it is written. */
function lengthOf({ name, module, genericArguments = [] }: ImageMethod): number {
  let length = FRAME_BYTES + name.length + module.length;
  for (const { parameter, type } of genericArguments)
    length += FRAME_BYTES + parameter.length + type.length;
  return length;
}

const textOf = (method: ImageMethod): Buffer => Buffer.from(JSON.stringify(method));

/** The method of such a text; undefined where it is of another form. */
function methodIn(text: Buffer): ImageMethod | undefined {
  try {
    const method: unknown = JSON.parse(text.toString());
    return isMethod(method) ? method : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** An object of which nothing but its type may be taken for granted. */
type Unknown<Type> = { readonly [Key in keyof Type]?: unknown };

const isObject = <Type>(it: unknown): it is Unknown<Type> => typeof it === "object" && it !== null;

const isMethod = (it: unknown): it is ImageMethod =>
  isObject<ImageMethod>(it) &&
  typeof it.name === "string" &&
  typeof it.module === "string" &&
  (it.genericArguments === undefined ||
    (Array.isArray(it.genericArguments) && it.genericArguments.every(isGenericArgument)));

const isGenericArgument = (it: unknown): it is GenericArgument =>
  isObject<GenericArgument>(it) &&
  (it.of === "type" || it.of === "method") &&
  typeof it.parameter === "string" &&
  typeof it.type === "string";
