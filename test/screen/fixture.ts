/** A program that shows the live screen over made-up ticks; the tests run it in a terminal. */
import counterFile from "../../bpf/counters.json" with { type: "json" };
import { putScreenFirst } from "../../src/collector/priority.ts";
import type { SourceEvent, TickSource } from "../../src/collector/source.ts";
import type { Tick } from "../../src/collector/tick.ts";
import { runScreen } from "../../src/screen/run.tsx";
import { BUSY, TickGenerator } from "./generate.ts";

/** What a test asks for, as JSON in POLYTOP_FIXTURE. */
interface FixtureOptions {
  readonly intervalMs?: number;
  readonly ticks?: number;
  readonly color?: boolean;
  readonly unicode?: boolean;
  readonly filter?: string;
  readonly idle?: boolean;
  /** Without the short cut. */
  readonly plainInk?: boolean;
  readonly workload?: typeof BUSY;
  /** Writes CPU and memory of this process to stderr at the end. */
  readonly measure?: boolean;
}

putScreenFirst();
const options = JSON.parse(process.env.POLYTOP_FIXTURE ?? "{}") as FixtureOptions;
const generator = new TickGenerator(options.workload ?? BUSY);
let pids: readonly number[] = [];
let sent = 0;

// Made before the clock runs: what a tick costs to make up is not what drawing it costs.
const made: Tick[] = Array.from({ length: 40 }, () => generator.next());

function tickNow(): Tick {
  const tick = made[sent % made.length] as Tick;
  const time = (made[0]?.time ?? 0) + sent * 1000;
  if (options.idle) return { ...tick, time, samples: 0, missed: 0, counts: [] };
  const counts =
    pids.length > 0 ? tick.counts.filter(({ task }) => pids.includes(task.pid)) : tick.counts;
  const samples = counts.reduce((sum, { count }) => sum + count, 0);
  return { ...tick, time, pids, counts, samples };
}

const source: TickSource = {
  counters: counterFile.counters,
  subscribe(listener: (event: SourceEvent) => void) {
    const send = (): void => {
      if (options.ticks !== undefined && sent >= options.ticks) return;
      listener({ tick: tickNow() });
      sent++;
    };
    const first = setTimeout(send, 10);
    const timer = setInterval(send, options.intervalMs ?? 1000);
    return () => {
      clearTimeout(first);
      clearInterval(timer);
    };
  },
  setPids(wanted) {
    if (wanted.some((pid) => pid > 99_999)) {
      return Promise.resolve(`no process ${wanted.join(", ")}`);
    }
    pids = wanted;
    return Promise.resolve(undefined);
  },
  setInterval() {},
};

const start = process.cpuUsage();
let warm: NodeJS.CpuUsage | undefined;
setTimeout(() => {
  warm = process.cpuUsage();
}, 5000).unref();

const result = await runScreen({
  source,
  frequency: 99,
  delaySeconds: (options.intervalMs ?? 1000) / 1000,
  pids: [],
  filterText: options.filter ?? "",
  sort: "self",
  kernel: true,
  nativeFrames: false,
  color: options.color ?? true,
  unicode: options.unicode ?? true,
  host: "web-3",
  alive: () => true,
  plainInk: options.plainInk ?? false,
});
if (options.measure) {
  const used = process.cpuUsage(warm ?? start);
  const all = process.cpuUsage(start);
  const toMs = (usage: NodeJS.CpuUsage): number => (usage.user + usage.system) / 1000;
  process.stdout.write(
    `MEASURED ${JSON.stringify({
      ticks: result.ticks,
      cpuMs: toMs(used),
      allMs: toMs(all),
      rss: process.memoryUsage.rss(),
    })}\n`,
  );
}
