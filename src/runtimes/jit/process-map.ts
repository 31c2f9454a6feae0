/** The perf map of one process: how much of it was read, and what is known by that. */
import { closeSync, fstatSync, readSync, type Stats } from "node:fs";
import { livingFolder } from "../../machine/process.ts";
import { type RunningProgram, runningProgram } from "../../machine/process-start.ts";
import { readText } from "../../machine/read-text.ts";
import { CodeMap } from "./code-map.ts";
import { GONE, openPerfMap, Refusal, userOfStatus } from "./perf-map-file.ts";
import { Ranges } from "./ranges.ts";

/** The name of an address, or the reason why there is none. */
export type PerfMapName =
  | { readonly name: string; readonly whyUnnamed?: undefined }
  | { readonly whyUnnamed: string };

/** Says whether the name of an address may be another one than before. */
export type Changes = (address: number) => boolean;

/** So much is read in one look, which takes some 5 ms. */
const CHUNK_BYTES = 256 * 1024;
/** What is read is taken in at once. One for all: V8 collects its garbage early where buffers come and go. */
let chunk: Buffer | undefined;
/** This many bytes before the place where reading goes on must be unchanged: then the file was only appended to. */
const TAIL_BYTES = 64;
const MAX_LINE_BYTES = 64 * 1024;
/** So many entries are laid over the others at once, which takes some 10 ms. */
const MAX_WAITING = 32_768;
/** What was named is looked at again at each drain, of which a refresh of 0.1 s has one. */
const RENEW_MILLISECONDS = 90;
/** A file that is not there mostly never will be: it is looked for less and less often. */
const FIRST_PATIENCE_MILLISECONDS = 900;
const MAX_ABSENT_MILLISECONDS = 5000;
/** A map that had to make room is read again after this time, and after ever longer ones. */
const FIRST_REST_MILLISECONDS = 128_000;
const LONGEST_REST_MILLISECONDS = 512_000;

const NEWLINE = 10;
/** Whoever has no user any more is gone. */
const NOBODY = -1;

const TOO_MANY =
  "generated code; the /tmp/perf-PID.map of its process has more entries than are kept";
const NO_ROOM =
  "generated code; the /tmp/perf-PID.map of its process is longer than there is room for among others";
const NOT_HELD = "generated code that its process has not put into /tmp/perf-PID.map";
const BEING_READ = "generated code; the /tmp/perf-PID.map of its process is still being read";

/** What is said of a process that nobody has looked at. */
export const UNREAD: PerfMapName = { whyUnnamed: BEING_READ };

export class ProcessMap {
  /** When it was asked for last. */
  usedAt = Number.NEGATIVE_INFINITY;
  readonly #folder: string;
  readonly #pid: number;
  readonly #proc: string;
  #user: number;
  #map = new CodeMap();
  /** Another process may get the pid, and exec keeps the pid and the file. */
  #running: RunningProgram | undefined;
  /** Identify the file that was read, to tell when another one is in its place. */
  #device = 0;
  #inode = 0;
  /** When the file was written last, and how long it was then. */
  #written = 0;
  #size = 0;
  /** How many bytes of whole lines were read. */
  #read = 0;
  #tail: Buffer = Buffer.alloc(0);
  /** Whether lines are left that were there at the last look. */
  #isBehind = true;
  #hasMore = false;
  #checkedAt = Number.NEGATIVE_INFINITY;
  /** It is not read before then, since it had to make room; and how long the next rest is, in milliseconds. */
  #restsUntil = Number.NEGATIVE_INFINITY;
  #rest = FIRST_REST_MILLISECONDS;
  /** Milliseconds from one look for a file that cannot be read to the next. */
  #patience = FIRST_PATIENCE_MILLISECONDS;
  /** Where the names may be others than when changes were taken last. */
  #changed = new Ranges();
  #everythingChanged = true;
  #whyNot: string | undefined = BEING_READ;

  constructor(pid: number, proc: string) {
    this.#pid = pid;
    this.#proc = proc;
    this.#folder = `${proc}/${pid}`;
    this.#user = userOfStatus(readText(`${this.#folder}/status`, "latin1") ?? "") ?? NOBODY;
  }

  /** Who has the process. */
  get user(): number {
    return this.#user;
  }

  get memoryBytes(): number {
    return this.#map.memoryBytes + this.#changed.memoryBytes;
  }

  /** How many bytes of the file are still to be read, as far as is known. */
  get unreadBytes(): number {
    return this.#size - this.#read;
  }

  /** Says whether it has more entries than are kept. */
  get isFull(): boolean {
    return this.#map.full;
  }

  /** Whether it is to be looked at by now. */
  isDue(now: number): boolean {
    const least = this.#whyNot === undefined ? RENEW_MILLISECONDS : this.#patience;
    return now - this.#checkedAt >= least && now >= this.#restsUntil;
  }

