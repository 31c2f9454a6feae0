/** What /proc says of a process of this machine. */
import { existsSync, readFileSync } from "node:fs";

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
