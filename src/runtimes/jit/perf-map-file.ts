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
import { readText } from "../../machine/read-text.ts";

const MAX_UNREAD_BYTES = 32 * 1024 * 1024;
/** The clocks of files, of processes and of this program may differ by this. */
const STALE_MILLISECONDS = 2000;

/** A compiler opens its map early: it is among the first descriptors of its process. */
const MAX_DESCRIPTORS = 256;

/** Linux's O_PATH, which Node does not name, refers to a file without opening it. */
const O_PATH = 0o10000000;
/** Types of file systems that wait for another process or machine (native/mapped/remote_file.cpp has their numbers). */
const REMOTE = /^(fuse|fuseblk|nfs4?|cifs|smb3|9p|ceph|afs|coda|gpfs|lustre|virtiofs)(\.|$)/;

const ABSENT = "generated code, and its process writes no /tmp/perf-PID.map";
export const GONE = "generated code of a process that is gone";
const LINKED = "generated code; the /tmp of its process is a link, which is not followed";

/** A file that is there and that must not be read, and why. */
export class Refusal extends Error {}

/**
 * Opens /tmp/perf-PID.map of a process for reading; `folder` is the process's in /proc, `start` what startOfProcess()
 * says of it, `read` how many bytes of the file were read before. Throws a Refusal.
 *
 * The process chooses what lies there, so nothing is followed: neither its /tmp nor the file may be a link, which
 * would be one of this program's own root; and each is looked at before it is opened, as opening a FIFO waits,
 * opening a device does what the device likes, and whatever touches a file system that another process or machine
 * answers for may wait for ever.
 */
export function openPerfMap(folder: string, start: string | undefined, read: number): number {
  try {
    return open(folder, readStatus(folder), start, read);
  } catch (error) {
    throw error instanceof Refusal ? error : new Refusal(whyNotReadable(error));
  }
}

function open(process: string, status: string, start: string | undefined, read: number): number {
  const opened: number[] = [];
  let known: string | undefined;
  const refer = (path: string, flags: number): number => {
    const descriptor = openSync(path, O_PATH | flags);
    opened.push(descriptor);
    const mount = mountOf(descriptor);
    // A file that is referred to stays the same, whatever is put in its place.
    const type = mount === known ? undefined : fileSystemType(mount, process);
    known = mount;
    if (type !== undefined && REMOTE.test(type)) {
      throw new Refusal(
        `generated code; the /tmp of its process is on ${type}, which is not waited for`,
      );
    }
    return descriptor;
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
    if (!isHeldOpen(process, `/tmp/${name}`)) refuseUnlessRecent(stats, name, start);
    return openSync(`/proc/self/fd/${file}`, constants.O_RDONLY | constants.O_NONBLOCK);
  } finally {
    for (const descriptor of opened) closeSync(descriptor);
  }
}

const within = (folder: number, name: string): string => `/proc/self/fd/${folder}/${name}`;

/** The number of the mount that a descriptor is in; undefined where it is not told. */
const mountOf = (descriptor: number): string | undefined =>
  /^mnt_id:\s*(\d+)/m.exec(readFileSync(`/proc/self/fdinfo/${descriptor}`, "latin1"))?.[1];

/** Finds the type of the file system of a mount without asking that; undefined where it is not told. */
function fileSystemType(mount: string | undefined, process: string): string | undefined {
  for (const table of [`${process}/mountinfo`, "/proc/self/mountinfo"]) {
    const type = new RegExp(`^${mount} .* - (\\S+)`, "m").exec(
      readText(table, "latin1") ?? "",
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
 * A file that nobody holds open is judged by its time. The clock may have been set since: a time that has not come yet
 * says nothing.
 */
function refuseUnlessRecent({ mtimeMs }: Stats, name: string, start: string | undefined): void {
  if (mtimeMs + STALE_MILLISECONDS < startTime(start))
    throw new Refusal(`/tmp/${name} was left by an earlier process`);
  if (mtimeMs > Date.now() + STALE_MILLISECONDS)
    throw new Refusal(
      `/tmp/${name} was written when the clock was ahead: whose it is cannot be told`,
    );
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

function readStatus(folder: string): string {
  try {
    return readFileSync(`${folder}/status`, "latin1");
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
