/** Opens the /tmp/perf-PID.map of a process, which may be anything: the process put it there. */

import {
  closeSync,
  constants,
  fstatSync,
  opendirSync,
  openSync,
  readFileSync,
  readlinkSync,
  type Stats,
} from "node:fs";
import { uptime } from "node:os";
import { TICKS_PER_SECOND } from "../../machine/process-start.ts";
import { readStart } from "../../machine/read-text.ts";

const MAX_UNREAD_BYTES = 32 * 1024 * 1024;
/** The clocks of files, of processes and of this program may differ by this. */
const STALE_MILLISECONDS = 2000;

/** A compiler opens its map early: it is among the first descriptors of its process. */
const MAX_DESCRIPTORS = 256;

const MAX_MOUNT_BYTES = 1 << 20;

/** Linux's O_PATH, which Node does not name, refers to a file without opening it. */
const O_PATH = 0o10000000;
/** Types of file systems that wait for another process or machine (native/mapped/remote_file.cpp has their numbers). */
const REMOTE = /^(fuse|fuseblk|nfs4?|cifs|smb3|9p|ceph|afs|coda|gpfs|lustre|virtiofs)(\.|$)/;

const ABSENT =
  "code of no file, generated or unpacked by its process, which writes no /tmp/perf-PID.map";
export const GONE = "generated code of a process that is gone";
const LINKED = "generated code; the /tmp of its process is a link, which is not followed";

/** A file that is there and that must not be read, and why. */
export class Refusal extends Error {}

/** What a process says of itself. */
export interface ProcessFacts {
  /** Its folder in /proc that tells of its root, as livingFolder() says. */
  readonly folder: string;
  /** The text of its `status`. */
  readonly status: string;
  /** When it started, as startOfProcess() says. */
  readonly start: string | undefined;
}

/**
 * Opens /tmp/perf-PID.map of a process for reading; `read` is how many bytes of the file were read before. Throws a
 * Refusal.
 *
 * The process chooses what lies there, so nothing is followed: neither its /tmp nor the file may be a link, which
 * would be one of this program's own root; and each is looked at before it is opened, as opening a FIFO waits,
 * opening a device does what the device likes, and whatever touches a file system that another process or machine
 * answers for may wait for ever.
 */
export function openPerfMap(process: ProcessFacts, read: number): number {
  try {
    return open(process, read);
  } catch (error) {
    throw error instanceof Refusal ? error : new Refusal(whyNotReadable(error));
  }
}

function open({ folder: process, status, start }: ProcessFacts, read: number): number {
  const opened: number[] = [];
  let known: string | undefined;
  const refer = (path: string, flags: number): number => {
    const descriptor = openSync(path, O_PATH | flags);
    opened.push(descriptor);
    const mount = mountOf(descriptor);
    // A file that is referred to stays the same, whatever is put in its place.
    if (mount !== undefined && mount === known) return descriptor;
    const type = fileSystemType(mount, process);
    known = mount;
    if (type !== undefined && !REMOTE.test(type)) return descriptor;
    // A process whose root lies within a mount is not told of that mount: nothing says who answers for it.
    const what = type ?? "a file system that is not told";
    throw new Refusal(
      `generated code; the /tmp of its process is on ${what}, which is not waited for`,
    );
  };
  try {
    const top = refer(`${process}/root`, constants.O_DIRECTORY);
    const folder = refer(within(top, "tmp"), constants.O_DIRECTORY | constants.O_NOFOLLOW);
    const name = `perf-${innermostPid(status)}.map`;
    const file = refer(within(folder, name), constants.O_NOFOLLOW);
    const stats = fstatSync(file);
    refuseUnlessTrusted(stats, name, effectiveUid(status));
    // One that was followed from its beginning may grow for as long as its process compiles.
    if (stats.size - read > MAX_UNREAD_BYTES)
      throw new Refusal(`/tmp/${name} is larger than 32 MB`);
    const doubt = doubtOf(stats, name, start);
    if (doubt !== undefined && !isHeldOpen(process, `/tmp/${name}`)) throw new Refusal(doubt);
    return openToRead(`/proc/self/fd/${file}`);
  } finally {
    for (const descriptor of opened) closeSync(descriptor);
  }
}

