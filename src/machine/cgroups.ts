/**
 * Where processes run, by proc_pid_cgroup(5): one small read for each control group that is met.
 * The path is relative to our own cgroup namespace.
 */
import { type CgroupName, describeCgroup } from "./cgroup-names.ts";
import { readText } from "./read-text.ts";

/** What has to be known of a process to find its control group. */
interface Placed {
  readonly pid: number;
  readonly startTime: number;
  readonly cgroup: string;
}

/** So many names are kept; all are asked for again when there are more. */
const MAX_KEPT = 4000;

/** Finds the path that says most: that of the unified hierarchy, or one of version 1 where that is bare. */
export function cgroupPath(text: string): { path: string; isUnified: boolean } {
  const paths = text
    .split("\n")
    .map((line) => /^(\d+):([^:]*):(.*)$/.exec(line))
    .filter((match) => match !== null);
  const unified = paths.find((match) => match[1] === "0")?.[3] ?? "";
  const isAlone = paths.length === 1 && unified !== "";
  if (isAlone || (unified !== "" && unified !== "/")) return { path: unified, isUnified: true };
  const named = paths.find((match) => match[2] === "name=systemd" && match[3] !== "/");
  const path = (named ?? paths.find((match) => match[3] !== "/"))?.[3] ?? "";
  return { path, isUnified: false };
}

const readCgroup = (pid: number): string => readText(`/proc/${pid}/cgroup`) ?? "";

/** Short names of control groups, each asked for once. */
export class CgroupNames {
  readonly #read: (pid: number) => string;
  readonly #byGroup = new Map<string, CgroupName>();
  /** Names by process, where the unified hierarchy says nothing. */
  readonly #byProcess = new Map<string, CgroupName>();

  constructor(read: (pid: number) => string = readCgroup) {
    this.#read = read;
  }

  /** Describes the group of a process; empty where there is none, or where it is gone and was alone. */
  describe({ pid, startTime, cgroup }: Placed): CgroupName {
    const key = `${pid} ${startTime}`;
    const known = this.#byGroup.get(cgroup) ?? this.#byProcess.get(key);
    if (known !== undefined) return known;
    const text = this.#read(pid);
    const { path, isUnified } = cgroupPath(text);
    const name = describeCgroup(path);
    for (const kept of [this.#byGroup, this.#byProcess]) if (kept.size > MAX_KEPT) kept.clear();
    // A process that is gone says nothing about its group.
    if (isUnified && text !== "") this.#byGroup.set(cgroup, name);
    else this.#byProcess.set(key, name);
    return name;
  }
}
