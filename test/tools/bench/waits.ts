/** What looking at threads that wait costs, and what those threads notice of it. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runNanoseconds, withStats } from "../../support/bpftool.ts";
import type { Row, Section } from "../../support/measure.ts";
import {
  during,
  type Running,
  type Sums,
  sampleJson,
  sleep,
  start,
  threadNanoseconds,
} from "../../support/profile.ts";
import type { WaitSnapshot } from "../../support/waits.ts";
import { workload } from "../../support/workloads.ts";

const SETTLED_SECONDS = 5;
const MEASURED_SECONDS = 12;

interface Cost {
  /** Percent of one CPU: the whole process, which runs the sweeps, and their BPF program in it. */
  readonly process: number;
  readonly sweeps: number;
  readonly sums: Sums;
}

/** How many refreshes pass before the measured ones, how many are measured, and how many seconds each takes. */
interface Span {
  readonly settled: number;
  readonly measured: number;
  readonly delay: number;
}

const SHORT: Span = { settled: SETTLED_SECONDS, measured: MEASURED_SECONDS, delay: 1 };
/** Visits of very many threads are seconds apart. */
const LONG: Span = { settled: 2, measured: 6, delay: 6 };

async function cost(
  args: readonly string[] = [],
  { settled, measured, delay }: Span = SHORT,
): Promise<Cost> {
  const seen: { readonly at: number; readonly process: number; readonly bpf: number }[] = [];
  const sums = await sampleJson({
    seconds: (settled + measured + 1) * delay,
    delay,
    rows: 50,
    args: ["-e", "wait", ...args],
    onLine: (line, pid) => {
      if (line !== settled && line !== settled + measured) return;
      const at = performance.now() * 1e6;
      seen.push({ at, process: threadNanoseconds(pid), bpf: runNanoseconds(pid) });
    },
  });
  const [from, to] = seen;
  if (!from || !to) throw new Error("polytop ended too soon");
  const elapsed = to.at - from.at;
  return {
    process: (100 * (to.process - from.process)) / elapsed,
    sweeps: (100 * (to.bpf - from.bpf)) / elapsed,
    sums,
  };
}

const pool = (...args: string[]): Running => start(workload("pool.c"), args);

/** Page faults of a process, minor and major: fields 10 and 12 of proc_pid_stat(5). */
function faults(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return Number(fields[7]) + Number(fields[9]);
}

function costRows(what: string, { process, sweeps, sums }: Cost, most: number): Row[] {
  const rate = sums.snapshots.reduce((sum, it) => sum + it.frequency, 0) / sums.snapshots.length;
  const last = sums.snapshots.at(-1) as WaitSnapshot | undefined;
  return [
    {
      what: `${what}: CPU of the sweeps`,
      bar: `≤ ${most.toFixed(1)} % of one CPU`,
      figure: `${sweeps.toFixed(2)} %, ${rate.toFixed(1)} Hz, ${last?.waiting.threads} threads`,
      ok: sweeps <= most,
    },
    { what: `${what}: CPU of the whole process`, bar: "", figure: `${process.toFixed(2)} %` },
    {
      what: `${what}: time that was lost`,
      bar: "0",
      figure: `${(sums.missed / 1e9).toFixed(3)} of ${(sums.samples / 1e9).toFixed(0)} s`,
      ok: sums.missed === 0,
    },
  ];
}

/** Threads notice nothing: no page of theirs is faulted in. */
async function threads(
  idle: number,
  waking: number,
  most: number,
  span: Span = SHORT,
): Promise<Row[]> {
  const what = `${(idle + waking).toLocaleString("en")} threads`;
  return during([pool("threads", String(idle), String(waking))], async ([pid = -1]) => {
    await sleep(2 + idle / 2000);
    const before = faults(pid);
    const found = await cost(["--idle"], span);
    const caused = faults(pid) - before;
    return [
      ...costRows(what, found, most),
      {
        what: `${what}: page faults meanwhile`,
        bar: "0",
        figure: String(caused),
        ok: caused === 0,
      },
    ];
  });
}

