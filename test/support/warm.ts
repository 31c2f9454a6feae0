/** Has the files of programs in memory: on a machine that was just made, each first read is one of its slow disk. */
import { spawnSync } from "node:child_process";
import { readFileSync, statSync } from "node:fs";

const known = new Set<string>();

/** Whether a file is on a disk: others may never answer. */
function isOnDisk(path: string, device: string): boolean {
  if (device.startsWith("00:")) return false;
  try {
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

/** The files whose code a process has mapped; none where it has ended. */
function mappedFiles(pid: number): string[] {
  try {
    const lines = readFileSync(`/proc/${pid}/maps`, "utf8").split("\n");
    return lines.flatMap((line) => {
      const [, rights = "", , device = "", , path = ""] = line.split(/\s+/);
      return rights.includes("x") && path.startsWith("/") && isOnDisk(path, device) ? [path] : [];
    });
  } catch {
    return [];
  }
}

/** Reads the files that these processes run, once. */
export function warm(pids: readonly number[]): void {
  const files = [...new Set(pids.flatMap(mappedFiles))].filter((path) => !known.has(path));
  for (const path of files) known.add(path);
  if (files.length > 0) spawnSync("cat", ["--", ...files], { stdio: "ignore" });
}
