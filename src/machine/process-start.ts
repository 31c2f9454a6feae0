/** When processes began: it tells one from another that gets its pid. */
import { statFields } from "./process.ts";

/** Clock ticks a second of the times in /proc: USER_HZ of include/asm-generic/param.h. */
export const TICKS_PER_SECOND = 100;

/** Start of a process in clock ticks since boot, field 22 of proc_pid_stat(5); undefined if there is none. */
export const startOfProcess = (pid: number, proc?: string): string | undefined =>
  startIn(statFields(pid, proc));

function startIn(fields: readonly string[] | undefined): string | undefined {
  // A main thread that has ended stays as a zombie as long as others run: it counts itself among them.
  const isOver = fields?.[0] === "Z" || fields?.[0] === "X";
  return isOver && !(Number(fields?.[17]) > 1) ? undefined : fields?.[19];
}

/** Identifies a process, and what it runs. */
export interface RunningProgram {
  /** As startOfProcess() says. */
  readonly start: string;
  /**
   * Identifies the program: exec keeps the pid and the start of the process. It is where the code and the stack of the
   * program begin, fields 26 and 28 of proc_pid_stat(5), which address space randomization chooses anew.
   */
  readonly program: string;
}

/** What a process runs; undefined if there is none. */
export function runningProgram(pid: number, proc?: string): RunningProgram | undefined {
  const fields = statFields(pid, proc);
  const start = startIn(fields);
  return start === undefined ? undefined : { start, program: `${fields?.[23]} ${fields?.[25]}` };
}
