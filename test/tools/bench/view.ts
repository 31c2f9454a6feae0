/** What the live view costs, in a real terminal. */
import type { TestTerminal } from "../../screen/terminal.ts";
import { compileLoop } from "../../support/loads.ts";
import type { Row, Section } from "../../support/measure.ts";
import { during, familyPercent, sleep } from "../../support/profile.ts";
import { residentMegabytes } from "../../support/watched.ts";
import { type BenchLoad, LOADS, MEMORY } from "./loads.ts";
import { close, openLive, openPerf, written } from "./terminals.ts";

const SETTLED_SECONDS = 5;
const MEASURED_SECONDS = 12;

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
    const firstSecond = await familyPercent(pid, 1);
    await sleep(SETTLED_SECONDS);
    const [time, bytes] = [performance.now(), written(terminal)];
    const cpu = await familyPercent(pid, MEASURED_SECONDS);
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
        bar: `≤ ${MEMORY.live} MB`,
        figure: `${own.megabytes.toFixed(0)} MB`,
        ok: own.megabytes <= MEMORY.live,
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

export const viewCosts: readonly Section[] = [
  ...LOADS.map((load) => ({
    name: `view-${load.name}`,
    about: `the live view beside perf top: CPU, first second, memory; ${load.title}`,
    run: () => costs(load),
  })),
  { name: "bytes", about: "bytes to the terminal a refresh", run: bytes },
  { name: "start", about: "start to the first screen with data", run: starts },
];
