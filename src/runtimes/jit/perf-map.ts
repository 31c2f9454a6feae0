/**
 * Reads the names that JIT compilers leave for profilers in /tmp/perf-PID.map: a line
 * `start size name` (hexadecimal, hexadecimal, the rest) for each function, appended to as code
 * is compiled (tools/perf/Documentation/jit-interface.txt of Linux).
 */

import { closeSync, fstatSync, readSync } from "node:fs";
import { startOfProcess } from "../../machine/process-start.ts";
import { CodeMap } from "./code-map.ts";
import { MAX_FILE_BYTES, openPerfMap, Refusal } from "./perf-map-file.ts";

/** The name of an address, or the reason why there is none. */
export type PerfMapName =
  | { readonly name: string; readonly whyUnnamed?: undefined }
  | { readonly whyUnnamed: string };

export interface PerfMapsOptions {
  readonly proc?: string;
  /** Milliseconds, on a clock that does not go back. */
  readonly now?: () => number;
}

/** Limits of what is kept at once of all processes. */
const MAX_PROCESSES = 256;
const MAX_MEMORY_BYTES = 64 * 1024 * 1024;
/** Maps are read on after this time: it is shorter than a refresh, so that each of them reads on. */
const CHECK_MILLISECONDS = 900;
/** A file that names nothing of what was asked for is looked at less and less often. */
const MAX_CHECK_MILLISECONDS = 64_000;
/** A file that is not there mostly never will be. */
const MAX_ABSENT_MILLISECONDS = 5000;
/** Addresses without a name that are remembered of a process, to be looked for in what it writes later. */
const MAX_MISSED = 256;
/** The most that is read of all files in the time from one look at a file to the next, some 100 ms; later ones read
 * the rest. */
const MAX_READ_BYTES = 8 * 1024 * 1024;
/** A map that had to make room is read again after this time, and after ever longer ones. */
const FIRST_REST_MILLISECONDS = 128_000;
const LONGEST_REST_MILLISECONDS = 512_000;
const CHUNK_BYTES = 256 * 1024;
/** This many bytes before the place where reading goes on must be unchanged: then the file was only appended to. */
const TAIL_BYTES = 64;
const MAX_LINE_BYTES = 64 * 1024;

const NEWLINE = 10;

const TOO_MANY =
  "generated code; the /tmp/perf-PID.map of its process has more entries than are kept";
const NO_ROOM =
  "generated code; the /tmp/perf-PID.map of its process is longer than there is room for among others";
const NOT_READ_YET =
  "generated code; the /tmp/perf-PID.map of its process is read when those of others are";
const NOT_HELD = "generated code that its process has not put into /tmp/perf-PID.map";

interface ProcessMap {
  map: CodeMap;
  /** When the process started (`startOfProcess`): another process may get the pid. */
  start: string | undefined;
  /** Identify the file that was read, to tell when another one is in its place. */
  device: number;
  inode: number;
  /** How many bytes of whole lines were read. */
  read: number;
  tail: Buffer;
  checkedAt: number;
  /** When it was asked for last. */
  usedAt: number;
  /** It is not read before then, since it had to make room; and how long the next rest is, in milliseconds. */
  restsUntil: number;
  rest: number;
  /** Milliseconds from one look for missed names to the next. */
  patience: number;
  readonly missed: Set<number>;
  whyNot: string | undefined;
}

/** Keeps the perf maps of processes. Each is read when one of its addresses is asked for, and on as it grows. */
export class PerfMaps {
  readonly #proc: string;
  readonly #now: () => number;
  readonly #processes = new Map<number, ProcessMap>();
  /** Since when bytes are counted, and how many may still be read. */
  #countedFrom = Number.NEGATIVE_INFINITY;
  #readable = MAX_READ_BYTES;
  /** Who wants to read since then, and how many wanted to before: each of as many has a share. */
  readonly #wanting = new Set<number>();
  #wanted = 1;

  constructor(options: PerfMapsOptions = {}) {
    this.#proc = options.proc ?? "/proc";
    this.#now = options.now ?? (() => performance.now());
  }

  /**
   * Finds the function of a process that holds the address. A file that has grown is read on, once a refresh.
   * A process that is gone keeps the names that are known, until another one has its pid.
   */
  resolve(pid: number, address: bigint): PerfMapName {
    const process = this.#process(pid);
    process.usedAt = this.#now();
    // What was read may be of a process that is gone, and whose pid another one has now.
    const isAbsent = process.whyNot !== undefined && process.read === 0;
    const most = isAbsent ? MAX_ABSENT_MILLISECONDS : CHECK_MILLISECONDS;
    this.#updateAfter(Math.min(process.patience, most), pid, process);
    const name = process.map.find(Number(address));
    if (name !== undefined) return { name };
    if (process.missed.size < MAX_MISSED) process.missed.add(Number(address));
    return { whyUnnamed: process.whyNot ?? NOT_HELD };
  }

