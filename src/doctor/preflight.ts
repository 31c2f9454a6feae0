/** What is checked before anything is sampled, with what the machine says in /proc. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { EXIT_CANNOT, UsageError, UserError } from "../tick/errors.ts";
import { diagnose, whyItCannotRun } from "./doctor.ts";
import { readFacts } from "./facts.ts";

export { checkNativeFiles } from "../machine/installation.ts";

/** Throws where `doctor` says that polytop cannot run, with the same words. */
export function checkMachine(root = "/"): void {
  const reason = whyItCannotRun(diagnose(readFacts(root)));
  if (reason !== undefined) throw new UserError(reason, EXIT_CANNOT);
}

/** Throws where one of the processes does not exist. */
export function checkPids(pids: readonly number[], root = "/"): void {
  for (const pid of pids) {
    let status: string;
    try {
      status = readFileSync(join(root, "proc", String(pid), "status"), "utf8");
    } catch {
      throw new UsageError(`--pid: there is no process ${pid}`);
    }
    // /proc holds threads too, although it does not list them.
    const process = Number(/^Tgid:\s*(\d+)/m.exec(status)?.[1] ?? pid);
    if (process !== pid) {
      throw new UsageError(`--pid: ${pid} is a thread of process ${process}: use -p ${process}`);
    }
  }
}

/** The frequency that the kernel allows, and what to say when it is not the one asked for. */
export function clampFrequency(
  wanted: number,
  root = "/",
): { frequency: number; notice: string | undefined } {
  let most = Number.NaN;
  try {
    most = Number(readFileSync(join(root, "proc/sys/kernel/perf_event_max_sample_rate"), "utf8"));
  } catch {
    // The kernel itself will say no.
  }
  if (!(most > 0 && wanted > most)) return { frequency: wanted, notice: undefined };
  const notice = `${wanted} Hz is above kernel.perf_event_max_sample_rate: samples at ${most} Hz`;
  return { frequency: most, notice };
}
