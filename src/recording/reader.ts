/** Reads a recording from the disk: what was written whole, however the file ends. */
import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import { cleanName } from "../tick/clean-name.ts";
import { UserError } from "../tick/errors.ts";
import type { CounterDefinition } from "../tick/source.ts";
import type { Tick } from "../tick/tick.ts";
import { type Chunk, readChunkHeader, unpackChunk } from "./chunks.ts";
import { TickDecoder } from "./decode.ts";
import { TickAssembler } from "./delta.ts";
import {
  CHUNK_HEADER_BYTES,
  FLAG_RENEWED,
  FormatError,
  KIND_END,
  KIND_HEADER,
  KIND_TICKS,
  LIMITS,
  OLDEST_VERSION,
  PREFIX_BYTES,
  type RecordingHeader,
  SIGNATURE,
  VERSION,
} from "./format.ts";

/** Whether a file begins as a recording does; undefined if there is none. Throws what the system says. */
export function looksLikeRecording(path: string): boolean | undefined {
  let file: number;
  try {
    file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
  try {
    return fstatSync(file).isFile() && readAt(file, 0, SIGNATURE.length).equals(SIGNATURE);
  } finally {
    closeSync(file);
  }
}

/** Up to `length` bytes at an offset; less at the end of the file. */
function readAt(file: number, offset: number, length: number): Buffer {
  const bytes = Buffer.allocUnsafe(length);
  let got = 0;
  while (got < length) {
    const count = readSync(file, bytes, got, length - got, offset + got);
    if (count === 0) break;
    got += count;
  }
  return bytes.subarray(0, got);
}

/** An open recording. */
export class RecordingReader {
  readonly header: RecordingHeader;
  /** What is wrong with the end of the file; known when all ticks were read. */
  problem: string | undefined;
  readonly #path: string;
  readonly #file: number;
  readonly #size: number;
  #version = VERSION;
  #offset = PREFIX_BYTES;

  /** Throws a UserError that says why this is no recording that can be read. */
  constructor(path: string) {
    this.#path = path;
    this.#file = openFile(path);
    try {
      this.#size = fstatSync(this.#file).size;
      this.header = this.#readHeader();
    } catch (error) {
      closeSync(this.#file);
      throw error;
    }
  }

  close(): void {
    closeSync(this.#file);
  }

  /** All ticks, each read when it is asked for; to be called once. */
  *ticks(): Generator<Tick> {
    const decoder = new TickDecoder(this.#version);
    const assembler = new TickAssembler();
    let count = 0;
    try {
      for (;;) {
        const at = this.#offset;
        const chunk = this.#next();
        if (chunk === undefined || chunk.kind === KIND_END) {
          if (!chunk) this.problem = `${this.#path} is cut off ${cutPlace(count, at)}`;
          return;
        }
        if (chunk.kind !== KIND_TICKS) continue;
        for (const delta of decoder.chunk(chunk.data, (chunk.flags & FLAG_RENEWED) !== 0)) {
          count++;
          yield assembler.assemble(delta);
        }
      }
    } catch (error) {
      if (!(error instanceof FormatError)) throw error;
      this.problem = `${this.#path} is damaged before byte ${this.#offset} (${error.message}): shown up to there`;
    } finally {
      if (count === 0) this.problem ??= `${this.#path} holds no refresh`;
    }
  }

  /** The next chunk; undefined where the file ends. */
  #next(): Chunk | undefined {
    const header = readAt(this.#file, this.#offset, CHUNK_HEADER_BYTES);
    if (header.length < CHUNK_HEADER_BYTES) return undefined;
    const { stored } = readChunkHeader(header);
    const begin = this.#offset + CHUNK_HEADER_BYTES;
    // Nothing is allocated for what is not there.
    if (stored > this.#size - begin) return undefined;
    const packed = readAt(this.#file, begin, stored);
    if (packed.length < stored) return undefined;
    this.#offset = begin + stored;
    return unpackChunk(header, packed);
  }

  #readHeader(): RecordingHeader {
    const start = readAt(this.#file, 0, PREFIX_BYTES);
    if (!start.subarray(0, SIGNATURE.length).equals(SIGNATURE.subarray(0, start.length))) {
      throw new UserError(`${this.#path} is no recording of polytop`);
    }
    if (start.length === 0) throw new UserError(`${this.#path} is empty`);
    const isCut = start.length < PREFIX_BYTES;
    const version = isCut ? VERSION : start.readUInt32LE(SIGNATURE.length);
    if (version < OLDEST_VERSION || version > VERSION) {
      throw new UserError(
        `${this.#path} is a recording of format ${version}; this polytop reads formats up to ${VERSION}: use a newer one`,
      );
    }
    this.#version = version;
    const chunk = isCut ? undefined : this.#tryNext();
    if (!chunk) throw new UserError(`${this.#path} is cut off ${cutPlace(0, 0)}`);
    if (chunk.kind !== KIND_HEADER || chunk.data.length > LIMITS.headerBytes) {
      throw new UserError(`${this.#path} is damaged: it has no header`);
    }
    return parseHeader(chunk.data, this.#path);
  }

  #tryNext(): Chunk | undefined {
    try {
      return this.#next();
    } catch (error) {
      if (!(error instanceof FormatError)) throw error;
      throw new UserError(`${this.#path} is damaged: ${error.message} in its header`);
    }
  }
}

function openFile(path: string): number {
  let file: number | undefined;
  try {
    // A pipe must not keep us waiting.
    file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    if (fstatSync(file).isFile()) return file;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw new UserError(code === "ENOENT" ? `there is no file ${path}` : `cannot read: ${message}`);
  }
  closeSync(file);
  throw new UserError(`${path} is no regular file: a recording must be one`);
}

function parseHeader(data: Buffer, path: string): RecordingHeader {
  let json: unknown;
  try {
    json = JSON.parse(data.toString("utf8"));
  } catch {
    throw new UserError(`${path} is damaged: its header is no JSON`);
  }
  const fields = asObject(json);
  const counters = Array.isArray(fields.counters) ? fields.counters : [];
  return {
    program: text(fields.program),
    created: text(fields.created),
    host: text(fields.host),
    kernel: text(fields.kernel),
    cpuModel: text(fields.cpuModel),
    cpus: number(fields.cpus),
    counters: counters.slice(0, LIMITS.counters).map(counterOf),
  };
}

function counterOf(json: unknown): CounterDefinition {
  const { id, name, runtime, kind, label, meaning, hint } = asObject(json);
  return {
    id: number(id),
    name: text(name),
    runtime: text(runtime),
    kind: text(kind),
    ...(label === undefined ? {} : { label: text(label) }),
    meaning: text(meaning),
    hint: text(hint),
  };
}

const asObject = (json: unknown): Record<string, unknown> =>
  typeof json === "object" && json !== null ? (json as Record<string, unknown>) : {};

const text = (value: unknown): string => (typeof value === "string" ? cleanName(value) : "");

const number = (value: unknown): number =>
  typeof value === "number" && Number.isFinite(value) ? value : 0;

/** Where a file ends that should go on, and what that means for its reader. */
const cutPlace = (ticks: number, at: number): string =>
  ticks > 0 ? `at byte ${at}: shown up to there` : "before its first refresh";