  /**
   * Looks again for what had no name when it was asked for: compilers write names down as they compile. Says
   * whether some have one now; they are then asked for anew.
   */
  findMissed(): boolean {
    let found = false;
    for (const [pid, process] of this.#processes) {
      const { missed, map } = process;
      if (missed.size === 0 || !this.#updateAfter(process.patience, pid, process)) continue;
      if ([...missed].some((address) => map.find(address) !== undefined)) {
        found = true;
        missed.clear();
        process.patience = CHECK_MILLISECONDS;
      } else {
        process.patience = Math.min(2 * process.patience, MAX_CHECK_MILLISECONDS);
      }
    }
    return found;
  }

  get memoryBytes(): number {
    let bytes = 0;
    for (const { map } of this.#processes.values()) bytes += map.memoryBytes;
    return bytes;
  }

  get #share(): number {
    return Math.min(this.#readable, Math.ceil(MAX_READ_BYTES / this.#wanted));
  }

  #process(pid: number): ProcessMap {
    // The process that was asked for last is the last to be forgotten.
    const process = this.#processes.get(pid) ?? emptyMap();
    this.#processes.delete(pid);
    this.#processes.set(pid, process);
    return process;
  }

  /**
   * Forgets the processes that nobody asked for longest, until the rest is small enough. Those that were asked for in
   * this refresh would only be read again: of them the largest map goes, and rests.
   */
  #makeRoom(now: number): void {
    let bytes = this.memoryBytes;
    for (const [pid, { map, usedAt }] of this.#processes) {
      const enough = this.#processes.size <= MAX_PROCESSES && bytes <= MAX_MEMORY_BYTES;
      if (enough || this.#processes.size === 1) return;
      if (now - usedAt < CHECK_MILLISECONDS && this.#processes.size <= MAX_PROCESSES) break;
      bytes -= map.memoryBytes;
      this.#processes.delete(pid);
    }
    if (bytes <= MAX_MEMORY_BYTES) return;
    const [largest] = [...this.#processes.values()].toSorted(
      (a, b) => b.map.memoryBytes - a.map.memoryBytes,
    );
    if (!largest) return;
    forget(largest);
    largest.map = new CodeMap();
    largest.whyNot = NO_ROOM;
    largest.restsUntil = now + largest.rest;
    largest.rest = Math.min(2 * largest.rest, LONGEST_REST_MILLISECONDS);
  }

  /** Reads on, unless that was done less than so many milliseconds ago. */
  #updateAfter(milliseconds: number, pid: number, process: ProcessMap): boolean {
    const now = this.#now();
    if (now - process.checkedAt < milliseconds || now < process.restsUntil) return false;
    if (now - this.#countedFrom >= CHECK_MILLISECONDS) {
      this.#countedFrom = now;
      this.#readable = MAX_READ_BYTES;
      this.#wanted = Math.max(1, this.#wanting.size);
      this.#wanting.clear();
    }
    this.#wanting.add(pid);
    if (this.#readable <= 0) {
      process.whyNot ??= NOT_READ_YET;
      return false;
    }
    process.checkedAt = now;
    this.#update(pid, process);
    this.#makeRoom(now);
    return true;
  }

  #update(pid: number, process: ProcessMap): void {
    try {
      const start = startOfProcess(pid, this.#proc);
      if (start !== undefined && start !== process.start) {
        forget(process);
        process.start = start;
      }
      const descriptor = openPerfMap(`${this.#proc}/${pid}`, start);
      try {
        this.#readable -= readOn(descriptor, process, this.#share);
        process.whyNot = process.map.full ? TOO_MANY : undefined;
      } finally {
        closeSync(descriptor);
      }
    } catch (error) {
      process.whyNot = error instanceof Refusal ? error.message : String(error);
    }
  }
}

function emptyMap(): ProcessMap {
  return {
    map: new CodeMap(),
    device: 0,
    inode: 0,
    read: 0,
    tail: Buffer.alloc(0),
    start: undefined,
    checkedAt: Number.NEGATIVE_INFINITY,
    usedAt: Number.NEGATIVE_INFINITY,
    restsUntil: Number.NEGATIVE_INFINITY,
    rest: FIRST_REST_MILLISECONDS,
    patience: CHECK_MILLISECONDS,
    missed: new Set(),
    whyNot: undefined,
  };
}

/** Forgets what was read, since it is from another file or of another process. */
function forget(process: ProcessMap): void {
  process.map.clear();
  process.missed.clear();
  process.read = 0;
  process.tail = Buffer.alloc(0);
}

/**
 * Takes in the lines that were appended since; all of them if the file is another one. Reads about so many bytes at
 * most, and returns how many it did.
 */
function readOn(descriptor: number, process: ProcessMap, most: number): number {
  const stats = fstatSync(descriptor);
  if (
    stats.dev !== process.device ||
    stats.ino !== process.inode ||
    !continues(descriptor, process, stats.size)
  ) {
    forget(process);
    process.device = stats.dev;
    process.inode = stats.ino;
  }
  const begin = process.read;
  const end = Math.min(stats.size, MAX_FILE_BYTES, begin + most);
  const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
  while (process.read < end) {
    const got = readSync(
      descriptor,
      chunk,
      0,
      Math.min(chunk.length, end - process.read),
      process.read,
    );
    const taken = takeLines(process.map, chunk.subarray(0, got));
    if (taken === 0) break;
    process.read += taken;
    process.tail = Buffer.from(chunk.subarray(Math.max(0, taken - TAIL_BYTES), taken));
  }
  return process.read - begin;
}

/** Says whether what was read is still there, so that reading can go on behind it. */
function continues(descriptor: number, { read, tail }: ProcessMap, size: number): boolean {
  if (size < read) return false;
  const again = Buffer.alloc(tail.length);
  const got = readSync(descriptor, again, 0, tail.length, read - tail.length);
  return got === tail.length && again.equals(tail);
}

/**
 * Takes in whole lines and returns their bytes; the half line at the end, still being written, is left for the next
 * time.
 */
function takeLines(map: CodeMap, bytes: Buffer): number {
  let start = 0;
  for (let end = bytes.indexOf(NEWLINE); end >= 0; end = bytes.indexOf(NEWLINE, start)) {
    map.addLine(bytes, start, end);
    start = end + 1;
  }
  // No function has a line that long; without this it would be read again for ever.
  return start === 0 && bytes.length >= MAX_LINE_BYTES ? bytes.length : start;
}
