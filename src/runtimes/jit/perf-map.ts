/**
 * Reads the names that JIT compilers leave for profilers in /tmp/perf-PID.map: a line
 * `start size name` (hexadecimal, hexadecimal, the rest) for each function, appended to as code
 * is compiled (tools/perf/Documentation/jit-interface.txt of Linux).
 */

import { closeSync, fstatSync, readSync, type Stats } from "node:fs";
import { startOfProcess, startOfProgram } from "../../machine/process-start.ts";
import { CodeMap } from "./code-map.ts";
import { GONE, openPerfMap, Refusal } from "./perf-map-file.ts";
import { Ranges } from "./ranges.ts";
import { ReadShares } from "./read-shares.ts";

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
/** What was named is looked at again at each drain, of which a refresh of 0.1 s has one. */
const RENEW_MILLISECONDS = 90;
/** A file that is not there mostly never will be: it is looked for less and less often. */
const MAX_ABSENT_MILLISECONDS = 5000;
/** The most that is read of all files between two looks at one of them, some 100 ms; later ones read the rest. */
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
const NOT_HELD = "generated code that its process has not put into /tmp/perf-PID.map";
const BEING_READ = "generated code; the /tmp/perf-PID.map of its process is still being read";

interface ProcessMap {
  map: CodeMap;
  /** When the process started (`startOfProcess`): another process may get the pid. */
  start: string | undefined;
  /** Identifies the program that it runs since (`startOfProgram`): exec keeps the pid and the file. */
  program: string | undefined;
  /** Identify the file that was read, to tell when another one is in its place. */
  device: number;
  inode: number;
  /** When the file was written last, and how long it was then. */
  written: number;
  size: number;
  /** How many bytes of whole lines were read. */
  read: number;
  tail: Buffer;
  checkedAt: number;
  /** When it was asked for last. */
  usedAt: number;
  /** It is not read before then, since it had to make room; and how long the next rest is, in milliseconds. */
  restsUntil: number;
  rest: number;
  /** Milliseconds from one look for a file that cannot be read to the next. */
  patience: number;
  /** Where the names may be others than when changes were taken last. */
  changed: Ranges;
  everythingChanged: boolean;
  whyNot: string | undefined;
}

/** Says whether the name of an address may be another one than before. */
export type Changes = (address: number) => boolean;

/** Keeps the perf maps of processes. Each is read when one of its addresses is asked for, and on as it grows. */
export class PerfMaps {
  readonly #proc: string;
  readonly #now: () => number;
  readonly #processes = new Map<number, ProcessMap>();
  readonly #shares = new ReadShares(MAX_READ_BYTES, CHECK_MILLISECONDS);

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
    this.#updateAfter(CHECK_MILLISECONDS, pid, process);
    return find(process, Number(address));
  }

  /**
   * Reads on and says which names of a process may be others than at the last call; undefined: none. Compilers write
   * names down as they compile, and put new code where old code was.
   */
  takeChanges(pid: number): Changes | undefined {
    const process = this.#process(pid);
    this.#updateAfter(RENEW_MILLISECONDS, pid, process);
    const { changed, everythingChanged } = process;
    process.changed = new Ranges();
    process.everythingChanged = false;
    if (everythingChanged) return () => true;
    return changed.length === 0 ? undefined : (address) => changed.entryAt(address) >= 0;
  }

  get memoryBytes(): number {
    let bytes = 0;
    for (const { map } of this.#processes.values()) bytes += map.memoryBytes;
    return bytes;
  }

  #process(pid: number): ProcessMap {
    // The process that was asked for last is the last to be forgotten.
    const process = this.#processes.get(pid) ?? emptyMap();
    this.#processes.delete(pid);
    this.#processes.set(pid, process);
    process.usedAt = this.#now();
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

  /** Reads on, unless that was done less than so many milliseconds ago, or lately in vain. */
  #updateAfter(milliseconds: number, pid: number, process: ProcessMap): void {
    const now = this.#now();
    const least = process.whyNot === undefined ? milliseconds : process.patience;
    if (now - process.checkedAt < least || now < process.restsUntil) return;
    process.checkedAt = now;
    const before = process.whyNot;
    this.#update(pid, process, this.#shares.of(pid, now));
    if (process.whyNot !== before) process.everythingChanged = true;
    const { whyNot, read } = process;
    const isAbsent = whyNot !== undefined && whyNot !== BEING_READ && read === 0;
    process.patience = isAbsent
      ? Math.min(2 * process.patience, MAX_ABSENT_MILLISECONDS)
      : CHECK_MILLISECONDS;
    this.#makeRoom(now);
  }

  #update(pid: number, process: ProcessMap, most: number): void {
    try {
      this.#followProgram(pid, process);
      const descriptor = openPerfMap(`${this.#proc}/${pid}`, process.start, process.read);
      try {
        this.#shares.spend(readOn(descriptor, process, most));
        process.whyNot = whyIncomplete(process, most);
      } finally {
        closeSync(descriptor);
      }
    } catch (error) {
      process.whyNot = error instanceof Refusal ? error.message : String(error);
    }
  }

  #followProgram(pid: number, process: ProcessMap): void {
    const start = startOfProcess(pid, this.#proc);
    if (start === undefined) return;
    const program = startOfProgram(pid, this.#proc);
    if (start !== process.start) forget(process);
    else if (program !== process.program) forgetNames(process);
    process.start = start;
    process.program = program;
  }
}

