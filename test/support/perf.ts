/** Runs perf, which everybody trusts, beside polytop. */
import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, rmSync } from "node:fs";
import { Lacking } from "./measure.ts";
import { root } from "./polytop.ts";

/** A stack of perf script. */
export interface PerfStack {
  readonly comm: string;
  readonly pid: number;
  /** Leaf first; `[unknown]` where perf knows none. */
  readonly frames: readonly { readonly name: string; readonly module: string }[];
}

/** What a perf run found, and what it cost. */
export interface PerfRun {
  readonly stacks: readonly PerfStack[];
  /** CPU seconds of `perf record`. */
  readonly recordSeconds: number;
  /** CPU seconds of `perf script`, without which nothing can be read. */
  readonly scriptSeconds: number;
}

const folder = `${root}build/perf/`;

/** bash prints user and system seconds of a command as the last line of stderr. */
const TIMED = 'TIMEFORMAT="%U %S"; time "$@"';

const secondsOf = (stderr: string): number =>
  (stderr.trimEnd().split("\n").at(-1) ?? "")
    .split(" ")
    .reduce((sum, word) => sum + (Number(word) || 0), 0);

/** Samples with perf, which walks stacks by .eh_frame, the usual way. */
export const perfDwarf = (seconds: number, frequency = 99): Promise<PerfRun> =>
  perfStacks({ seconds, frequency, callGraph: "dwarf" });

/** How perf samples. */
interface PerfOptions {
  readonly seconds: number;
  readonly frequency: number;
  readonly callGraph: "dwarf" | "fp";
}

/** What `perf record` wrote, until it is read. */
export interface PerfRecording {
  readonly file: string;
  readonly seconds: number;
}

/** Samples the whole machine, and what comes of it. */
export const perfStacks = async (options: PerfOptions): Promise<PerfRun> =>
  readPerf(await recordPerf(options));

/** Samples the whole machine with `perf record`; throws Lacking where perf cannot be used. */
export async function recordPerf(options: PerfOptions): Promise<PerfRecording> {
  const { seconds, frequency, callGraph } = options;
  if (!existsSync("/usr/bin/perf")) throw new Lacking("perf is not installed (linux-perf)");
  mkdirSync(folder, { recursive: true });
  const data = `${folder}perf.data`;
  const record = ["perf", "record", "-q", "-F", String(frequency), "-a", "-e", "cpu-clock"];
  record.push("--call-graph", callGraph, "-o", data, "--", "sleep", String(seconds));
  const recorded = await timed(record);
  if (recorded.status !== 0) throw new Lacking(`perf record: ${recorded.stderr.split("\n")[0]}`);
  return { file: data, seconds: secondsOf(recorded.stderr) };
}

/** Finds the stacks of a recording, of these processes alone where they are given, and removes it. */
export function readPerf({ file, seconds }: PerfRecording, pids?: Iterable<number>): PerfRun {
  const script = ["perf", "script", "-i", file, "--no-inline", "-F", "comm,pid,tid,ip,sym,dso"];
  if (pids) script.push("--pid", [...pids].join());
  const scripted = spawnSync("bash", ["-c", TIMED, "bash", ...script], {
    encoding: "utf8",
    maxBuffer: 1 << 30,
  });
  rmSync(file, { force: true });
  return {
    stacks: parse(scripted.stdout),
    recordSeconds: seconds,
    scriptSeconds: secondsOf(scripted.stderr),
  };
}

function timed(command: readonly string[]): Promise<{ status: number | null; stderr: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn("bash", ["-c", TIMED, "bash", ...command], {
      stdio: ["ignore", "ignore", "pipe"],
    });
    let stderr = "";
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      stderr += text;
    });
    child.on("error", reject);
    child.on("close", (status) => resolve({ status, stderr }));
  });
}

function parse(text: string): PerfStack[] {
  const stacks: PerfStack[] = [];
  for (const block of text.split("\n\n")) {
    const [head = "", ...lines] = block.split("\n").filter((line) => line !== "");
    const task = /^(.*?)\s+(\d+)\/\d+\s*$/.exec(head);
    // Pid 0 is the idle task, which polytop leaves out.
    if (!task || task[2] === "0") continue;
    const frames = lines.flatMap((line) => {
      const frame = /^\s+([0-9a-f]+) (.*) \((.*)\)$/.exec(line);
      return frame ? [{ name: frame[2] ?? "", module: frame[3] ?? "" }] : [];
    });
    stacks.push({ comm: (task[1] ?? "").trim(), pid: Number(task[2]), frames });
  }
  return stacks;
}
