/** What polytop costs once it has run for a while: ten minutes of each load, without a screen and in a real terminal. */
import { mean, type Row, type Section } from "../../support/measure.ts";
import { launcher } from "../../support/polytop.ts";
import { during, familyNanoseconds, type Running, sleep, start } from "../../support/profile.ts";
import { residentMegabytes } from "../../support/watched.ts";
import { type BenchLoad, LOADS, MEMORY } from "./loads.ts";
import { close, openLive } from "./terminals.ts";

const MINUTES = 10;
const LOOKS_A_MINUTE = 2;

/** What was seen at one moment. */
interface Look {
  readonly megabytes: number;
  /** CPU time so far of the process and its children, and the time by the clock. */
  readonly nanoseconds: number;
  readonly at: number;
}

/** One of the two, what it may cost, and what it did. */
interface Soaked {
  readonly what: string;
  readonly pid: number;
  readonly megabytes: number;
  readonly percent: number;
  readonly looks: Look[];
}

function look({ pid, looks }: Soaked): void {
  looks.push({
    megabytes: residentMegabytes(pid),
    nanoseconds: familyNanoseconds(pid),
    at: performance.now() * 1e6,
  });
  if (process.env.POLYTOP_DEBUG) console.error(looks.at(-1));
}

/** The looks of these minutes, the first minute being 0. */
const within = (looks: readonly Look[], from: number, to: number): readonly Look[] =>
  looks.slice(from * LOOKS_A_MINUTE, to * LOOKS_A_MINUTE);

const meanMegabytes = (looks: readonly Look[]): number => mean(looks.map((it) => it.megabytes));

/** In percent of one CPU, from the first of the looks to the last. */
function percentOfCpu(looks: readonly Look[]): number {
  const [first, last] = [looks[0], looks.at(-1)];
  if (!first || !last) return Number.NaN;
  return (100 * (last.nanoseconds - first.nanoseconds)) / (last.at - first.at);
}

function rowsOf({ what, megabytes, percent, looks }: Soaked): Row[] {
  const most = Math.max(...looks.map((it) => it.megabytes));
  const middle = meanMegabytes(within(looks, 4, 6));
  const end = meanMegabytes(within(looks, 8, MINUTES));
  const cpu = percentOfCpu(within(looks, 5, MINUTES));
  return [
    {
      what: `${what}: CPU of the process and its children, minutes 5 to ${MINUTES}`,
      bar: `≤ ${percent.toFixed(1)} % of one CPU`,
      figure: `${cpu.toFixed(2)} %`,
      ok: cpu <= percent,
    },
    {
      what: `  resident memory in ${MINUTES} minutes`,
      bar: `≤ ${megabytes} MB`,
      figure: `${most.toFixed(0)} MB at most`,
      ok: most <= megabytes,
    },
    {
      what: `  minutes 8 to ${MINUTES} against minutes 4 to 6`,
      bar: "≤ 1.05",
      figure: `${(end / middle).toFixed(3)} (${middle.toFixed(1)} → ${end.toFixed(1)} MB)`,
      ok: end <= 1.05 * middle,
    },
  ];
}

/** Starts one without a screen; what it prints goes nowhere. */
const openJson = (): Running => start("env", ["POLYTOP_BUDGET=0", launcher, "--json"]);

/** Both beside each other on the same load: each is a small part of what the other samples. */
async function soak({ title, start: begin, bars }: BenchLoad): Promise<Row[]> {
  const load = begin();
  const json = openJson();
  return during([...load, json], async () => {
    const terminal = await openLive(200, 60, { POLYTOP_BUDGET: "0" });
    const one = (what: string, pid: number, of: "process" | "live"): Soaked => ({
      what: `${title}: ${what}`,
      pid,
      megabytes: MEMORY[of],
      percent: bars[of],
      looks: [],
    });
    const both = [
      one("--json", json.pid, "process"),
      one("live view, 200×60", terminal.pid, "live"),
    ];
    try {
      for (let i = 0; i < MINUTES * LOOKS_A_MINUTE; i++) {
        await sleep(60 / LOOKS_A_MINUTE);
        both.forEach(look);
      }
      return both.flatMap(rowsOf);
    } finally {
      await close(terminal);
    }
  });
}

export const soaks: readonly Section[] = LOADS.map((load) => ({
  name: `soak-${load.name}`,
  about: `ten minutes of --json and the live view beside each other: CPU, memory; ${load.title}`,
  onlyByName: true,
  run: () => soak(load),
}));
