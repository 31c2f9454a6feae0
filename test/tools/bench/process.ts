/** What polytop costs without a screen: the process, the kernel side, the first second, memory. */
import { mapBytes, runNanoseconds, withStats } from "../../support/bpftool.ts";
import { mean, percent, type Row, ratio, type Section } from "../../support/measure.ts";
import {
  during,
  familyNanoseconds,
  type Snapshot,
  sampleJson,
  sleep,
  sum,
} from "../../support/profile.ts";
import { type BenchLoad, LOADS, MEMORY } from "./loads.ts";

/** Starting up and learning the files that were running before is over by then. */
export const SETTLED_SECONDS = 5;
/** Long enough that what V8 compiles in its first half minute is a part of it and not the most of it. */
export const MEASURED_SECONDS = 30;

export interface Cost {
  /** What polytop and its children take, in percent of one CPU, as all that follow but for the last three. */
  readonly process: number;
  readonly bpf: number;
  /** The ticks that run BPF, as polytop counts them. */
  readonly ticks: number;
  /** All that the first refresh cost, as it says itself. */
  readonly firstRefresh: number;
  readonly samples: number;
  /** How many of the samples have a whole stack. */
  readonly complete: number;
  /** The most that was seen. */
  readonly mapBytes: number;
  readonly rssBytes: number;
}

/** Runs `polytop --json` and says what it cost from its fifth second on, for so many seconds. */
export async function cost(frequency: number, measuredSeconds = MEASURED_SECONDS): Promise<Cost> {
  const seen: { readonly at: number; readonly process: number; readonly bpf: number }[] = [];
  let most = 0;
  const sums = await sampleJson({
    // One line more than is measured: at the last one the process ends.
    seconds: SETTLED_SECONDS + measuredSeconds + 1,
    frequency,
    rows: 50,
    onLine: (line, pid) => {
      if (line !== SETTLED_SECONDS && line !== SETTLED_SECONDS + measuredSeconds) return;
      const at = performance.now() * 1e6;
      seen.push({ at, process: familyNanoseconds(pid), bpf: runNanoseconds(pid) });
      most = Math.max(most, mapBytes(pid));
    },
  });
  const [from, to] = seen;
  if (!from || !to) throw new Error("polytop ended too soon");
  const elapsed = to.at - from.at;
  const own = (of: (self: Snapshot["self"]) => number): number[] =>
    sums.snapshots.map(({ self }) => of(self));
  const measured = sum(sums.snapshots.slice(SETTLED_SECONDS, -1));
  return {
    process: (100 * (to.process - from.process)) / elapsed,
    bpf: (100 * (to.bpf - from.bpf)) / elapsed,
    ticks: mean(own(({ ticksCpuPercent }) => ticksCpuPercent).slice(SETTLED_SECONDS, -1)),
    firstRefresh: own(({ cpuPercent }) => cpuPercent)[0] ?? Number.NaN,
    samples: measured.samples,
    complete: measured.complete,
    mapBytes: most,
    rssBytes: Math.max(...own(({ rssBytes }) => rssBytes)),
  };
}

const FIRST_SECOND = 15;

async function costs({ title, start, bars }: BenchLoad): Promise<Row[]> {
  const [slow, fast] = await during(start(), () =>
    withStats(async () => {
      await sleep(1);
      return [await cost(99), await cost(999)] as const;
    }),
  );
  const maps = Math.max(slow.mapBytes, fast.mapBytes) / 1e6;
  const megabytes = ({ rssBytes }: Cost): string => `${(rssBytes / 1e6).toFixed(0)} MB`;
  const kernel = slow.bpf + slow.ticks;
  return [
    {
      what: `${title}: CPU of the process and its children, --json, 99 Hz`,
      bar: `≤ ${bars.process.toFixed(1)} % of one CPU`,
      figure: `${slow.process.toFixed(2)} %`,
      samples: slow.samples,
      ok: slow.process <= bars.process,
    },
    {
      what: `${title}: BPF and its ticks, 99 Hz`,
      bar: `≤ ${bars.kernel.toFixed(2)} % of one CPU`,
      figure: `${kernel.toFixed(2)} % (BPF ${slow.bpf.toFixed(2)}, ticks ${slow.ticks.toFixed(2)})`,
      samples: slow.samples,
      ok: kernel <= bars.kernel,
    },
    {
      what: `${title}: CPU of the process at 999 Hz, times that at 99 Hz`,
      bar: "≤ 2",
      figure: `${(fast.process / slow.process).toFixed(2)} (${fast.process.toFixed(2)} %, BPF ${fast.bpf.toFixed(2)} %)`,
      samples: fast.samples,
      ok: fast.process <= 2 * slow.process,
    },
    {
      what: `${title}: complete stacks, 99 Hz`,
      bar: `≥ ${bars.complete} %`,
      figure: percent(slow.complete, slow.samples),
      samples: slow.samples,
      ok: ratio(slow.complete, slow.samples) >= bars.complete / 100,
    },
    {
      what: `${title}: all of the first refresh, 99 Hz`,
      bar: `≤ ${FIRST_SECOND} % of one CPU`,
      figure: `${slow.firstRefresh.toFixed(1)} %`,
      ok: slow.firstRefresh <= FIRST_SECOND,
    },
    {
      what: `${title}: resident memory, at most, 99 Hz`,
      bar: `≤ ${MEMORY.process} MB`,
      figure: `${megabytes(slow)} (999 Hz: ${megabytes(fast)})`,
      ok: slow.rssBytes <= MEMORY.process * 1e6,
    },
    {
      what: `${title}: kernel memory of the maps`,
      bar: `≤ ${bars.megabytes} MB`,
      figure: `${maps.toFixed(1)} MB`,
      ok: maps <= bars.megabytes,
    },
  ];
}

export const processCosts: readonly Section[] = LOADS.map((load) => ({
  name: load.name,
  about: `without a screen: CPU, kernel, first second, memory; ${load.title}`,
  run: () => costs(load),
}));
