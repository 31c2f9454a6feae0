/** Makes ticks for tests out of short descriptions. */
import counterFile from "../../bpf/counters.json" with { type: "json" };
import { type Filter, parseFilter } from "../../src/model/filter.ts";
import type { Runtime } from "../../src/tick/runtimes.ts";
import type { CounterDefinition } from "../../src/tick/source.ts";
import type {
  Frame,
  FunctionInfo,
  Outcome,
  Stack,
  StackCount,
  Task,
  Tick,
} from "../../src/tick/tick.ts";

/** The real counters. */
export const COUNTERS: readonly CounterDefinition[] = counterFile.counters;

const CODES: Readonly<Record<string, Runtime>> = {
  p: "perl",
  d: "dotnet",
  n: "native",
  k: "kernel",
};

/** Interns functions and stacks as the collector does. */
export class TickMaker {
  private readonly functions = new Map<string, FunctionInfo>();
  private stacks = 0;

  function(runtime: Runtime, name: string, module = ""): FunctionInfo {
    const key = JSON.stringify([runtime, name, module]);
    let info = this.functions.get(key);
    if (!info) {
      info = { id: this.functions.size, runtime, name, module };
      this.functions.set(key, info);
    }
    return info;
  }

  /** A frame of `n:name@module:line`; `!` before it: folded. The kind is p, d, n or k. */
  frame(text: string): Frame {
    const [, folded, kind = "n", name = "", module, line] =
      /^(!?)([pdnk]):(.*?)(?:@([^:]*)(?::(\d+))?)?$/s.exec(text) ?? [];
    return {
      function: this.function(CODES[kind] ?? "native", name, module),
      ...(line === undefined ? {} : { line: Number(line) }),
      ...(folded ? { folded: true } : {}),
    };
  }

  /** A stack, leaf first. */
  stack(frames: readonly string[], outcome: Outcome = "complete"): Stack {
    return { id: this.stacks++, frames: frames.map((text) => this.frame(text)), outcome };
  }
}

/** A thread of a process. */
export const task = (pid: number, comm: string, more: Partial<Task> = {}): Task => ({
  pid,
  tid: pid,
  comm,
  thread: comm,
  parentPid: 1,
  uid: 0,
  cgroup: "1",
  startTime: pid * 10,
  ...more,
});

/** A refresh of one second that holds these counts. */
export function makeTick(counts: readonly StackCount[], more: Partial<Tick> = {}): Tick {
  return {
    time: Date.UTC(2026, 0, 31, 12, 0, 1, 3),
    intervalSeconds: 1.0004,
    event: "cpu-clock",
    frequency: 99,
    cpus: 2,
    host: "web-3",
    pids: [],
    samples: counts.reduce((sum, { count }) => sum + count, 0),
    missed: 0,
    counts,
    metrics: {},
    self: { cpuPercent: 0.74, bpfCpuPercent: 0.2, rssBytes: 90e6, bpfNanosecondsPerSample: 3100.4 },
    notices: [],
    ...more,
  };
}

/** The filter that a text stands for. */
export function filterOf(text: string): Filter {
  const parsed = parseFilter(text);
  if ("error" in parsed) throw new Error(parsed.error);
  return parsed.filter;
}
