/** What the live view costs, in a real terminal. */
import { readFileSync } from "node:fs";
import { compileLoop } from "../../support/loads.ts";
import type { Row, Section } from "../../support/measure.ts";
import { during, sleep, threadNanoseconds } from "../../support/profile.ts";
import { close, openLive, written } from "./terminals.ts";

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
}

async function view(columns: number, rows: number): Promise<View> {
  const terminal = await openLive(columns, rows);
  try {
    await sleep(SETTLED_SECONDS);
    const { pid } = terminal;
    const before = {
      time: performance.now(),
      cpu: threadNanoseconds(pid),
      bytes: written(terminal),
    };
    await sleep(MEASURED_SECONDS);
    const elapsed = performance.now() - before.time;
    return {
      cpu: (threadNanoseconds(pid) - before.cpu) / 1e4 / elapsed,
      megabytes: residentMegabytes(pid),
      bytesPerSecond: ((written(terminal) - before.bytes) / elapsed) * 1000,
    };
  } finally {
    await close(terminal);
  }
}

async function costs(): Promise<Row[]> {
  return during([compileLoop()], async () => {
    const large = await view(200, 60);
    const usual = await view(120, 40);
    return [
      {
        what: "live view, 200×60, C++ compile: CPU of the process",
        bar: "≤ 2.2 % of one CPU",
        figure: `${large.cpu.toFixed(2)} %`,
        ok: large.cpu <= 2.2,
      },
      {
        what: "live view, 200×60: resident memory after 20 seconds",
        bar: "≤ 150 MB",
        figure: `${large.megabytes.toFixed(0)} MB`,
        ok: large.megabytes <= 150,
      },
      {
        what: "live view, 120×40, C++ compile: bytes to the terminal a refresh",
        bar: "≤ 5000",
        figure: usual.bytesPerSecond.toFixed(0),
        ok: usual.bytesPerSecond <= 5000,
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
async function soak(): Promise<Row[]> {
  return during([compileLoop()], async () => {
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
          what: `live view, 200×60, ${SOAK_MINUTES} minutes of C++ compile: resident memory`,
          bar: "≤ 150 MB",
          figure: `${most.toFixed(0)} MB at most`,
          ok: most <= 150,
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
  { name: "view", about: "CPU, memory and bytes a refresh of the live view", run: costs },
  { name: "start", about: "start to the first screen with data", run: starts },
  { name: "soak", about: "memory over ten minutes", onlyByName: true, run: soak },
];