/** How much of a process is swapped out: proc_pid_status(5). */
const swapped = (pid: number): string =>
  /^VmSwap:\s*(.*)$/m.exec(readFileSync(`/proc/${pid}/status`, "latin1"))?.[1] ?? "nothing";

/** A stack whose outer pages are elsewhere; see test/workloads/away.c. */
async function awayPages(kind: string, where: string): Promise<Row[]> {
  return during([start(workload("away.c"), [kind])], async ([pid = -1]) => {
    await sleep(1);
    const before = [faults(pid), swapped(pid)];
    const { sums } = await cost(["-p", String(pid), "--idle"]);
    const slow = sums.snapshots.filter(({ frequency }) => frequency < 5).length;
    const after = [faults(pid), swapped(pid)];
    const caused = Number(after[0]) - Number(before[0]);
    const isAway = kind !== "swap" || before[1] !== "0 kB";
    return [
      {
        what: `a stack on pages ${where}: refreshes without sweeps, faults, pages brought in`,
        bar: "0, 0, none",
        figure: `${slow}, ${caused}, swapped ${before[1]} and then ${after[1]}; the stack is ${sums.broken > 0 ? "broken" : "whole"}`,
        ok: slow === 0 && caused === 0 && before[1] === after[1] && isAway && sums.broken > 0,
      },
    ];
  });
}

const SWAP_BYTES = 64 << 20;

/** Does something on a machine that has room to swap to. */
async function withSwap<T>(work: () => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), "polytop-swap-"));
  const path = join(folder, "swap");
  try {
    writeFileSync(path, Buffer.alloc(SWAP_BYTES), { mode: 0o600 });
    execFileSync("mkswap", [path], { stdio: "ignore" });
    execFileSync("swapon", [path]);
    try {
      return await work();
    } finally {
      execFileSync("swapoff", [path]);
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const ROUNDS = 5;
const ROUND_SECONDS = 1.5;

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;

/** Switches of two processes on one CPU, in turn without polytop and beside it; by CPU time, which others take none of. */
async function switches(): Promise<Row[]> {
  const command = [workload("pool.c"), "switches", String(ROUND_SECONDS)];
  const rate = (): number =>
    Number(execFileSync("taskset", ["-c", "1", ...command], { encoding: "utf8" }));
  const [without, beside]: [number[], number[]] = [[], []];
  for (let round = 0; round < ROUNDS; round++) {
    without.push(rate());
    const run = sampleJson({ seconds: SETTLED_SECONDS, args: ["-e", "wait"], rows: 50 });
    await sleep(3);
    beside.push(rate());
    await run;
  }
  const part = median(beside) / median(without);
  return [
    {
      what: "passes over a pipe in a CPU second, two switches each, beside polytop : without",
      bar: "≥ 0.97",
      figure: `${part.toFixed(3)} (${median(beside)} : ${median(without)})`,
      ok: part >= 0.97,
    },
  ];
}

export const waitCosts: readonly Section[] = [
  {
    name: "waits",
    about: "looking at threads that wait: CPU, page faults, switches",
    run: () =>
      withStats(async () => [
        ...(await threads(1000, 50, 1)),
        ...costRows("an idle machine", await cost(), 0.3),
        ...(await threads(20_000, 0, 1, LONG)),
        ...(await switches()),
      ]),
  },
  {
    name: "away",
    about: "looking at threads whose stacks are on pages that are not in memory",
    run: () =>
      withStats(async () => [
        ...(await awayPages("userfaultfd", "that never come (userfaultfd)")),
        ...(await awayPages("fuse", "of a file system that answers no more (FUSE)")),
        ...(await withSwap(() => awayPages("swap", "that are swapped out"))),
      ]),
  },
];
