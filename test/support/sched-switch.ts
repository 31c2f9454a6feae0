/** Where threads were off the CPU, as perf traced each switch. */
import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, rmSync } from "node:fs";
import { Lacking } from "./measure.ts";
import { root } from "./polytop.ts";

const folder = `${root}build/perf/`;
/** Enough of a stack for a few small functions. */
const STACK_BYTES = 2048;

/** Traces for so many seconds the switches of threads whose name begins so; throws Lacking where perf cannot. */
export async function traceSwitches(comm: string, seconds: number): Promise<string> {
  if (!existsSync("/usr/bin/perf")) throw new Lacking("perf is not installed (linux-perf)");
  mkdirSync(folder, { recursive: true });
  const data = `${folder}switches.data`;
  const filter = `prev_comm ~ "${comm}*" || next_comm ~ "${comm}*"`;
  const record = ["record", "-q", "-a", "-m", "8M", "-e", "sched:sched_switch", "--filter", filter];
  record.push("--call-graph", `dwarf,${STACK_BYTES}`, "-o", data, "--", "sleep", String(seconds));
  const child = spawn("perf", record, { stdio: ["ignore", "ignore", "pipe"] });
  let stderr = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  const status = await new Promise((resolve) => child.on("close", resolve));
  if (status !== 0) throw new Lacking(`perf record: ${stderr.split("\n")[0]}`);
  const fields = "comm,tid,time,event,trace,ip,sym";
  const script = spawnSync("perf", ["script", "-i", data, "--no-inline", "-F", fields], {
    encoding: "utf8",
    maxBuffer: 1 << 30,
  });
  rmSync(data, { force: true });
  return script.stdout;
}

/** Seconds off the CPU by the first of these functions in the stack, of a text that perf script wrote. */
export function timeByFunction(text: string, names: readonly string[]): Map<string, number> {
  const times = new Map<string, number>();
  const left = new Map<string, { readonly at: number; readonly name: string }>();
  for (const block of text.split("\n\n")) {
    const [head = "", ...lines] = block.split("\n").filter((line) => line.trim() !== "");
    const found = /\s(\d+\.\d+):.*prev_pid=(\d+).*next_pid=(\d+)/.exec(head);
    if (!found) continue;
    const [, time = "0", previous = "", next = ""] = found;
    const at = Number(time);
    const before = left.get(next);
    if (before) times.set(before.name, (times.get(before.name) ?? 0) + at - before.at);
    left.delete(next);
    const functions = lines.map((line) => line.trim().split(/\s+/)[1] ?? "");
    const name = functions.find((it) => names.includes(it));
    if (name !== undefined) left.set(previous, { at, name });
  }
  return times;
}
