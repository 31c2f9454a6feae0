/** What the kernel says of the time of CPUs and of processes. */
import { readFileSync, writeFileSync } from "node:fs";
import { statFields } from "../../src/machine/process.ts";
import { TICKS_PER_SECOND } from "../../src/machine/process-start.ts";

/** Seconds in which CPUs were busy, all of them added: user, nice, system, irq and softirq of proc_stat(5). */
export function busySeconds(): number {
  const [line = ""] = readFileSync("/proc/stat", "utf8").split("\n");
  const [user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0] = line
    .trim()
    .split(/\s+/)
    .slice(1)
    .map(Number);
  return (user + nice + system + irq + softirq) / TICKS_PER_SECOND;
}

/** Seconds in which a CPU was idle, whether something waited for a disk or not. */
export function idleSeconds(cpu: number): number {
  const line = new RegExp(`^cpu${cpu} .*$`, "m").exec(readFileSync("/proc/stat", "utf8"))?.[0];
  const [idle = 0, waiting = 0] = (line ?? "").split(/\s+/).slice(4, 6).map(Number);
  return (idle + waiting) / TICKS_PER_SECOND;
}

/** CPU time of a process, all of its threads added. */
export function processSeconds(pid: number): number {
  const fields = statFields(pid) ?? [];
  return (Number(fields[11] ?? 0) + Number(fields[12] ?? 0)) / TICKS_PER_SECOND;
}

/** Local timer interrupts of all CPUs since the boot. */
export function timerInterrupts(): number {
  const line = /^\s*LOC:(.*)$/m.exec(readFileSync("/proc/interrupts", "utf8"))?.[1] ?? "";
  return [...line.matchAll(/\d+/g)].reduce((sum, [number]) => sum + Number(number), 0);
}

const RPS = "/sys/class/net/lo/queues/rx-0/rps_cpus";

/** Runs `use` while the second CPU takes in what the loopback device receives; throws where that cannot be set. */
export async function withSteeredLoopback<T>(use: () => Promise<T>): Promise<T> {
  const before = readFileSync(RPS, "utf8");
  writeFileSync(RPS, "2");
  try {
    return await use();
  } finally {
    writeFileSync(RPS, before);
  }
}

/** A CPU that can be taken away and given back. */
export const SECOND_CPU = "/sys/devices/system/cpu/cpu1/online";
