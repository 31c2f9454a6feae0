import { readFileSync } from "node:fs";

/** The unit of times in /proc, a part of a second: USER_HZ of include/asm-generic/param.h. */
export const TICKS_PER_SECOND = 100;

/** Start of a process in clock ticks since boot, field 22 of proc_pid_stat(5); undefined if there is none. */
export function startOfProcess(pid: number, proc = "/proc"): string | undefined {
  try {
    const stat = readFileSync(`${proc}/${pid}/stat`, "latin1");
    // The name in parentheses may hold spaces and parentheses itself.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    // A main thread that has ended stays as a zombie as long as others run: it counts itself among them.
    const isOver = fields[0] === "Z" || fields[0] === "X";
    return isOver && !(Number(fields[17]) > 1) ? undefined : fields[19];
  } catch {
    return undefined;
  }
}
