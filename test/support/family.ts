/** Who started whom among the processes that run. */
import { readdirSync, readFileSync } from "node:fs";

/** The processes that a process has started and that still run; throws where it has ended. */
export function childrenOf(pid: number): number[] {
  return readdirSync(`/proc/${pid}/task`).flatMap((thread) => {
    try {
      const children = readFileSync(`/proc/${pid}/task/${thread}/children`, "latin1");
      return children.split(" ").filter(Boolean).map(Number);
    } catch {
      // It has ended.
      return [];
    }
  });
}

/** A process and all below it; throws where one of them ends meanwhile. */
export const family = (pid: number): number[] => [pid, ...childrenOf(pid).flatMap(family)];
