/** Writes a recording to the disk, a chunk every few seconds: a kill loses no more than that. */
import {
  closeSync,
  existsSync,
  fdatasyncSync,
  fstatSync,
  ftruncateSync,
  lstatSync,
  renameSync,
  rmSync,
  writeSync,
} from "node:fs";
import { UserError } from "../tick/errors.ts";
import type { FactsOf } from "../tick/source.ts";
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
import { createFile, nameBeside, openSpecial, placeToWrite } from "./own-file.ts";
import { looksLikeRecording } from "./reader.ts";

/** A chunk is written after so many seconds of ticks, or so many bytes before they are packed. */
const FLUSH_SECONDS = 4;
const FLUSH_BYTES = 256 << 10;

export interface WriterOptions {
  /** Replace a recording that is there; else any file that is there is an error. */
  readonly replace: boolean;
}

/**
 * A recording that is being written. It takes its name once its first refreshes are on the disk, in place
 * of an older one: until then it has a name that nobody knows. Methods throw a UserError; what was written
 * before stays readable.
 */
export class RecordingWriter {
  readonly #path: string;
  readonly #encoder = new TickEncoder();
  readonly #header: RecordingHeader;
  readonly #file: number;
  /** Where the name leads to. */
  readonly #target: string;
  /** Where it is written as long as it does not have its name. */
  #temporary: string | undefined;
  #size = 0;
  #ticks = 0;
  #pendingSeconds = 0;
  #state: "open" | "ended" | "failed" = "open";

  constructor(path: string, header: RecordingHeader, { replace }: WriterOptions) {
    this.#path = path;
    this.#header = header;
    const opened = openNew(path, replace);
    this.#file = opened.file;
    this.#target = opened.target;
    this.#temporary = opened.temporary;
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

  /** Writes a tick; `factsOf` knows of frames what the store does not. */
  add(tick: Tick, factsOf?: FactsOf): void {
    if (this.#state !== "open") return;
    this.#guard(() => {
      this.#encoder.add(tick, factsOf);
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
    rmSync(this.#temporary ?? this.#target, { force: true });
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
    renameSync(this.#temporary, this.#target);
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
    if (this.#temporary !== undefined) {
      return existsSync(this.#target) ? "; the recording that was there is as it was" : "";
    }
    return this.#ticks > 0 ? "; what was written before can be replayed" : "";
  }
}

/** A file that is open, where it is to be in the end, and where it is until then if that is another place. */
interface Opened {
  readonly file: number;
  readonly target: string;
  readonly temporary: string | undefined;
}

/** Opens a file that nobody else has; throws a UserError where there is one that is not to be lost. */
function openNew(path: string, replace: boolean): Opened {
  try {
    if (!replace) return { file: createFile(path), target: path, temporary: undefined };
    const { path: target, isSpecial } = placeToWrite(path);
    if (isSpecial) return { file: openSpecial(target), target, temporary: undefined };
    refuseOthers(target);
    const temporary = nameBeside(target);
    return { file: createFile(temporary), target, temporary };
  } catch (error) {
    if (error instanceof UserError) throw error;
    const { code, message } = error as NodeJS.ErrnoException;
    const why = code === "EEXIST" ? `${path} is there` : message;
    throw new UserError(`cannot write ${path}: ${why}`);
  }
}

/** Only a recording is replaced, or a file without content: there is nothing to lose. */
function refuseOthers(path: string): void {
  const status = lstatSync(path, { throwIfNoEntry: false });
  if (!status || status.size === 0 || looksLikeRecording(path)) return;
  throw new UserError(`${path} is there and is no recording: it is not overwritten`);
}
