/** What /proc says of a process of this machine. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { readLink } from "./read-text.ts";

/**
 * The fields of proc_pid_stat(5) behind the name of the process, which is in parentheses and may hold
 * anything; the first of them is the state. Undefined where there is no such process.
 */
export function statFields(pid: number, proc = "/proc"): string[] | undefined {
  try {
    const stat = readFileSync(`${proc}/${pid}/stat`, "latin1");
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  } catch {
    return undefined;
  }
}

/** Threads that end while they are looked at are passed by; nobody has so many of them. */
const MAX_THREADS = 64;

/**
 * The folder of a process in /proc that tells of its root, mounts, mappings and descriptors: its own one, or that of
 * another of its threads where the first one has ended (pthread_exit(3) in main), which let go of them then.
 */
export function livingFolder(pid: number, proc = "/proc"): string {
  const own = `${proc}/${pid}`;
  if (readLink(`${own}/root`) !== undefined) return own;
  const living = threadsOf(own).find((thread) => readLink(`${own}/task/${thread}/root`));
  return living === undefined ? own : `${proc}/${living}`;
}

function threadsOf(folder: string): string[] {
  try {
    return readdirSync(`${folder}/task`).slice(0, MAX_THREADS);
  } catch {
    return [];
  }
}

/** Whether a process is there. */
export const isAlive = (pid: number): boolean => existsSync(`/proc/${pid}`);

/** The name of a process, as it chose it; undefined where it is gone. */
export function nameOf(pid: number, proc = "/proc"): string | undefined {
  try {
    return readFileSync(`${proc}/${pid}/comm`, "utf8").replace(/\n$/, "");
  } catch {
    return undefined;
  }
}
