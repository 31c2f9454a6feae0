/** What a refresh and a key cost in each view, on a usual machine and on a large one. */
import type { Workload } from "../../screen/generate.ts";
import type { TestTerminal } from "../../screen/terminal.ts";
import type { Row, Section } from "../../support/measure.ts";
import { sleep, threadNanoseconds } from "../../support/profile.ts";
import { close, openFixture, written } from "./terminals.ts";

const SECONDS = 6;

/** 20,000 stacks in the ten seconds of the tree. */
export const LARGE: Workload = { functions: 5000, stacks: 20_000, processes: 200, samples: 4000 };
const USUAL: Workload = { functions: 400, stacks: 700, processes: 9, samples: 172 };

/** Each is reached by its keys from the one before. */
const VIEWS: readonly (readonly [name: string, keys: string])[] = [
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

const KEYS = 20;

interface Cost {
  /** CPU milliseconds. */
  readonly refresh: number;
  readonly key: number;
  /** Bytes of a refresh. */
  readonly bytes: number;
}

/** Goes to a view and measures what it costs. */
async function costOf(terminal: TestTerminal, keys: string): Promise<Cost> {
  for (const key of keys.match(/\/[^\r]*\r|./gs) ?? []) {
    terminal.type(key);
    await sleep(0.2);
  }
  await sleep(2);
  const cpuMs = (): number => threadNanoseconds(terminal.pid) / 1e6;
  let [cpu, before] = [cpuMs(), written(terminal)];
  await sleep(SECONDS);
  const refresh = (cpuMs() - cpu) / SECONDS;
  const bytes = (written(terminal) - before) / SECONDS;
  cpu = cpuMs();
  for (let i = 0; i < KEYS; i++) {
    terminal.type(i % 2 === 0 ? "j" : "k");
    await sleep(2 / KEYS);
  }
  return { refresh, bytes, key: (cpuMs() - cpu - 2 * refresh) / KEYS };
}

async function views(name: string, workload: Workload, bars: (view: string) => number | undefined) {
  const terminal = await openFixture(200, 60, workload);
  const found: Row[] = [];
  try {
    // The window of ten seconds fills, and history lines begin.
    await sleep(12);
    for (const [view, keys] of VIEWS) {
      const { refresh, bytes, key } = await costOf(terminal, keys);
      const bar = bars(view);
      found.push({
        what: `${name} machine, 200×60, ${view}: CPU of a refresh`,
        bar: bar === undefined ? "" : `≤ ${bar} ms`,
        figure: `${refresh.toFixed(1)} ms, ${bytes.toFixed(0)} bytes; a key ${key.toFixed(1)} ms`,
        ...(bar === undefined ? {} : { ok: refresh <= bar }),
      });
    }
  } finally {
    await close(terminal);
  }
  return found;
}

export const viewRefreshes: readonly Section[] = [
  {
    name: "views",
    about: "CPU and bytes of a refresh and a key in each view",
    run: async () => [
      ...(await views("usual", USUAL, (view) => (view === "functions" ? 12 : undefined))),
      ...(await views("large", LARGE, () => 40)),
    ],
  },
];
