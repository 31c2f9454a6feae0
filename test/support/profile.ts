/** Starts programs, samples them with polytop as a user would, and stops what was started. */
import { type ChildProcess, spawn } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { family } from "./family.ts";
import { cleanEnvironment, polytop } from "./polytop.ts";
import { warm } from "./warm.ts";

/** One line of `--json`, as far as tests look at it. */
export interface Snapshot {
  readonly intervalSeconds: number;
  readonly frequency: number;
  readonly cpus: number;
  readonly samples: number;
  readonly missed: number;
  readonly stacks: {
    readonly unique: number;
    readonly complete: number;
    readonly guessed: number;
    readonly truncated: number;
    readonly broken: number;
  };
  readonly runtimes: Readonly<Record<string, number>>;
  readonly functions: readonly {
    readonly runtime: string;
    readonly name: string;
    readonly module: string;
    readonly self: number;
    readonly total: number;
    readonly pids: readonly number[];
  }[];
  readonly processes: readonly {
    readonly pid: number;
    readonly comm: string;
    readonly samples: number;
    readonly complete: number;
  }[];
  readonly metrics: Readonly<Record<string, number>>;
  readonly self: {
    readonly cpuPercent: number;
    readonly ticksCpuPercent: number;
    readonly rssBytes: number;
    readonly bpfNanosecondsPerSample: number;
  };
}

/** Several snapshots added up. */
export interface Sums {
  readonly snapshots: readonly Snapshot[];
  readonly samples: number;
  readonly missed: number;
  readonly complete: number;
  readonly guessed: number;
  readonly truncated: number;
  readonly broken: number;
  /** By function name, of all runtimes. */
  readonly self: ReadonlyMap<string, number>;
  readonly total: ReadonlyMap<string, number>;
  readonly metrics: Readonly<Record<string, number>>;
}

/** A program that was started. */
export interface Running {
  readonly pid: number;
  /** Ends it, and all that it started in its process group; resolves when it is gone. */
  stop(): Promise<void>;
  readonly exited: Promise<void>;
}

const running = new Set<ChildProcess>();

function kill(child: ChildProcess): void {
  try {
    // Its own process group (`detached`): the compilers of a compile loop are in it.
    if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
  } catch {
    child.kill("SIGKILL");
  }
}

// Nothing of ours goes on burning when a run is cut short.
process.on("exit", () => {
  for (const child of running) kill(child);
});

/** Starts a program in the background. */
export function start(
  command: string,
  args: readonly string[] = [],
  options: { readonly cwd?: string } = {},
): Running {
  const child = spawn(command, args, {
    ...options,
    env: cleanEnvironment(),
    detached: true,
    stdio: ["ignore", "ignore", "ignore"],
  });
  running.add(child);
  const exited = new Promise<void>((resolve) => {
    child.on("exit", () => resolve());
    child.on("error", () => resolve());
  });
  void exited.then(() => running.delete(child));
  return {
    pid: child.pid ?? -1,
    exited,
    stop: () => {
      kill(child);
      return exited;
    },
  };
}

/** Runs `use` while these programs run. */
export async function during<T>(
  programs: readonly Running[],
  use: (pids: readonly number[]) => Promise<T>,
): Promise<T> {
  try {
    for (const { pid } of programs) if (pid < 0) throw new Error("a workload did not start");
    return await use(programs.map(({ pid }) => pid));
  } finally {
    await Promise.all(programs.map((program) => program.stop()));
  }
}

/** How to sample. */
export interface SampleOptions {
  readonly seconds: number;
  readonly frequency?: number;
  readonly delay?: number;
  /** Only these; all processes where it is left out. */
  readonly pids?: readonly number[];
  readonly args?: readonly string[];
  /** Variables in polytop's environment. */
  readonly env?: Readonly<Record<string, string>>;
  /** For the start and the end; 30 where it is left out. */
  readonly spareSeconds?: number;
  /** Functions in each snapshot: 0, all, where it is left out. */
  readonly rows?: number;
  /** Called with each complete line of the output, numbered from 1. */
  readonly onLine?: (line: number, pid: number) => void;
}

function commandLine(options: SampleOptions): string[] {
  const { seconds, frequency = 99, delay = 1, pids, args = [] } = options;
  const narrowed = pids ? ["-p", pids.join(",")] : [];
  const iterations = String(Math.max(1, Math.round(seconds / delay)));
  return ["-F", String(frequency), "-d", String(delay), "-n", iterations, ...narrowed, ...args];
}

interface Run {
  readonly stdout: string;
  /** CPU time of the process, until it last wrote something. */
  readonly cpuSeconds: number;
}

