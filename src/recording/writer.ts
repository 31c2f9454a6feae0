/** Writes a recording to the disk, a chunk every few seconds: a kill loses no more than that. */
import {
  closeSync,
  constants,
  fdatasyncSync,
  fstatSync,
  ftruncateSync,
  openSync,
  renameSync,
  rmSync,
  writeSync,
} from "node:fs";
import { UserError } from "../tick/errors.ts";
import type { LineOf } from "../tick/source.ts";
import type { Tick } from "../tick/tick.ts";
import { packChunk, prefix } from "./chunks.ts";
import { TickEncoder } from "./encode.ts";
import {
  FLAG_RENEWED,
  FormatError,
  KIND_END,
  KIND_HEADER,
  KIND_TICKS,
  type RecordingHeader,
} from "./format.ts";
import { looksLikeRecording } from "./reader.ts";

/** A chunk is written after so many seconds of ticks, or so many bytes before they are packed. */
const FLUSH_SECONDS = 4;
const FLUSH_BYTES = 256 << 10;

/** It holds names of processes, files and functions that others may not be meant to know. */
const OWNER_ONLY = 0o600;

export interface WriterOptions {
  /** Replace a recording that is there; else any file that is there is an error. */
  readonly replace: boolean;
}

/**
 * A recording that is being written. A new one replaces an older one once its first refreshes are on
 * the disk, not before: until then it has a name of its own. Methods throw a UserError; what was
 * written before stays readable.
 */
export class RecordingWriter {
  readonly #path: string;
  readonly #encoder = new TickEncoder();
  readonly #header: RecordingHeader;
  readonly #file: number;
  /** Where it is written as long as another recording has its name. */
  #temporary: string | undefined;
  #size = 0;
  #ticks = 0;
  #pendingSeconds = 0;
  #state: "open" | "ended" | "failed" = "open";

  constructor(path: string, header: RecordingHeader, { replace }: WriterOptions) {
    this.#path = path;
    this.#header = header;
    this.#temporary = replace && holdsRecording(path) ? `${path}.${process.pid}.new` : undefined;
    this.#file = openNew(this.#temporary ?? path, path, replace);
    this.#guard(() => {
      this.#write(prefix());
      const data = Buffer.from(JSON.stringify(this.#header));
      this.#write(packChunk({ kind: KIND_HEADER, flags: 0, data }));
    });
  }

  /** Bytes in the file. */
  get size(): number {
    return this.#size;
  }

  get ticks(): number {
    return this.#ticks;
  }

  /** Writes a tick; `lineOf` knows lines of frames that the store does not. */
  add(tick: Tick, lineOf?: LineOf): void {
    if (this.#state !== "open") return;
    this.#guard(() => {
      this.#encoder.add(tick, lineOf);
      this.#ticks++;
      this.#pendingSeconds += tick.intervalSeconds;
      if (this.#pendingSeconds >= FLUSH_SECONDS || this.#encoder.length >= FLUSH_BYTES) {
        this.#flush();
      }
    });
  }

  /** Writes what is left, and that this was all. Does nothing after a failure. */
  end(): void {
    if (this.#state !== "open") return;
    this.#guard(() => {
      this.#flush();
      const data = Buffer.from(JSON.stringify({ ticks: this.#ticks }));
      this.#write(packChunk({ kind: KIND_END, flags: 0, data }));
      this.#takeName();
      if (fstatSync(this.#file).isFile()) fdatasyncSync(this.#file);
    });
    this.#state = "ended";
    closeSync(this.#file);
  }

  /** Takes a recording back that could not be written as a whole. */
  discard(): void {
    if (this.#state === "open") closeSync(this.#file);
    this.#state = "failed";
    rmSync(this.#temporary ?? this.#path, { force: true });
  }

  #flush(): void {
    if (this.#encoder.length === 0) return;
    const { bytes, isRenewed } = this.#encoder.take();
    const flags = isRenewed ? FLAG_RENEWED : 0;
    this.#write(packChunk({ kind: KIND_TICKS, flags, data: bytes }));
    this.#pendingSeconds = 0;
    this.#takeName();
  }

  #takeName(): void {
    if (this.#temporary === undefined) return;
    renameSync(this.#temporary, this.#path);
    this.#temporary = undefined;
  }

  #write(bytes: Buffer): void {
    for (let done = 0; done < bytes.length; ) {
      done += writeSync(this.#file, bytes, done, bytes.length - done);
    }
    this.#size += bytes.length;
  }

  /** Makes a failure one for the user, and leaves a file that ends after its last whole chunk. */
  #guard(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.#state = "failed";
      try {
        ftruncateSync(this.#file, this.#size);
      } catch {
        // Not a file, or the disk is worse than full: its reader stops at the last whole chunk anyway.
      }
      closeSync(this.#file);
      if (this.#temporary !== undefined) rmSync(this.#temporary, { force: true });
      const { code, message } = error as NodeJS.ErrnoException;
      if (code === undefined && !(error instanceof FormatError)) throw error;
      const why = code === "ENOSPC" ? "the disk is full" : message;
      throw new UserError(`cannot write ${this.#path}: ${why}${this.#left()}`);
    }
  }

  #left(): string {
    if (this.#temporary !== undefined) return "; the recording that was there is as it was";
    return this.#ticks > 0 ? "; what was written before can be replayed" : "";
  }
}

/** Whether there is a recording to be replaced; throws a UserError where there is anything else. */
function holdsRecording(path: string): boolean {
  let found: boolean | undefined;
  try {
    const status = statOf(path);
    // Nothing to lose: a file without content, or /dev/null.
    if (!status || status.isEmpty) return false;
    found = looksLikeRecording(path);
  } catch (error) {
    throw new UserError(`cannot write ${path}: ${(error as Error).message}`);
  }
  if (found === true) return true;
  throw new UserError(`${path} is there and is no recording: it is not overwritten`);
}

function statOf(path: string): { readonly isEmpty: boolean } | undefined {
  try {
    const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const status = fstatSync(file);
    closeSync(file);
    return { isEmpty: status.isFile() ? status.size === 0 : status.isCharacterDevice() };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

/** Opens a file that nobody else has, unless an empty one is to be filled. */
function openNew(path: string, name: string, replace: boolean): number {
  const { O_WRONLY, O_CREAT, O_EXCL, O_NONBLOCK, O_NOCTTY } = constants;
  try {
    return openSync(path, O_WRONLY | O_CREAT | O_EXCL, OWNER_ONLY);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code !== "EEXIST") throw new UserError(`cannot write ${name}: ${message}`);
    if (!replace || path !== name) throw new UserError(`cannot write ${name}: ${path} is there`);
  }
  try {
    return openSync(path, O_WRONLY | O_NONBLOCK | O_NOCTTY);
  } catch (error) {
    throw new UserError(`cannot write ${name}: ${(error as Error).message}`);
  }
}
