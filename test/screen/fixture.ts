/** A program that shows the live screen over made-up ticks; the tests run it in a terminal. */
import counterFile from "../../bpf/counters.json" with { type: "json" };
import { putScreenFirst } from "../../src/machine/priority.ts";
import { runScreen } from "../../src/screen/run.ts";
import { openReplay } from "../../src/sources/replay.ts";
import type { SourceEvent, TickSource } from "../../src/tick/source.ts";
import type { Tick } from "../../src/tick/tick.ts";
import type { FixtureOptions } from "./fixture-options.ts";
import { BUSY, only, TickGenerator } from "./generate.ts";

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
  if (options.idle) return { ...only(tick, () => false), time, missed: 0 };
  if (pids.length === 0) return { ...tick, time };
  return { ...only(tick, (pid) => pids.includes(pid)), time, pids };
}

const memory: number[] = [];
const { memoryAt } = options;
let isPaused = false;

/** What is in use when nothing is under way any more. */
async function measureMemory(): Promise<void> {
  isPaused = true;
  await new Promise((resolve) => setTimeout(resolve, 200));
  // What the first one finds to be garbage outside of the heap is freed before the second.
  globalThis.gc?.();
  globalThis.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  memory.push(heapUsed + external);
  isPaused = false;
}

const madeUp: TickSource = {
  counters: counterFile.counters,
  subscribe(listener: (event: SourceEvent) => void) {
    const send = (): void => {
      if (isPaused || (options.ticks !== undefined && sent >= options.ticks)) return;
      listener({ tick: tickNow() });
      sent++;
      if (!memoryAt?.includes(sent)) return;
      void measureMemory().then(() => {
        if (sent === memoryAt.at(-1)) listener({ error: "that was all" });
      });
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

const source = options.recording
  ? openReplay(options.recording, { pids: [], pace: "full" })
  : madeUp;

await runScreen({
  source,
  delaySeconds: (options.intervalMs ?? 1000) / 1000,
  pids: [],
  filterText: options.filter ?? "",
  sort: "self",
  kernel: true,
  nativeFrames: false,
  depth: options.color === false ? "none" : (options.depth ?? "many"),
  ...(options.background === "asked" ? {} : { background: options.background ?? "dark" }),
  unicode: options.unicode ?? true,
  host: "web-3",
  alive: () => true,
  remote: options.recording !== undefined,
  plainInk: options.plainInk ?? false,
});
if (memoryAt) process.stdout.write(`MEMORY ${JSON.stringify(memory)}\n`);
