/** Tests run side by side, and several of them want the same program: one builds it, the others wait. */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { root } from "./polytop.ts";

const folder = `${root}build/locks`;

const LOOK_AGAIN_MILLISECONDS = 100;

/** Whether this call took the lock, whose file holds the pid of the process that has it. */
function isTaken(path: string): boolean {
  try {
    writeFileSync(path, String(process.pid), { flag: "wx" });
    return true;
  } catch {
    return false;
  }
}

/** Removes a lock that a process left behind when it was killed. */
function removeAbandoned(path: string): void {
  try {
    const pid = Number(readFileSync(path, "utf8"));
    if (pid > 0) process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ESRCH") rmSync(path, { force: true });
  }
}

/** Runs `build` while no other process of the tests runs one of this name; waits for those that do. */
export function exclusively<T>(name: string, build: () => T): T {
  mkdirSync(folder, { recursive: true });
  const path = `${folder}/${name}`;
  const never = new Int32Array(new SharedArrayBuffer(4));
  while (!isTaken(path)) {
    removeAbandoned(path);
    Atomics.wait(never, 0, 0, LOOK_AGAIN_MILLISECONDS);
  }
  try {
    return build();
  } finally {
    rmSync(path, { force: true });
  }
}
