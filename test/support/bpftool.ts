/** What is loaded in the kernel: all of it as bpftool lists it, that of a process by its descriptors. */
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { Lacking } from "./measure.ts";

const PATH = "/usr/sbin/bpftool";

/** A program or a map. */
export interface Loaded {
  readonly id: number;
  readonly name?: string;
  readonly type: string;
}

/** All programs or maps of the machine. */
export function loaded(kind: "prog" | "map"): Loaded[] {
  if (!existsSync(PATH)) throw new Lacking("bpftool is not installed");
  const { stdout, stderr } = spawnSync(PATH, [kind, "show", "-j"], { encoding: "utf8" });
  if (stdout.trim() === "") throw new Lacking(`bpftool: ${stderr.trim()}`);
  return JSON.parse(stdout) as Loaded[];
}

/** What /proc/PID/fdinfo says of the descriptors of a process that are BPF programs or maps, by id. */
function descriptors(pid: number, key: "prog_id" | "map_id"): Map<number, string> {
  const folder = `/proc/${pid}/fdinfo/`;
  const found = new Map<number, string>();
  for (const fd of readdirSync(folder)) {
    try {
      const text = readFileSync(folder + fd, "latin1");
      const id = field(text, key);
      // Links name their program too, without anything about it.
      if (id !== undefined && text.includes("memlock:")) found.set(id, text);
    } catch {
      // closed meanwhile
    }
  }
  return found;
}

function field(text: string, key: string): number | undefined {
  const value = new RegExp(`^${key}:\\s*(\\d+)`, "m").exec(text)?.[1];
  return value === undefined ? undefined : Number(value);
}

/** Bytes of kernel memory of the maps that a process holds, as the kernel counts them. */
export function mapBytes(pid: number): number {
  let bytes = 0;
  for (const text of descriptors(pid, "map_id").values()) bytes += field(text, "memlock") ?? 0;
  return bytes;
}

/** Whether a map that a process holds has an entry with the number of another process for its key. */
export function hasEntryOf(holder: number, name: string, pid: number): boolean {
  const ids = descriptors(holder, "map_id");
  const map = loaded("map").find((it) => it.name === name && ids.has(it.id));
  if (!map) throw new Lacking(`there is no map ${name}`);
  const key = [pid, pid >> 8, pid >> 16, pid >> 24].map((byte) => String(byte & 255));
  return spawnSync(PATH, ["map", "lookup", "id", String(map.id), "key", ...key]).status === 0;
}

/** Time that the programs of a process have run for; counted while withStats() is in force. */
export function runNanoseconds(pid: number): number {
  let nanoseconds = 0;
  for (const text of descriptors(pid, "prog_id").values()) {
    nanoseconds += field(text, "run_time_ns") ?? 0;
  }
  return nanoseconds;
}

const STATS = "/proc/sys/kernel/bpf_stats_enabled";

/** Turns the kernel's statistics of BPF programs on while `use` runs. */
export async function withStats<T>(use: () => Promise<T>): Promise<T> {
  const before = readFileSync(STATS, "utf8");
  const restore = (): void => writeFileSync(STATS, before);
  writeFileSync(STATS, "1");
  process.once("exit", restore);
  try {
    return await use();
  } finally {
    process.off("exit", restore);
    restore();
  }
}