const within = (folder: number, name: string): string => `/proc/self/fd/${folder}/${name}`;

/** The number of the mount that a descriptor is in; undefined where it is not told. */
const mountOf = (descriptor: number): string | undefined =>
  /^mnt_id:\s*(\d+)/m.exec(readFileSync(`/proc/self/fdinfo/${descriptor}`, "latin1"))?.[1];

/**
 * Finds the type of the file system of a mount without asking that; undefined where it is not told. A user may have
 * 100,000 mounts.
 */
function fileSystemType(mount: string | undefined, process: string): string | undefined {
  for (const table of [`${process}/mountinfo`, "/proc/self/mountinfo"]) {
    const type = new RegExp(`^${mount} .* - (\\S+)`, "m").exec(
      readStart(table, MAX_MOUNT_BYTES) ?? "",
    )?.[1];
    if (type !== undefined) return type;
  }
  return undefined;
}

/**
 * Whether a process has the file open: then it is its own, whatever the clocks say. The links of its descriptors are
 * read and not followed.
 */
function isHeldOpen(process: string, path: string): boolean {
  const descriptors = `${process}/fd`;
  try {
    const folder = opendirSync(descriptors);
    try {
      for (let seen = 0; seen < MAX_DESCRIPTORS; seen++) {
        const entry = folder.readSync();
        if (entry === null) return false;
        if (readlinkSync(`${descriptors}/${entry.name}`) === path) return true;
      }
    } finally {
      folder.closeSync();
    }
  } catch {
    // The process ends, or its descriptors are not told.
  }
  return false;
}

/**
 * Why a file that nobody holds open is not taken for the process's own, by its time; undefined where it is. The clock
 * may have been set since: a time that has not come yet says nothing.
 */
function doubtOf({ mtimeMs }: Stats, name: string, start: string | undefined): string | undefined {
  if (mtimeMs + STALE_MILLISECONDS < startTime(start))
    return `/tmp/${name} was left by an earlier process`;
  if (mtimeMs > Date.now() + STALE_MILLISECONDS)
    return `/tmp/${name} was written when the clock was ahead: whose it is cannot be told`;
  return undefined;
}

/**
 * Opens a file without changing when it was read last, where that may be: to write that down, ext4 waits for a journal
 * that others keep busy.
 */
function openToRead(path: string): number {
  const flags = constants.O_RDONLY | constants.O_NONBLOCK;
  try {
    return openSync(path, flags | constants.O_NOATIME);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EPERM") throw error;
    return openSync(path, flags);
  }
}

/** Milliseconds since 1970; 0 where it is not known. */
function startTime(start: string | undefined): number {
  if (start === undefined) return 0;
  return Date.now() - 1000 * (uptime() - Number(start) / TICKS_PER_SECOND);
}

function refuseUnlessTrusted(stats: Stats, name: string, uid: number): void {
  if (!stats.isFile()) throw new Refusal(`/tmp/${name} of the process is not a regular file`);
  if (stats.uid !== uid && stats.uid !== 0) {
    throw new Refusal(`/tmp/${name} belongs to user ${stats.uid}, the process to user ${uid}`);
  }
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

/** Who started a process, by the text of its `status`: the rights that a program has may be others. */
export function userOfStatus(status: string): number | undefined {
  const uid = /^Uid:\s*(\d+)/m.exec(status)?.[1];
  return uid === undefined ? undefined : Number(uid);
}

function whyNotReadable(error: unknown): string {
  const code = (error as NodeJS.ErrnoException).code;
  if (code === "ENOENT" || code === "ESRCH") return ABSENT;
  if (code === "ELOOP" || code === "ENOTDIR") return LINKED;
  return `generated code; the /tmp/perf-PID.map of its process cannot be read: ${code ?? String(error)}`;
}
