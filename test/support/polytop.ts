/** Runs bin/polytop as a user would, in an environment that does not depend on the machine's. */
import { spawn } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { TestContext } from "vitest";
import { diagnose, whyItCannotRun } from "../../src/doctor/doctor.ts";
import { readFacts } from "../../src/doctor/facts.ts";

export const root = fileURLToPath(new URL("../..", import.meta.url));

/** The folder of an unpacked release, which is tested in place of what this clone built: `npm run release -- --test live`. */
const release = process.env.POLYTOP_RELEASE;
export const launcher = release ? `${release}/polytop` : `${root}bin/polytop`;
/** The folder of bundle, addon, BPF objects and programs. */
export const dist = release ? `${release}/lib/` : `${root}dist/`;

/** What a run left behind. */
export interface Finished {
  readonly status: number | null;
  readonly signal: string | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** How to run it. */
export interface RunOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** The program to run instead of bin/polytop. */
  readonly command?: string;
  /** Called with the pid once it runs, e.g. to send a signal. */
  readonly onStart?: (pid: number) => void;
  readonly onStdout?: (text: string, pid: number) => void;
  readonly timeoutMs?: number;
}

/** The environment of a test's child: CI would turn drawing off, colours would depend on the terminal. */
export function cleanEnvironment(more: Readonly<Record<string, string>> = {}): NodeJS.ProcessEnv {
  const { PATH, HOME } = process.env;
  // Tests sample at the rate they ask for, whatever that costs.
  return { PATH, HOME, LANG: "C.UTF-8", TERM: "xterm-256color", POLYTOP_BUDGET: "0", ...more };
}

/** Runs it to its end; a run that hangs is killed and has no status. */
export function polytop(args: readonly string[], options: RunOptions = {}): Promise<Finished> {
  const { command = launcher, env, onStart, onStdout, timeoutMs = 30_000 } = options;
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      env: cleanEnvironment(env),
      stdio: ["ignore", "pipe", "pipe"],
    });
    let stdout = "";
    let stderr = "";
    const timer = setTimeout(() => {
      stderr += `after ${timeoutMs} ms:\n${whatThreadsDo(child.pid ?? -1)}`;
      child.kill("SIGKILL");
    }, timeoutMs);
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      stdout += text;
      onStdout?.(text, child.pid ?? -1);
    });
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      stderr += text;
    });
    child.on("spawn", () => onStart?.(child.pid ?? -1));
    child.on("error", reject);
    child.on("close", (status, signal) => {
      clearTimeout(timer);
      resolve({ status, signal, stdout, stderr });
    });
  });
}

/** What each thread of a process that hangs does, and of those that it started: name, state, system call, kernel stack. */
function whatThreadsDo(pid: number): string {
  const read = (file: string): string => {
    try {
      return readFileSync(file, "latin1").trim();
    } catch {
      return "";
    }
  };
  const stateOf = (task: string): string =>
    /^State:\s*(.*)$/m.exec(read(`${task}/status`))?.[1] ?? "";
  let said = "";
  try {
    for (const tid of readdirSync(`/proc/${pid}/task`)) {
      const task = `/proc/${pid}/task/${tid}`;
      const stack = read(`${task}/stack`)
        .replace(/\[<0>\] |\+0x\S+/g, "")
        .split("\n")
        .join(" < ");
      said += `${tid} ${read(`${task}/comm`)}: ${stateOf(task)}, ${read(`${task}/syscall`)}, ${stack}\n`;
      for (const childPid of read(`${task}/children`).split(" ").filter(Boolean))
        said += whatThreadsDo(Number(childPid));
    }
  } catch {
    said += `${pid} has ended\n`;
  }
  return said;
}

/** Skips a test, with the reason, on a machine or for a user that cannot sample. */
export function needsSampling(context: TestContext): void {
  const reason = whyItCannotRun(diagnose(readFacts()));
  if (reason !== undefined) context.skip(reason.split("\n")[0]);
}

/** Whether a process exists and is no zombie. */
export function isRunning(pid: number): boolean {
  try {
    return !/^State:\s*[ZX]/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
}