function find(process: ProcessMap, address: number): PerfMapName {
  // Code may have come to places whose names cannot be read any more, unless its process has ended.
  const { whyNot } = process;
  if (whyNot !== undefined && whyNot !== GONE) return { whyUnnamed: whyNot };
  const name = process.map.find(address);
  return name === undefined ? { whyUnnamed: whyNot ?? NOT_HELD } : { name };
}

/** Half a line at the end is still being written, but only who was allowed to read on knows that it is one. */
function whyIncomplete({ map, read, size }: ProcessMap, most: number): string | undefined {
  if (map.full) return TOO_MANY;
  return size - read > Math.min(most, MAX_LINE_BYTES) ? BEING_READ : undefined;
}

function emptyMap(): ProcessMap {
  return {
    map: new CodeMap(),
    device: 0,
    inode: 0,
    written: 0,
    size: 0,
    read: 0,
    tail: Buffer.alloc(0),
    start: undefined,
    program: undefined,
    checkedAt: Number.NEGATIVE_INFINITY,
    usedAt: Number.NEGATIVE_INFINITY,
    restsUntil: Number.NEGATIVE_INFINITY,
    rest: FIRST_REST_MILLISECONDS,
    patience: CHECK_MILLISECONDS,
    changed: new Ranges(),
    everythingChanged: true,
    whyNot: undefined,
  };
}

/** Forgets the names of the program that the process ran before; its lines stay in the file, unless that is new. */
function forgetNames(process: ProcessMap): void {
  process.map.clear();
  process.everythingChanged = true;
}

/** Forgets what was read, since it is from another file or of another process. */
function forget(process: ProcessMap): void {
  forgetNames(process);
  process.read = 0;
  process.tail = Buffer.alloc(0);
}

/**
 * Takes in the lines that were appended since; all of them if the file is another one. Reads at most so many bytes,
 * and returns how many it did.
 */
function readOn(descriptor: number, process: ProcessMap, most: number): number {
  const stats = fstatSync(descriptor);
  if (
    stats.dev !== process.device ||
    stats.ino !== process.inode ||
    !continues(descriptor, process, stats)
  ) {
    forget(process);
    process.device = stats.dev;
    process.inode = stats.ino;
  }
  process.size = stats.size;
  process.written = stats.mtimeMs;
  const begin = process.read;
  const end = Math.min(stats.size, begin + most);
  if (begin >= end) return 0;
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
  process.changed = process.changed.overlaid(process.map.settle());
  return process.read - begin;
}

/** Says whether what was read is still there, so that reading can go on behind it. */
function continues(descriptor: number, process: ProcessMap, now: Stats): boolean {
  const { read, tail } = process;
  if (now.size < read) return false;
  // What is written without growing was written over.
  if (now.size === process.size) return now.mtimeMs === process.written;
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
