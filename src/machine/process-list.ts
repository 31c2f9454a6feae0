/** Lists the processes of this machine: their names, and what they run. */
import { readdirSync } from "node:fs";
import { cleanName } from "../tick/clean-name.ts";
import { programWords, readCommandLine } from "./command-line.ts";
import { nameOf } from "./process.ts";

/** So many are read, the newest first: each takes some 20 µs, and somebody waits for a key. */
const MOST_READ = 2000;

/** A process of /proc. */
export interface ListedProcess {
  readonly pid: number;
  readonly comm: string;
  /** Its program, with the script, module or archive that an interpreter runs; empty for a thread of the kernel. */
  readonly command: string;
}

/** Lists them by their pids; one that ends meanwhile is left out. */
export function listProcesses(proc = "/proc"): ListedProcess[] {
  return readdirSync(proc)
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .sort((a, b) => b - a)
    .slice(0, MOST_READ)
    .flatMap((pid) => {
      const comm = nameOf(pid, proc);
      if (comm === undefined) return [];
      const words = programWords(readCommandLine(pid, proc) ?? []);
      return [{ pid, comm: cleanName(comm), command: cleanName(words.join(" ")) }];
    })
    .reverse();
}
