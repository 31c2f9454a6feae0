/** What the live view costs, in a real terminal. */
import { readFileSync } from "node:fs";
import type { TestTerminal } from "../../screen/terminal.ts";
import { compileLoop } from "../../support/loads.ts";
import type { Row, Section } from "../../support/measure.ts";
import { during, familyNanoseconds, sleep } from "../../support/profile.ts";
import { type BenchLoad, LOADS } from "./loads.ts";
import { close, openLive, openPerf, written } from "./terminals.ts";

const SETTLED_SECONDS = 5;
const MEASURED_SECONDS = 12;

/** Resident memory of a process in MB, VmRSS of proc_pid_status(5). */
const residentMegabytes = (pid: number): number =>
  (Number(/^VmRSS:\s*(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) * 1024) / 1e6;

interface View {
  /** Percent of one CPU. */
  readonly cpu: number;
  readonly megabytes: number;
  readonly bytesPerSecond: number;
  /** The first second that shows data, in percent of one CPU. */
  readonly firstSecond: number;
}

async function view(open: () => Promise<TestTerminal>): Promise<View> {
  const terminal = await open();
  try {
    const { pid } = terminal;
    const cpuIn = async (seconds: number): Promise<number> => {
      const [time, cpu] = [performance.now(), familyNanoseconds(pid)];
      await sleep(seconds);
      return (familyNanoseconds(pid) - cpu) / 1e4 / (performance.now() - time);
    };
    const firstSecond = await cpuIn(1);
    await sleep(SETTLED_SECONDS);
    const [time, bytes] = [performance.now(), written(terminal)];
    const cpu = await cpuIn(MEASURED_SECONDS);
    return {
      cpu,
      firstSecond,
      megabytes: residentMegabytes(pid),
      bytesPerSecond: ((written(terminal) - bytes) / (performance.now() - time)) * 1000,
    };
  } finally {
    await close(terminal);
  }
}

const FIRST_SECOND = 25;
const MEMORY = 130;

/** One after the other on the same load: at once each would be a part of what the other samples. */
async function costs({ title, start, bars }: BenchLoad): Promise<Row[]> {
  return during(start(), async () => {
    const own = await view(() => openLive(200, 60, { POLYTOP_BUDGET: "0" }));
    const perf = await view(() => openPerf(200, 60));
    return [
      {
        what: `${title}: live view, 200×60: CPU of the process and its children`,
        bar: `≤ ${bars.live.toFixed(1)} % of one CPU`,
        figure: `${own.cpu.toFixed(2)} %`,
        ok: own.cpu <= bars.live,
      },
      {
        what: "  against perf top -F 99 --call-graph fp in the same terminal",
        bar: `≤ ${perf.cpu.toFixed(2)} %, that of perf`,
        figure: `${(own.cpu / perf.cpu).toFixed(2)} × (${perf.megabytes.toFixed(0)} MB of perf)`,
        ok: own.cpu <= perf.cpu,
      },
      {
        what: `${title}: live view: the first second with data`,
        bar: `≤ ${FIRST_SECOND} % of one CPU`,
        figure: `${own.firstSecond.toFixed(1)} %`,
        ok: own.firstSecond <= FIRST_SECOND,
      },
      {
        what: `${title}: live view: resident memory after 20 seconds`,
        bar: `≤ ${MEMORY} MB`,
        figure: `${own.megabytes.toFixed(0)} MB`,
        ok: own.megabytes <= MEMORY,
      },
    ];
  });
}

async function bytes(): Promise<Row[]> {
  return during([compileLoop()], async () => {
    const { bytesPerSecond } = await view(() => openLive(120, 40));
    return [
      {
        what: "live view, 120×40, C++ compile: bytes to the terminal a refresh",
        bar: "≤ 5000",
        figure: bytesPerSecond.toFixed(0),
        ok: bytesPerSecond <= 5000,
      },
    ];
  });
}

const STARTS = 5;

async function starts(): Promise<Row[]> {
  const seconds: number[] = [];
  for (let i = 0; i < STARTS; i++) {
    const begin = performance.now();
    const terminal = await openLive(120, 40);
    seconds.push((performance.now() - begin) / 1000);
    await close(terminal);
  }
  const middle = seconds.sort((a, b) => a - b)[Math.floor(STARTS / 2)] ?? Number.NaN;
  return [
    {
      what: "start to the first screen with data",
      bar: "≤ 1.5 s",
      figure: `${middle.toFixed(2)} s (median of ${STARTS})`,
      ok: middle <= 1.5,
    },
  ];
}

const SOAK_MINUTES = 10;

/** Resident memory each half minute; what grows at the end as fast as at the beginning is a leak. */
async function soak({ title, start }: BenchLoad): Promise<Row[]> {
  return during(start(), async () => {
    const terminal = await openLive(200, 60);
    try {
      const megabytes: number[] = [];
      for (let i = 0; i < SOAK_MINUTES * 2; i++) {
        await sleep(30);
        megabytes.push(residentMegabytes(terminal.pid));
        if (process.env.POLYTOP_DEBUG) console.error(megabytes.at(-1)?.toFixed(1));
      }
      const mean = (from: number, to: number): number =>
        megabytes.slice(from, to).reduce((sum, it) => sum + it, 0) / (to - from);
      const [middle, end] = [mean(6, 12), mean(-6 + megabytes.length, megabytes.length)];
      const most = Math.max(...megabytes);
      return [
        {
          what: `${title}: live view, 200×60, ${SOAK_MINUTES} minutes: resident memory`,
          bar: `≤ ${MEMORY} MB`,
          figure: `${most.toFixed(0)} MB at most`,
          ok: most <= MEMORY,
        },
        {
          what: "  minutes 8 to 10 against minutes 4 to 6",
          bar: "≤ 1.05",
          figure: `${(end / middle).toFixed(3)} (${middle.toFixed(1)} → ${end.toFixed(1)} MB)`,
          ok: end <= 1.05 * middle,
        },
      ];
    } finally {
      await close(terminal);
    }
  });
}

export const viewCosts: readonly Section[] = [
  ...LOADS.map((load) => ({
    name: `view-${load.name}`,
    about: `the live view beside perf top: CPU, first second, memory; ${load.title}`,
    run: () => costs(load),
  })),
  { name: "bytes", about: "bytes to the terminal a refresh", run: bytes },
  { name: "start", about: "start to the first screen with data", run: starts },
  ...LOADS.map((load) => ({
    name: `soak-${load.name}`,
    about: `memory of the live view over ten minutes; ${load.title}`,
    onlyByName: true,
    run: () => soak(load),
  })),
];
