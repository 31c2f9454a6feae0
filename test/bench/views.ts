/**
 * What each view costs on a large machine, and how long a key takes to the screen.
 * Run with the project's Node: node test/bench/views.ts [seconds a view] [columns rows]
 */
import { bundleFixture } from "../screen/bundle.ts";
import type { Workload } from "../screen/generate.ts";
import { TestTerminal } from "../screen/terminal.ts";
import { sleep, threadNanoseconds } from "../support/profile.ts";

const seconds = Number(process.argv[2] ?? 6);
const columns = Number(process.argv[3] ?? 200);
const rows = Number(process.argv[4] ?? 60);

/** 20,000 stacks in the ten seconds of the tree. */
const LARGE: Workload = { functions: 5000, stacks: 20_000, processes: 200, samples: 4000 };
const USUAL: Workload = { functions: 400, stacks: 700, processes: 9, samples: 172 };

const VIEWS: readonly (readonly [string, string])[] = [
  ["functions", "1"],
  ["functions, last 10 s", "a"],
  ["functions, since c", "a"],
  ["functions, marked", "am"],
  ["detail", "m1j\r"],
  ["processes", "2"],
  ["processes and threads", "t"],
  ["tree", "3"],
  ["tree, bottom-up", "b"],
  ["flame", "4b"],
  ["flame, searched", "/parse\r"],
  ["metrics", "\u001b\u001b5"],
];

const KEYS = 60;

/** Milliseconds until something is drawn, sorted. */
async function latencies(terminal: TestTerminal): Promise<number[]> {
  const times: number[] = [];
  for (let i = 0; i < KEYS; i++) {
    await sleep(0.04 + (i % 7) / 100);
    const before = terminal.output.length;
    const start = performance.now();
    terminal.type(i % 2 === 0 ? "j" : "k");
    while (terminal.output.length === before) await new Promise((resolve) => setImmediate(resolve));
    times.push(performance.now() - start);
  }
  return times.sort((a, b) => a - b);
}

const fixture = await bundleFixture();
for (const [name, workload] of [
  ["usual", USUAL],
  ["large", LARGE],
] as const) {
  const env = { POLYTOP_FIXTURE: JSON.stringify({ workload }) };
  const terminal = new TestTerminal(process.execPath, [fixture], { columns, rows, env });
  await terminal.until((text) => text.includes("SELF%"), "the list", 30_000);
  await sleep(12);
  console.log(`${name} machine, ${columns}x${rows}: cpu ms and bytes a refresh`);
  for (const [view, keys] of VIEWS) {
    for (const key of keys.match(/\/[^\r]*\r|./gs) ?? []) {
      terminal.type(key);
      await sleep(0.2);
    }
    await sleep(2);
    const [cpu, bytes] = [threadNanoseconds(terminal.pid), Buffer.byteLength(terminal.output)];
    await sleep(seconds);
    const ms = (threadNanoseconds(terminal.pid) - cpu) / 1e6 / seconds;
    const sent = (Buffer.byteLength(terminal.output) - bytes) / seconds;
    console.log(`  ${view.padEnd(24)} ${ms.toFixed(1).padStart(6)} ${sent.toFixed(0).padStart(7)}`);
  }
  terminal.type("1");
  const times = await latencies(terminal);
  const at = (share: number): string => (times[Math.floor(share * (KEYS - 1))] ?? 0).toFixed(1);
  console.log(`  a key to the screen, ms: median ${at(0.5)}, p99 ${at(0.99)}`);
  terminal.type("q");
  await terminal.exited;
}
process.exit(0);
