/** What the polytop process costs without a screen, and its kernel memory. */
import { mapBytes, runNanoseconds, withStats } from "../../support/bpftool.ts";
import {
  compileLoop,
  dotnetBuilds,
  dotnetStarts,
  execLoops,
  hotLoops,
  perlLoop,
  podLoops,
  rustLoop,
} from "../../support/loads.ts";
import { percent, type Row, ratio, type Section } from "../../support/measure.ts";
import {
  during,
  type Running,
  sampleJson,
  sleep,
  sum,
  threadNanoseconds,
} from "../../support/profile.ts";

/** Starting up and learning the files that were running before is over by then. */
const SETTLED_SECONDS = 5;
/** Long enough that what V8 compiles in its first half minute is a part of it and not the most of it. */
const MEASURED_SECONDS = 30;

interface Cost {
  /** Percent of one CPU. */
  readonly process: number;
  readonly bpf: number;
  readonly samples: number;
  /** How many of the samples have a whole stack. */
  readonly complete: number;
  /** The most that was seen. */
  readonly mapBytes: number;
}

/** Runs `polytop --json` and says what it cost from its fifth second on. */
async function cost(frequency: number): Promise<Cost> {
  const seen: { readonly at: number; readonly process: number; readonly bpf: number }[] = [];
  let most = 0;
  const sums = await sampleJson({
    // One line more than is measured: at the last one the process ends.
    seconds: SETTLED_SECONDS + MEASURED_SECONDS + 1,
    frequency,
    rows: 50,
    onLine: (line, pid) => {
      if (line !== SETTLED_SECONDS && line !== SETTLED_SECONDS + MEASURED_SECONDS) return;
      const at = performance.now() * 1e6;
      seen.push({ at, process: threadNanoseconds(pid), bpf: runNanoseconds(pid) });
      most = Math.max(most, mapBytes(pid));
    },
  });
  const [from, to] = seen;
  if (!from || !to) throw new Error("polytop ended too soon");
  const elapsed = to.at - from.at;
  const measured = sum(sums.snapshots.slice(SETTLED_SECONDS, -1));
  return {
    process: (100 * (to.process - from.process)) / elapsed,
    bpf: (100 * (to.bpf - from.bpf)) / elapsed,
    samples: measured.samples,
    complete: measured.complete,
    mapBytes: most,
  };
}

/** What a load may cost, in percent of one CPU and in MB, and how many stacks must be whole. */
interface Bars {
  readonly process: number;
  readonly bpf: number;
  readonly megabytes: number;
  readonly complete: number;
}

async function costs(name: string, load: () => readonly Running[], bars: Bars): Promise<Row[]> {
  const [slow, fast] = await during(load(), () =>
    withStats(async () => {
      await sleep(1);
      return [await cost(99), await cost(999)] as const;
    }),
  );
  const megabytes = Math.max(slow.mapBytes, fast.mapBytes) / 1e6;
  return [
    {
      what: `${name}: CPU of the process, --json, 99 Hz`,
      bar: `≤ ${bars.process.toFixed(1)} % of one CPU`,
      figure: `${slow.process.toFixed(2)} %`,
      samples: slow.samples,
      ok: slow.process <= bars.process,
    },
    {
      what: `${name}: CPU of its BPF program, 99 Hz`,
      bar: `≤ ${bars.bpf.toFixed(1)} % of one CPU`,
      figure: `${slow.bpf.toFixed(2)} %`,
      samples: slow.samples,
      ok: slow.bpf <= bars.bpf,
    },
    {
      what: `${name}: CPU of the process at 999 Hz, times that at 99 Hz`,
      bar: "≤ 2",
      figure: `${(fast.process / slow.process).toFixed(2)} (${fast.process.toFixed(2)} %, BPF ${fast.bpf.toFixed(2)} %)`,
      samples: fast.samples,
      ok: fast.process <= 2 * slow.process,
    },
    {
      what: `${name}: complete stacks, 99 Hz`,
      bar: `≥ ${bars.complete} %`,
      figure: percent(slow.complete, slow.samples),
      samples: slow.samples,
      ok: ratio(slow.complete, slow.samples) >= bars.complete / 100,
    },
    {
      what: `${name}: kernel memory of the maps, whole machine`,
      bar: `≤ ${bars.megabytes} MB`,
      figure: `${megabytes.toFixed(1)} MB`,
      ok: megabytes <= bars.megabytes,
    },
  ];
}

const USUAL: Bars = { process: 1, bpf: 0.6, megabytes: 24, complete: 98.5 };
/** Of loads that once cost a multiple of this. */
const HARD: Bars = { process: 0.8, bpf: 0.5, megabytes: 24, complete: 98 };

/** Most of what these run was compiled a moment ago, in a process that is new. */
const DOTNET_STARTS: Bars = { process: 2.5, bpf: 0.5, megabytes: 24, complete: 98 };
const DOTNET_BUILD: Bars = { process: 3, bpf: 0.5, megabytes: 34, complete: 98 };

export const processCosts: readonly Section[] = [
  {
    name: "hot",
    about: "CPU and kernel memory while hot loops run on all CPUs",
    run: () => costs("hot loops", hotLoops, USUAL),
  },
  {
    name: "compile",
    about: "CPU and kernel memory while C++ is compiled",
    run: () => costs("C++ compile", () => [compileLoop()], USUAL),
  },
  {
    name: "dotnet-starts",
    about: "the same beside a single-file .NET program that starts again and again",
    run: () => costs("single-file .NET starts", () => [dotnetStarts()], DOTNET_STARTS),
  },
  {
    name: "dotnet-build",
    about: "the same beside a .NET build again and again",
    run: () => costs("dotnet build", () => [dotnetBuilds()], DOTNET_BUILD),
  },
  {
    name: "execs",
    about: "the same while programs start all the time",
    run: () => costs("1,400 starts a second", execLoops, HARD),
  },
  {
    name: "perls",
    about: "the same while perls of 15 ms run one after the other",
    run: () => costs("perls of 15 ms", () => [perlLoop()], HARD),
  },
  {
    name: "pod",
    about: "the same while one Perl program makes many different stacks",
    run: () => costs("Pod::Man", podLoops, HARD),
  },
  {
    name: "rust",
    about: "the same while a Rust program of one line is compiled: three large files",
    run: () => costs("rustc", () => [rustLoop()], { ...HARD, megabytes: 34, complete: 99.5 }),
  },
];
