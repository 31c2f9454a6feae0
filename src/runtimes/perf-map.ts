/**
 * Names that JIT compilers other than .NET's leave for profilers: /tmp/perf-PID.map, a line
 * `start size name` (hexadecimal, hexadecimal, the rest) for each function, appended to as code
 * is compiled (tools/perf/Documentation/jit-interface.txt of Linux).
 */

import {
  closeSync,
  constants,
  fstatSync,
  openSync,
  readFileSync,
  readSync,
  type Stats,
} from "node:fs";
import { CodeMap } from "./code-map.ts";

/** The name of an address, or the reason why there is none. */
export type PerfMapName =
  | { readonly name: string; readonly whyUnnamed?: undefined }
  | { readonly whyUnnamed: string };

export interface PerfMapsOptions {
  readonly proc?: string;
  /** Milliseconds, on a clock that does not go back. */
  readonly now?: () => number;
}

const MAX_FILE_BYTES = 32 * 1024 * 1024;
/** What is kept at once, of as many processes as that holds. */
const MAX_PROCESSES = 256;
const MAX_MEMORY_BYTES = 64 * 1024 * 1024;
const CHECK_MILLISECONDS = 1000;
/** Most that one look-up reads: the rest follows with later ones. */
const MAX_READ_BYTES = 16 * 1024 * 1024;
const CHUNK_BYTES = 256 * 1024;
/** So many bytes before the place where reading goes on must be what they were: the file was only appended to. */
const TAIL_BYTES = 64;
const MAX_LINE_BYTES = 64 * 1024;

/** Linux's O_PATH, which Node does not name: refers to a file without opening it. */
const O_PATH = 0o10000000;
const REFER = O_PATH | constants.O_NOFOLLOW;
const NEWLINE = 10;

const ABSENT = "generated code, and its process writes no /tmp/perf-PID.map";
const GONE = "generated code of a process that is gone";
const TOO_MANY =
  "generated code; the /tmp/perf-PID.map of its process has more entries than are kept";
const LINKED = "generated code; the /tmp of its process is a link, which is not followed";
const NOT_HELD = "generated code that its process has not put into /tmp/perf-PID.map";

interface ProcessMap {
  readonly map: CodeMap;
  /** Which file was read, to tell when another one is in its place. */
  device: number;
  inode: number;
  /** Bytes read and taken in, whole lines only. */
  read: number;
  tail: Buffer;
  checkedAt: number;
  whyNot: string | undefined;
}

/** The perf maps of processes, each read when one of its addresses is asked for, and on as it grows. */
export class PerfMaps {
  readonly #proc: string;
  readonly #now: () => number;
  readonly #processes = new Map<number, ProcessMap>();

  constructor(options: PerfMapsOptions = {}) {
    this.#proc = options.proc ?? "/proc";
    this.#now = options.now ?? (() => performance.now());
  }

  /**
   * The function of a process that holds the address. A file that has grown is read on, at most once a second.
   * A process that is gone keeps the names that are known, until `drop`.
   */
  resolve(pid: number, address: bigint): PerfMapName {
    const process = this.#process(pid);
    const now = this.#now();
    if (now - process.checkedAt >= CHECK_MILLISECONDS) {
      process.checkedAt = now;
      this.#update(pid, process);
      this.#makeRoom();
    }
    const name = process.map.find(Number(address));
    return name === undefined ? { whyUnnamed: process.whyNot ?? NOT_HELD } : { name };
  }

  /** Forgets a process: it is gone, or runs another program now. */
  drop(pid: number): void {
    this.#processes.delete(pid);
  }

  /** Forgets all processes but these. */
  keepOnly(pids: ReadonlySet<number>): void {
    for (const pid of this.#processes.keys()) {
      if (!pids.has(pid)) this.#processes.delete(pid);
    }
  }

  get memoryBytes(): number {
    let bytes = 0;
    for (const { map } of this.#processes.values()) bytes += map.memoryBytes;
    return bytes;
  }

  #process(pid: number): ProcessMap {
    // The one asked for last is the last to go.
    const process = this.#processes.get(pid) ?? emptyMap();
    this.#processes.delete(pid);
    this.#processes.set(pid, process);
    return process;
  }

  /** Forgets the processes that nobody asked for longest, until the rest is small enough. */
  #makeRoom(): void {
    let bytes = this.memoryBytes;
    for (const [pid, { map }] of this.#processes) {
      const enough = this.#processes.size <= MAX_PROCESSES && bytes <= MAX_MEMORY_BYTES;
      if (enough || this.#processes.size === 1) return;
      bytes -= map.memoryBytes;
      this.#processes.delete(pid);
    }
  }

