/**
 * Files that polytop writes. It runs as root in folders where others may write, too: nothing that somebody laid ready
 * there may lead its output elsewhere, or to who should not read it.
 */
import { randomBytes } from "node:crypto";
import {
  constants,
  fchownSync,
  lstatSync,
  openSync,
  realpathSync,
  type Stats,
  statSync,
} from "node:fs";
import { dirname } from "node:path";
import { sudoCaller } from "../machine/users.ts";

/** What is written holds names of processes, files and functions that others may not be meant to know. */
const OWNER_ONLY = 0o600;
/** A sticky folder, or one that others may write to. */
const SHARED = 0o1022;

/** Where something can be written. */
export interface Place {
  /** The path without links. */
  readonly path: string;
  /** It is a device or a pipe: it is written to, not replaced. */
  readonly isSpecial: boolean;
}

/** Finds where to write what is to be at a path; throws an Error that says why that cannot be. */
export function placeToWrite(path: string): Place {
  const named = lstatSync(path, { throwIfNoEntry: false });
  if (!named) return { path, isSpecial: false };
  refuseForeign(named, path);
  const meant = statSync(path, { throwIfNoEntry: false });
  if (meant?.isDirectory()) throw new Error("is a directory");
  if (meant && !meant.isFile()) return { path, isSpecial: true };
  if (!named.isSymbolicLink()) return { path, isSpecial: false };
  if (!meant) throw new Error("is a link to nothing");
  const target = realpathSync(path);
  refuseForeign(meant, target);
  return { path: target, isSpecial: false };
}

/** Refuses what another user put into a folder that is not theirs alone. */
function refuseForeign({ uid }: Stats, path: string): void {
  if (uid === 0 || uid === process.geteuid?.()) return;
  if ((statSync(dirname(path)).mode & SHARED) === 0) return;
  throw new Error(`it is there and belongs to user ${uid}, in a folder that others write to`);
}

/** A name beside a path that nobody can know before. */
export const nameBeside = (path: string): string => `${path}.${randomBytes(6).toString("hex")}.new`;

/**
 * Opens a file that is not there yet, for writing; it belongs to who called sudo, if somebody did. Throws what the
 * system says.
 */
export function createFile(path: string): number {
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
  const file = openSync(path, flags, OWNER_ONLY);
  const caller = sudoCaller(process.env);
  try {
    if (caller) fchownSync(file, caller.uid, caller.gid);
  } catch {
    // Without the right to give files away, or where a file system knows no owners, it stays root's.
  }
  return file;
}

/** Opens a device or a pipe for writing, without waiting for its reader; throws what the system says. */
export const openSpecial = (path: string): number =>
  openSync(path, constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
