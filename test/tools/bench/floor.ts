/**
 * The least that polytop can cost: a Node program that does nothing, the addon without the rest, and a BPF program that
 * has the kernel do all.
 */
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { bundle } from "../../screen/bundle.ts";
import { TestTerminal } from "../../screen/terminal.ts";
import { withStats } from "../../support/bpftool.ts";
import type { Row, Section } from "../../support/measure.ts";
import { launcher } from "../../support/polytop.ts";
import { during, familyPercent, sleep } from "../../support/profile.ts";
import { type BenchLoad, LOADS } from "./loads.ts";
import { cost, MEASURED_SECONDS, SETTLED_SECONDS } from "./process.ts";
import { StackId } from "./stackid.ts";
import { close, openPerf } from "./terminals.ts";

const pathOf = (program: string): string => fileURLToPath(new URL(program, import.meta.url));

/** What the launcher starts Node with. */
function launcherFlags(): readonly string[] {
  const [, flags] = /^set -- (--.*) "\$lib\/cli\.js"/m.exec(readFileSync(launcher, "utf8")) ?? [];
  if (flags === undefined) throw new Error(`${launcher} does not say what it starts Node with`);
  return flags.split(" ");
}

const FLAGS = launcherFlags();

/** The CPU time of a program of this folder, in percent of one CPU. */
async function programCost(program: string, seconds: number, ...given: string[]): Promise<number> {
  const child = spawn(process.execPath, [...FLAGS, pathOf(program), ...given], {
    stdio: ["ignore", "ignore", "inherit"],
  });
  try {
    await sleep(SETTLED_SECONDS);
    const percent = await familyPercent(child.pid ?? 0, seconds);
    if (child.exitCode !== null) throw new Error(`${program} ended by itself`);
    return percent;
  } finally {
    child.kill();
  }
}

/** What the addon alone costs at both rates, in percent of one CPU, and how much that leaves for all else at 999 Hz. */
async function addonCost(): Promise<string> {
  const slow = await programCost("idle-drain.ts", WINDOW_SECONDS, "99");
  const fast = await programCost("idle-drain.ts", WINDOW_SECONDS, "999");
  const { process: whole } = await cost(99, WINDOW_SECONDS);
  const times = (fast / whole).toFixed(2);
  return `${slow.toFixed(2)} → ${fast.toFixed(2)} % of one CPU, ${times} × all of polytop at 99 Hz (${whole.toFixed(2)} %)`;
}

/**
 * The BPF time of counting both stacks of each sample by bpf_get_stackid(), at 99 Hz, in percent of one CPU. It follows
 * frame pointers, which most code has not: its stacks of user code are a few frames.
 */
async function stackIdCost(): Promise<string> {
  return withStats(async () => {
    const stackId = new StackId(0, 99);
    try {
      await sleep(SETTLED_SECONDS);
      const [before, begin] = [await stackId.totals(), performance.now()];
      await sleep(MEASURED_SECONDS);
      const after = await stackId.totals();
      const nanoseconds = after.nanoseconds - before.nanoseconds;
      const each = nanoseconds / (after.samples - before.samples) / 1000;
      const percent = nanoseconds / (1e4 * (performance.now() - begin));
      return `${percent.toFixed(2)} % of one CPU (${each.toFixed(1)} µs a sample)`;
    } finally {
      stackId.close();
    }
  });
}

const WINDOW_SECONDS = 12;

/** What the window alone costs, and perf top in the same terminal, in percent of one CPU. */
async function windowCost(): Promise<string> {
  const program = await bundle("test/tools/bench/idle-screen");
  const own = await cpuOf(
    new TestTerminal(process.execPath, [...FLAGS, program], { columns: 200, rows: 60 }),
  );
  const perf = await cpuOf(await openPerf(200, 60));
  return `${own.toFixed(2)} % of one CPU, perf top ${perf.toFixed(2)} %: ${(own / perf).toFixed(2)} ×`;
}

/** What perf top costs at ten times the rate, each after the other, in percent of one CPU. */
async function rateCost(): Promise<string> {
  const slow = await cpuOf(await openPerf(200, 60));
  const fast = await cpuOf(await openPerf(200, 60, 999));
  return `${slow.toFixed(2)} → ${fast.toFixed(2)} % of one CPU: ${(fast / slow).toFixed(2)} ×`;
}

async function cpuOf(terminal: TestTerminal): Promise<number> {
  try {
    await sleep(SETTLED_SECONDS);
    return await familyPercent(terminal.pid, WINDOW_SECONDS);
  } finally {
    await close(terminal);
  }
}

/** A row for each load with what is measured beside it. */
async function beside(
  loads: readonly BenchLoad[],
  what: string,
  figure: () => Promise<string>,
): Promise<Row[]> {
  const rows: Row[] = [];
  for (const { title, start } of loads)
    rows.push({ what: `${title}: ${what}`, bar: "", figure: await during(start(), figure) });
  return rows;
}

export const floors: readonly Section[] = [
  {
    name: "floor",
    about: "a Node program with a thread that prints 50 rows a second, and does nothing else",
    run: () =>
      beside(
        LOADS.filter(({ name }) => ["hot", "compile"].includes(name)),
        "a Node program that prints 50 rows a second and does nothing else",
        async () =>
          `${(await programCost("idle-node.mjs", MEASURED_SECONDS)).toFixed(2)} % of one CPU`,
      ),
  },
  {
    name: "floor-screen",
    about:
      "the live view's window with lines that change once a second and nothing else, beside perf top",
    run: () => beside(LOADS, "a window whose lines change once a second, 200×60", windowCost),
  },
  {
    name: "floor-rate",
    about: "perf top at 99 Hz and at 999 Hz: what ten times the samples cost another profiler",
    run: () => beside(LOADS, "perf top, 99 and 999 Hz, 200×60", rateCost),
  },
  {
    name: "floor-drain",
    about:
      "the addon alone, whose drains nobody looks at, at 99 Hz and at 999 Hz, beside all of polytop at 99 Hz",
    run: () => beside(LOADS, "the addon alone, 99 and 999 Hz", addonCost),
  },
  {
    name: "floor-bpf",
    about:
      "a BPF program that counts what bpf_get_stackid finds, few frames of most stacks, 99 Hz, beside each load",
    run: () => beside(LOADS, "BPF that counts what bpf_get_stackid finds, 99 Hz", stackIdCost),
  },
];
