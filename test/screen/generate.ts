/** Made-up but plausible ticks, the same each time: fixture data for the tests of the screen. */
import type { Runtime } from "../../src/tick/runtimes.ts";
import type { Frame, FunctionInfo, Stack, StackCount, Task, Tick } from "../../src/tick/tick.ts";

/** A small generator of numbers, the same sequence each time. */
export function randomNumbers(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

/** How much there is. */
export interface Workload {
  readonly functions: number;
  readonly stacks: number;
  readonly processes: number;
  readonly samples: number;
}

/** A machine with two CPUs, mostly busy. */
export const BUSY: Workload = { functions: 400, stacks: 700, processes: 9, samples: 172 };

const NAMES: readonly (readonly [Runtime, string, string])[] = [
  ["perl", "Ledger::Post::entry", "/srv/ledger/ledger.pl"],
  ["dotnet", "Shop.Cart`1.Total", "Shop.Core"],
  ["perl", "main::walk", "/srv/ledger/report.pl"],
  ["native", "inflate_fast", "libz.so.1"],
  ["native", "libcoreclr.so+0x5cd020", "libcoreclr.so"],
  ["kernel", "copy_user_generic", "kernel"],
  ["perl", "[perl: context stack unreadable]", ""],
  [
    "native",
    "std::__introsort_loop<__gnu_cxx::__normal_iterator<Order*, std::vector<Order>>>",
    "app",
  ],
  ["perl", "価格::計算::合計を出す", "/srv/価格/計算.pm"],
  ["dotnet", "System.Text.Json.JsonSerializer.WriteCore", "System.Text.Json"],
];

const COMMS = ["perl", "Shop.Api", "nginx", "postgres", "cc1plus", "node", "ksoftirqd/0", "sh"];
const MODULES = {
  perl: ["/srv/ledger/ledger.pl", "/usr/share/perl5/DBI.pm", "/srv/ledger/report.pl"],
  dotnet: ["Shop.Core", "System.Private.CoreLib", "Shop.Api"],
  native: ["libc.so.6", "libz.so.1", "libcoreclr.so", "postgres"],
  kernel: ["kernel", "ext4", "virtio_net"],
};
const WORDS = ["read", "parse", "Cart", "entry", "walk", "lookup", "hash", "Total", "copy", "sum"];

/** Produces ticks, one after the other. */
export class TickGenerator {
  readonly #workload: Workload;
  readonly #random = randomNumbers(42);
  readonly #stacks: Stack[];
  readonly #tasks: Task[];
  #number = 0;

  constructor(workload: Workload = BUSY) {
    this.#workload = workload;
    const functions = this.#functions();
    this.#stacks = Array.from({ length: workload.stacks }, (_, id) => this.#stack(id, functions));
    this.#tasks = Array.from({ length: workload.processes }, (_, i) => ({
      pid: 4211 + i * 7,
      tid: 4211 + i * 7,
      comm: COMMS[i % COMMS.length] ?? "sh",
      thread: "main",
      parentPid: i % 4 === 3 ? 4211 + (i - 1) * 7 : 1,
      uid: i % 3 === 0 ? 0 : 33,
      cgroup: "1",
      startTime: 1000 + i,
    }));
  }

  #functions(): FunctionInfo[] {
    const random = this.#random;
    return Array.from({ length: this.#workload.functions }, (_, id) => {
      const known = NAMES[id];
      if (known) {
        const [runtime, name, module] = known;
        const why = name.startsWith("[") ? { whyUnnamed: "it was half written" } : {};
        return { id, runtime, name, module, ...why };
      }
      const runtime = (["perl", "dotnet", "native", "kernel"] as const)[random(4)] ?? "native";
      const words = Array.from({ length: 2 + random(3) }, () => WORDS[random(10)] ?? "f");
      const joint = { perl: "::", dotnet: ".", native: "_", kernel: "_" }[runtime];
      const modules = MODULES[runtime];
      return {
        id,
        runtime,
        name: words.join(joint) + (id % 7 === 0 ? `_${id}` : ""),
        module: modules[random(modules.length)] ?? "",
      };
    });
  }

  #stack(id: number, functions: readonly FunctionInfo[]): Stack {
    const random = this.#random;
    // A few functions are hot, most are not.
    const pick = (): number => {
      const share = random(1000) / 1000;
      return Math.floor(share * share * share * functions.length);
    };
    const depth = 5 + random(30);
    const frames: Frame[] = [];
    for (let i = 0; i < depth; i++) {
      const info = functions[pick()];
      if (!info || info.name.startsWith("[")) continue;
      frames.push({
        function: info,
        ...(info.runtime === "perl" ? { line: 1 + random(200) } : {}),
        ...(info.name === "main::walk" && i === 0 ? { note: "match" } : {}),
      });
    }
    const broken = id % 97 === 0 ? functions[6] : undefined;
    if (broken) frames.push({ function: broken });
    return { id, frames, outcome: broken ? "broken" : id % 211 === 5 ? "truncated" : "complete" };
  }

  /** The next tick. */
  next(): Tick {
    const random = this.#random;
    const number = this.#number++;
    const counts: StackCount[] = [];
    let samples = 0;
    while (samples < this.#workload.samples) {
      const share = random(1000) / 1000;
      const stack = this.#stacks[Math.floor(share * share * this.#stacks.length)];
      const task = this.#tasks[(stack?.id ?? 0) % this.#tasks.length];
      if (!stack || !task) continue;
      const count = Math.min(1 + random(3), this.#workload.samples - samples);
      counts.push({ stack, task, count });
      samples += count;
    }
    return {
      time: Date.UTC(2026, 0, 31, 12, 0, 1) + number * 1000,
      intervalSeconds: 1,
      event: "cpu-clock",
      frequency: 99,
      cpus: 2,
      host: "web-3",
      pids: [],
      samples,
      missed: number % 5 === 4 ? 1 : 0,
      counts,
      metrics: {
        UnwindNativeAttempts: samples,
        UnwindNativeFrames: samples * 20 + random(100),
        UnwindNativeErrNoRow: number % 3,
        UnwindPerlAttempts: 80 + random(10),
      },
      self: {
        cpuPercent: 0.7 + random(5) / 10,
        bpfCpuPercent: 0.3,
        rssBytes: 96e6,
        bpfNanosecondsPerSample: 3100,
      },
      notices: [],
    };
  }
}