async function run(format: string, options: SampleOptions): Promise<Run> {
  let used = 0;
  let lines = 0;
  warm(options.pids ?? []);
  const finished = await polytop([format, ...commandLine(options)], {
    timeoutMs: (options.seconds + (options.spareSeconds ?? 30)) * 1000,
    ...(options.env ? { env: options.env } : {}),
    onStdout: (text, pid) => {
      used = cpuSeconds(pid) ?? used;
      for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) {
        lines++;
        options.onLine?.(lines, pid);
      }
    },
  });
  const { status, signal, stdout, stderr } = finished;
  if (status !== 0) throw new Error(`polytop ended with ${status ?? signal}: ${stderr}`);
  return { stdout, cpuSeconds: used };
}

/** Samples with `--json`. */
export async function sampleJson(
  options: SampleOptions,
): Promise<Sums & { readonly cpuSeconds: number }> {
  const args = ["--rows", String(options.rows ?? 0), ...(options.args ?? [])];
  const { stdout, cpuSeconds } = await run("--json", { ...options, args });
  const lines = stdout.trimEnd().split("\n");
  return { ...sum(lines.map((line) => JSON.parse(line) as Snapshot)), cpuSeconds };
}

/** One line of `--folded`. */
export interface FoldedStack {
  readonly comm: string;
  /** Root first; kernel frames end in `_[k]`. */
  readonly frames: readonly string[];
  readonly count: number;
}

/** Samples with `--folded`. */
export async function sampleFolded(options: SampleOptions): Promise<FoldedStack[]> {
  return parseFolded((await run("--folded", options)).stdout);
}

export function parseFolded(text: string): FoldedStack[] {
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => {
      const end = line.lastIndexOf(" ");
      const [comm = "", ...frames] = line.slice(0, end).split(";");
      return { comm, frames, count: Number(line.slice(end + 1)) };
    });
}

const add = (into: Map<string, number>, key: string, amount: number): void => {
  into.set(key, (into.get(key) ?? 0) + amount);
};

/** Adds snapshots up. */
export function sum(snapshots: readonly Snapshot[]): Sums {
  const self = new Map<string, number>();
  const total = new Map<string, number>();
  const metrics: Record<string, number> = {};
  const count = { samples: 0, missed: 0, complete: 0, guessed: 0, truncated: 0, broken: 0 };
  for (const snapshot of snapshots) {
    count.samples += snapshot.samples;
    count.missed += snapshot.missed;
    count.complete += snapshot.stacks.complete;
    count.guessed += snapshot.stacks.guessed;
    count.truncated += snapshot.stacks.truncated;
    count.broken += snapshot.stacks.broken;
    for (const row of snapshot.functions) {
      add(self, row.name, row.self);
      add(total, row.name, row.total);
    }
    for (const [name, value] of Object.entries(snapshot.metrics)) {
      metrics[name] = (metrics[name] ?? 0) + value;
    }
  }
  return { snapshots, ...count, self, total, metrics };
}

/** How many samples of these stacks fulfil a condition, and how many there are. */
export function share(
  stacks: readonly FoldedStack[],
  condition: (stack: FoldedStack) => boolean,
): { readonly hits: number; readonly samples: number } {
  let hits = 0;
  let samples = 0;
  for (const stack of stacks) {
    samples += stack.count;
    if (condition(stack)) hits += stack.count;
  }
  return { hits, samples };
}

/** Waits until a program has run for some seconds of CPU time: a loaded machine starts it late, a clock would not know. */
export async function hasRun(pid: number, seconds: number): Promise<void> {
  const end = Date.now() + 60_000;
  for (;;) {
    const used = cpuSeconds(pid);
    if (used === undefined) throw new Error(`the program with pid ${pid} has ended`);
    if (used >= seconds) return;
    if (Date.now() > end) throw new Error(`pid ${pid} has run for ${used} s within a minute`);
    await sleep(0.05);
  }
}

/** User and system CPU seconds of a process so far (fields 14 and 15 of proc_pid_stat(5)); undefined when it is gone. */
export function cpuSeconds(pid: number): number | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    const TICKS_PER_SECOND = 100;
    return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
  } catch {
    return undefined;
  }
}

/** CPU time of the threads that a process has now, in ns: finer than the ticks of cpuSeconds(). */
export function threadNanoseconds(pid: number): number {
  let sum = 0;
  for (const thread of readdirSync(`/proc/${pid}/task`)) {
    try {
      sum += Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, "latin1").split(" ")[0]);
    } catch {
      // it has ended
    }
  }
  return sum;
}

/** CPU time of a process and of all processes that it started and that still run. */
export function familyNanoseconds(pid: number): number {
  return family(pid).reduce((sum, it) => sum + threadNanoseconds(it), 0);
}

/** What such a family takes in the next seconds, in percent of one CPU. */
export async function familyPercent(pid: number, seconds: number): Promise<number> {
  const [time, before] = [performance.now(), familyNanoseconds(pid)];
  await sleep(seconds);
  return (familyNanoseconds(pid) - before) / 1e4 / (performance.now() - time);
}

export const sleep = (seconds: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, seconds * 1000));