  find(address: number): PerfMapName {
    // Code may have come to places whose names cannot be read any more, unless its process has ended.
    const whyNot = this.#whyNot;
    const isKnown = whyNot === undefined || (whyNot === GONE && !this.#isBehind);
    if (!isKnown) return { whyUnnamed: whyNot };
    const name = this.#map.find(address);
    return name === undefined ? { whyUnnamed: whyNot ?? NOT_HELD } : { name };
  }

  /** Which names may be others than at the last call; undefined: none. */
  takeChanges(): Changes | undefined {
    const changed = this.#changed;
    const isAll = this.#everythingChanged;
    this.#changed = new Ranges();
    this.#everythingChanged = false;
    if (isAll) return () => true;
    return changed.length === 0 ? undefined : (address) => changed.entryAt(address) >= 0;
  }

  /** Whether the last look left something to read at once. */
  get hasMore(): boolean {
    return this.#hasMore;
  }

  /** Looks at the file and reads on, one chunk at most; returns how many bytes it read. */
  look(now: number): number {
    const before = this.#whyNot;
    let bytes = 0;
    this.#checkedAt = now;
    this.#hasMore = false;
    try {
      bytes = this.#lookAtFile();
      this.#whyNot = this.#map.full ? TOO_MANY : this.#isBehind ? BEING_READ : undefined;
    } catch (error) {
      this.#whyNot = error instanceof Refusal ? error.message : String(error);
    }
    if (this.#whyNot !== before) this.#everythingChanged = true;
    const isAbsent = this.#whyNot !== undefined && this.#whyNot !== BEING_READ && this.#read === 0;
    this.#patience = isAbsent
      ? Math.min(2 * this.#patience, MAX_ABSENT_MILLISECONDS)
      : FIRST_PATIENCE_MILLISECONDS;
    return bytes;
  }

  /** There was no time to look: its code may have moved meanwhile, so nothing is named. */
  postpone(): void {
    if (this.#whyNot !== undefined) return;
    this.#whyNot = BEING_READ;
    this.#everythingChanged = true;
  }

  /** Gives up what it holds, to make room, and leaves it so for a while. */
  makeRoom(now: number): void {
    this.#forget();
    this.#map = new CodeMap();
    this.#changed = new Ranges();
    this.#whyNot = NO_ROOM;
    this.#hasMore = false;
    this.#restsUntil = now + this.#rest;
    this.#rest = Math.min(2 * this.#rest, LONGEST_REST_MILLISECONDS);
  }

  #lookAtFile(): number {
    const status = readText(`${this.#folder}/status`, "latin1");
    if (status === undefined) throw new Refusal(GONE);
    this.#user = userOfStatus(status) ?? NOBODY;
    this.#followProgram();
    const folder = livingFolder(this.#pid, this.#proc);
    const facts = { folder, status, start: this.#running?.start };
    const descriptor = openPerfMap(facts, this.#read);
    try {
      return this.#readOn(descriptor);
    } finally {
      closeSync(descriptor);
    }
  }

  #followProgram(): void {
    const running = runningProgram(this.#pid, this.#proc);
    if (!running) return;
    if (running.start !== this.#running?.start) this.#forget();
    else if (running.program !== this.#running.program) this.#forgetNames();
    this.#running = running;
  }

  /** Forgets the names of the program that the process ran before; its lines stay in the file, unless that is new. */
  #forgetNames(): void {
    this.#map.clear();
    this.#everythingChanged = true;
  }

  /** Forgets what was read, since it is from another file or of another process. */
  #forget(): void {
    this.#forgetNames();
    this.#read = 0;
    this.#tail = Buffer.alloc(0);
  }

  /** Takes in some of the lines that were appended since, or of all if the file is another one. */
  #readOn(descriptor: number): number {
    const stats = fstatSync(descriptor);
    const isSame = stats.dev === this.#device && stats.ino === this.#inode;
    if (!isSame || !this.#continues(descriptor, stats)) {
      this.#forget();
      this.#device = stats.dev;
      this.#inode = stats.ino;
    }
    this.#size = stats.size;
    this.#written = stats.mtimeMs;
    const wanted = Math.min(CHUNK_BYTES, this.unreadBytes);
    chunk ??= Buffer.allocUnsafe(CHUNK_BYTES);
    const got = wanted > 0 ? readSync(descriptor, chunk, 0, wanted, this.#read) : 0;
    // What is left behind the end is half a line, which is still being written.
    this.#isBehind = this.#read + got < this.#size;
    this.#hasMore = this.#isBehind && got === wanted;
    this.#takeLines(chunk.subarray(0, got));
    if (!this.#hasMore || this.#map.waiting >= MAX_WAITING)
      this.#changed = this.#changed.overlaid(this.#map.settle());
    return got;
  }

  /** Takes in whole lines. */
  #takeLines(bytes: Buffer): void {
    let taken = 0;
    for (let end = bytes.indexOf(NEWLINE); end >= 0; end = bytes.indexOf(NEWLINE, taken)) {
      this.#map.addLine(bytes, taken, end);
      taken = end + 1;
    }
    // No function has a line that long; without this it would be read again for ever.
    if (taken === 0 && bytes.length >= MAX_LINE_BYTES) taken = bytes.length;
    if (taken === 0) return;
    this.#read += taken;
    this.#tail = Buffer.from(bytes.subarray(Math.max(0, taken - TAIL_BYTES), taken));
  }

  /** Says whether what was read is still there, so that reading can go on behind it. */
  #continues(descriptor: number, now: Stats): boolean {
    if (now.size < this.#read) return false;
    // What is written without growing was written over.
    if (now.size === this.#size) return now.mtimeMs === this.#written;
    const again = Buffer.alloc(this.#tail.length);
    const got = readSync(descriptor, again, 0, again.length, this.#read - again.length);
    return got === again.length && again.equals(this.#tail);
  }
}
