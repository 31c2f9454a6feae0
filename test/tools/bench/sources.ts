/** How long it takes from a key that chooses what is looked at to its first rows, in a real terminal. */
import { TestTerminal } from "../../screen/terminal.ts";
import type { Row, Section } from "../../support/measure.ts";
import { launcher } from "../../support/polytop.ts";
import { during, sleep, start } from "../../support/profile.ts";
import { workload } from "../../support/workloads.ts";
import { close, openLive } from "./terminals.ts";

const ROUNDS = 3;
const MOST_MS = 1000;
const SETTLED_SECONDS = 3;
const PATIENCE_MS = 20_000;

/** A list with a first row: its share stands below the heading. */
const hasRows = (text: string): boolean => /SELF%.*\n\W*\d+(\.\d)? +\d/.test(text);

/** Whether the header names an event, and there are rows of it. */
const counts =
  (event: string) =>
  (text: string): boolean =>
    text.slice(0, text.indexOf("\n")).includes(event) && hasRows(text);

interface Step {
  readonly what: string;
  /** Typed before the clock runs. */
  readonly before?: string;
  readonly key: string;
  readonly isThere: (text: string) => boolean;
}

/** Steps in one terminal each, in this order. `touches` is a program whose functions are probed. */
const stepsWith = (touches: string): readonly (readonly Step[])[] => [
  [
    { what: "e: threads that wait", key: "e", isThere: counts(" wait ") },
    { what: "e again: both", key: "e", isThere: counts(" wall ") },
  ],
  [
    { what: "x: page-faults", key: "x", isThere: counts("page-faults") },
    { what: "x again: context-switches", key: "x", isThere: counts("context-switches") },
  ],
  [
    {
      what: "E: a tracepoint",
      before: "Esched:sched_switch",
      key: "\r",
      isThere: counts("sched:sched_switch"),
    },
    {
      what: "E again: another tracepoint",
      before: "Esyscalls:sys_enter_getppid",
      key: "\r",
      isThere: counts("sys_enter_getppid"),
    },
  ],
  [
    {
      what: "E: a function",
      before: `Euprobe:${touches}:allocate`,
      key: "\r",
      isThere: counts(":allocate"),
    },
    {
      what: "E: two events",
      before: "Epage-faults,context-switches",
      key: "\r",
      isThere: (text) => counts("page-faults")(text) && text.includes("CONTEXT-SWITCHES"),
    },
    { what: "v: sorted by the other", key: "v", isThere: counts("context-switches") },
  ],
];

/** Milliseconds until the screen is as it must be. */
async function timeOf(terminal: TestTerminal, { before, key, isThere, what }: Step) {
  if (before !== undefined) {
    terminal.type(before);
    await sleep(1);
  }
  const begin = performance.now();
  terminal.type(key);
  await terminal.until(isThere, what, PATIENCE_MS);
  return performance.now() - begin;
}

async function switches(): Promise<Row[]> {
  const touches = workload("touches.c");
  const loads = [start(touches, ["1000000"]), start(workload("waits.c"), ["shares", "4", "20"])];
  return during(loads, async () => {
    const rows: Row[] = [];
    for (const steps of stepsWith(touches)) {
      const times = new Map<Step, number[]>(steps.map((step) => [step, []]));
      for (let round = 0; round < ROUNDS; round++) {
        const terminal = await openLive(200, 60);
        try {
          await sleep(SETTLED_SECONDS);
          for (const step of steps) {
            times.get(step)?.push(await timeOf(terminal, step));
            await sleep(1);
          }
        } finally {
          await close(terminal);
        }
      }
      for (const [{ what }, found] of times) rows.push(row(what, found));
    }
    return [...rows, await ring()];
  });
}

const row = (what: string, times: readonly number[]): Row => {
  const most = Math.max(...times);
  return {
    what: `${what}: from the key to the first rows`,
    bar: `≤ ${MOST_MS} ms`,
    figure: times.map((ms) => ms.toFixed(0)).join(", "),
    samples: times.length,
    ok: most <= MOST_MS,
  };
};

const RING_MS = 2000;

/** A deadlock, from the start of polytop to the words on the screen. */
async function ring(): Promise<Row> {
  return during([start(workload("waits.c"), ["kinds"])], async () => {
    await sleep(1);
    const times: number[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      const begin = performance.now();
      const terminal = new TestTerminal(launcher, ["-e", "wait"], {
        columns: 200,
        rows: 60,
        env: { LANG: "C.UTF-8" },
      });
      try {
        await terminal.until((text) => text.includes("deadlock: "), "the ring", PATIENCE_MS);
        times.push(performance.now() - begin);
      } finally {
        await close(terminal);
      }
    }
    return {
      what: "a deadlock, from the start of polytop -e wait to the words",
      bar: `≤ ${RING_MS} ms`,
      figure: times.map((ms) => ms.toFixed(0)).join(", "),
      samples: times.length,
      ok: Math.max(...times) <= RING_MS,
    };
  });
}

export const sourceSwitches: readonly Section[] = [
  {
    name: "sources",
    about: "from a key that chooses what is looked at to its first rows; a deadlock on the screen",
    run: switches,
  },
];
