/** polytop and `perf record --call-graph dwarf` on the same load, at the same time. */
import { compileLoop } from "../../support/loads.ts";
import { percent, type Row, ratio, type Section } from "../../support/measure.ts";
import { type PerfStack, perfDwarf } from "../../support/perf.ts";
import {
  during,
  type FoldedStack,
  sampleFolded,
  sampleJson,
  share,
  sleep,
  start,
} from "../../support/profile.ts";
import { workload } from "../../support/workloads.ts";

const SECONDS = 20;

/** Where a process or a thread begins: programs, the dynamic linker, the C library, Go, the kernel. */
const BEGINNINGS =
  /^(_start|_dl_start_user|(__|__GI___)?clone3?|thread_start|runtime\.(goexit|mstart|rt0_go)(\.\w+)?|_rt0_amd64_linux|ret_from_fork\w*|(asm|entry|exc)_\w+)$/;

/** What these call, for programs whose beginning has no symbol. */
const FIRST_CALLED = /^(__libc_start_main(_impl)?|start_thread|_dl_start)$/;

/**
 * The one definition for both, root first: a stack is complete if its outermost frame is where a process,
 * a thread or an entry to the kernel begins, known by its own name or by what it calls.
 */
export const isComplete = (frames: readonly string[]): boolean =>
  BEGINNINGS.test(frames[0] ?? "") || FIRST_CALLED.test(frames[1] ?? "");

export const names = ({ frames }: FoldedStack): string[] =>
  frames.map((frame) => bare(frame.replace(/_\[k\]$/, "")));

export const perfNames = ({ frames }: PerfStack): string[] =>
  frames.map(({ name }) => bare(name)).reverse();

/** Without parameters, symbol versions, clone suffixes; glibc's memcpy and memmove are one function. */
const bare = (name: string): string =>
  name
    .replace(/@.*$/, "")
    .replace(/^__memcpy_/, "__memmove_")
    .replace(/\(.*$/, "")
    .replace(/\.(constprop|isra|part|cold)\..*$/, "");

export const hasName = (name: string): boolean =>
  name !== "" && !name.startsWith("[") && !/\+0x[0-9a-f]+$/.test(name);

/** Share of each function's own samples in all samples; those without a name are left out. */
function shares(selves: Iterable<readonly [string, number]>): Map<string, number> {
  const counts = new Map<string, number>();
  let all = 0;
  for (const [name, count] of selves) {
    all += count;
    if (hasName(name)) counts.set(bare(name), (counts.get(bare(name)) ?? 0) + count);
  }
  for (const [name, count] of counts) counts.set(name, count / all);
  return counts;
}

/** Programs of the load: what else the machine does need not be the same from one second to the next. */
const LOAD = ["split", "cc1plus", "as", "g++", "make"];

/** Differences that chance explains: four standard deviations, and what the second by which the two differ can hold. */
const noise = (truth: number, samples: number): number =>
  0.005 + 4 * Math.sqrt((2 * truth * (1 - truth)) / samples);

async function compare(): Promise<Row[]> {
  const load = [compileLoop(), start(workload("split.c"))];
  const [perf, sums, stacks] = await during(load, async () => {
    await sleep(1);
    // perf knows no interpreters: both show the native frames that execute Perl.
    const options = { seconds: SECONDS, args: ["--native-frames"] };
    return Promise.all([
      perfDwarf(SECONDS),
      sampleJson({ ...options, rows: 50 }),
      sampleFolded(options),
    ]);
  });
  const ours = share(stacks, (stack) => isComplete(names(stack)));
  const theirs = perf.stacks.filter((stack) => isComplete(perfNames(stack))).length;
  const bpf = sums.snapshots.reduce(
    (total, { samples, self }) => total + samples * self.bpfNanosecondsPerSample,
    0,
  );
  const cost = sums.cpuSeconds + bpf / 1e9;

  const ourLoad = stacks.filter(({ comm }) => LOAD.includes(comm));
  const ourShares = shares(ourLoad.map((stack) => [names(stack).at(-1) ?? "", stack.count]));
  const theirLoad = perf.stacks.filter(({ comm }) => LOAD.includes(comm));
  const theirShares = shares(theirLoad.map((stack) => [perfNames(stack).at(-1) ?? "", 1]));
  const top = [...theirShares].sort((a, b) => b[1] - a[1]).slice(0, 10);
  const off = top.map(([name, truth]) => {
    const difference = Math.abs((ourShares.get(name) ?? 0) - truth);
    return { name, points: 100 * difference, agrees: difference <= noise(truth, theirLoad.length) };
  });
  const agreeing = off.filter(({ agrees }) => agrees).length;
  const worst = off.reduce((a, b) => (b.points > a.points ? b : a), { name: "-", points: 0 });
  return [
    {
      what: "complete stacks, polytop and perf, by the same rule",
      bar: "≥ perf's",
      figure: `${percent(ours.hits, ours.samples, 1)}, perf ${percent(theirs, perf.stacks.length, 1)}`,
      samples: ours.samples,
      ok: ratio(ours.hits, ours.samples) >= ratio(theirs, perf.stacks.length),
    },
    {
      what: "CPU seconds: polytop with its start and BPF; perf record, perf script",
      bar: "< perf record, script",
      figure: `${cost.toFixed(2)}, perf ${perf.recordSeconds.toFixed(2)} + ${perf.scriptSeconds.toFixed(2)}`,
      samples: perf.stacks.length,
      ok: cost < perf.recordSeconds + perf.scriptSeconds,
    },
    {
      what: "perf's top 10 functions have the same share in polytop",
      bar: "10, to chance",
      figure: `${agreeing}, at most ${worst.points.toFixed(1)} points off (${worst.name})`,
      samples: theirLoad.length,
      ok: agreeing === top.length && top.length === 10,
    },
  ];
}

export const perf: readonly Section[] = [
  { name: "perf", about: "against perf record --call-graph dwarf in the same run", run: compare },
];
