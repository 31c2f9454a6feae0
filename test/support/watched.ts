/** A polytop that is watched from outside while something happens to its machine. */
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { childrenOf } from "./family.ts";
import { cleanEnvironment, launcher } from "./polytop.ts";
import { type Snapshot, sleep } from "./profile.ts";

/** A refresh that it printed. */
export interface Seen {
  /** When it came, as performance.now() says. */
  readonly at: number;
  readonly snapshot: Snapshot;
}

/** `polytop --json` at its defaults. */
export class Watched {
  readonly #child: ReturnType<typeof spawn>;
  readonly #exited: Promise<void>;
  readonly #timer: NodeJS.Timeout;
  #count = 0;
  #stderr = "";
  #most = 0;

  constructor(onRefresh: (seen: Seen) => void, args: readonly string[] = []) {
    this.#child = spawn(launcher, ["--json", ...args], {
      env: { ...cleanEnvironment(), POLYTOP_BUDGET: undefined },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let line = "";
    this.#child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      const lines = (line + text).split("\n");
      line = lines.pop() ?? "";
      for (const it of lines) {
        this.#count++;
        onRefresh({ at: performance.now(), snapshot: JSON.parse(it) as Snapshot });
      }
    });
    this.#child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      this.#stderr += text;
    });
    this.#exited = new Promise((resolve) => this.#child.on("close", () => resolve()));
    this.#timer = setInterval(() => {
      this.#most = Math.max(this.#most, treeMegabytes(this.pid));
    }, 300);
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }
  /** The most that it and all that it started took. */
  get megabytes(): number {
    return this.#most;
  }
  /** Its error output. */
  get said(): string {
    return this.#stderr;
  }
  /** Its exit status; null while it runs, and where a signal ended it. */
  get status(): number | null {
    return this.#child.exitCode;
  }

  /** Waits for so many refreshes, at most two minutes. */
  async refreshes(count: number): Promise<void> {
    for (let wait = 0; wait < 1200 && this.#count < count; wait++) await sleep(0.1);
  }

  /** Ends it as the system would; resolves to the seconds that this took, at most 10. */
  async end(): Promise<number> {
    clearInterval(this.#timer);
    const begun = performance.now();
    this.#child.kill("SIGTERM");
    await Promise.race([this.#exited, sleep(10)]);
    this.#child.kill("SIGKILL");
    await this.#exited;
    return (performance.now() - begun) / 1000;
  }
}

/** The processes that a process has started, and those that these have, by their names. */
export function descendants(pid: number): { readonly pid: number; readonly comm: string }[] {
  const found: { pid: number; comm: string }[] = [];
  try {
    for (const child of childrenOf(pid)) {
      const comm = readFileSync(`/proc/${child}/comm`, "latin1").trimEnd();
      found.push({ pid: child, comm }, ...descendants(child));
    }
  } catch {
    // It ends.
  }
  return found;
}

type MemoryField = "VmRSS" | "RssAnon";

/** Resident memory of a process in MB, all of it or what is of no file (proc_pid_status(5)); throws once it has ended. */
export function residentMegabytes(pid: number, field: MemoryField = "VmRSS"): number {
  const status = readFileSync(`/proc/${pid}/status`, "latin1");
  return (1024 * Number(new RegExp(`^${field}:\\s*(\\d+)`, "m").exec(status)?.[1] ?? 0)) / 1e6;
}

/** Resident memory in MB of a process and all that it started. */
export function treeMegabytes(pid: number, field: MemoryField = "VmRSS"): number {
  let sum = 0;
  for (const it of [pid, ...descendants(pid).map((child) => child.pid)]) {
    try {
      sum += residentMegabytes(it, field);
    } catch {
      // It has ended.
    }
  }
  return sum;
}