  #update(pid: number, process: ProcessMap): void {
    try {
      const status = readStatus(`${this.#proc}/${pid}/status`);
      const descriptor = openMap(`${this.#proc}/${pid}/root/tmp`, status);
      try {
        readOn(descriptor, process);
        process.whyNot = process.map.full ? TOO_MANY : undefined;
      } finally {
        closeSync(descriptor);
      }
    } catch (error) {
      process.whyNot = error instanceof Refusal ? error.message : whyNotReadable(error);
    }
  }
}

/** A file that is there and that must not be read, and why. */
class Refusal extends Error {}

function readStatus(path: string): string {
  try {
    return readFileSync(path, "latin1");
  } catch {
    throw new Refusal(GONE);
  }
}

function whyNotReadable(error: unknown): string {
  const code = (error as NodeJS.ErrnoException).code;
  if (code === "ENOENT" || code === "ESRCH") return ABSENT;
  if (code === "ELOOP" || code === "ENOTDIR") return LINKED;
  return `generated code; the /tmp/perf-PID.map of its process cannot be read: ${code ?? String(error)}`;
}

function emptyMap(): ProcessMap {
  return {
    map: new CodeMap(),
    device: 0,
    inode: 0,
    read: 0,
    tail: Buffer.alloc(0),
    checkedAt: Number.NEGATIVE_INFINITY,
    whyNot: undefined,
  };
}

/**
 * Opens the map in `folder`, the /tmp of a process as seen through its root. The process chooses what lies
 * there, so nothing is followed: neither the folder nor the file may be a link, which would be one of this
 * program's own root; and each is looked at before it is opened, as opening a FIFO waits and opening a device does
 * what the device likes.
 */
function openMap(folder: string, status: string): number {
  const folderDescriptor = openSync(folder, REFER | constants.O_DIRECTORY);
  try {
    const name = `perf-${innermostPid(status)}.map`;
    const file = openSync(`/proc/self/fd/${folderDescriptor}/${name}`, REFER);
    try {
      refuseUnlessTrusted(fstatSync(file), name, effectiveUid(status));
      return openSync(`/proc/self/fd/${file}`, constants.O_RDONLY | constants.O_NONBLOCK);
    } finally {
      closeSync(file);
    }
  } finally {
    closeSync(folderDescriptor);
  }
}

function refuseUnlessTrusted(stats: Stats, name: string, uid: number): void {
  if (!stats.isFile()) throw new Refusal(`/tmp/${name} of the process is not a regular file`);
  if (stats.uid !== uid && stats.uid !== 0) {
    throw new Refusal(`/tmp/${name} belongs to user ${stats.uid}, the process to user ${uid}`);
  }
  if (stats.size > MAX_FILE_BYTES) throw new Refusal(`/tmp/${name} is larger than 32 MB`);
}

/** The pid in the innermost pid namespace: the one that the process itself knows (proc_pid_status(5)). */
function innermostPid(status: string): number {
  const pids = /^NSpid:\s*(.*)$/m.exec(status)?.[1]?.trim().split(/\s+/) ?? [];
  const pid = Number(pids.at(-1));
  if (!Number.isInteger(pid) || pid <= 0) throw new Refusal("the process does not say its pid");
  return pid;
}

function effectiveUid(status: string): number {
  const uid = /^Uid:\s*\d+\s+(\d+)/m.exec(status)?.[1];
  if (uid === undefined) throw new Refusal("the process does not say its user");
  return Number(uid);
}

/** Takes in the lines that were appended since; all of them if the file is another one. */
function readOn(descriptor: number, process: ProcessMap): void {
  const stats = fstatSync(descriptor);
  if (
    stats.dev !== process.device ||
    stats.ino !== process.inode ||
    !continues(descriptor, process, stats.size)
  ) {
    process.map.clear();
    process.read = 0;
    process.tail = Buffer.alloc(0);
    process.device = stats.dev;
    process.inode = stats.ino;
  }
  const end = Math.min(stats.size, MAX_FILE_BYTES, process.read + MAX_READ_BYTES);
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
}

/** Whether what was read is still there, so that reading can go on behind it. */
function continues(descriptor: number, { read, tail }: ProcessMap, size: number): boolean {
  if (size < read) return false;
  const again = Buffer.alloc(tail.length);
  const got = readSync(descriptor, again, 0, tail.length, read - tail.length);
  return got === tail.length && again.equals(tail);
}

/** Bytes of whole lines; the half line at the end, still being written, is left for the next time. */
function takeLines(map: CodeMap, bytes: Buffer): number {
  let start = 0;
  for (let end = bytes.indexOf(NEWLINE); end >= 0; end = bytes.indexOf(NEWLINE, start)) {
    map.addLine(bytes, start, end);
    start = end + 1;
  }
  // A line that long is no function's; without this it would be read again for ever.
  return start === 0 && bytes.length >= MAX_LINE_BYTES ? bytes.length : start;
}
