/** Completeness and shares of native code. */
import { cpus } from "node:os";
import { compileLoop, PERL_LOOP, perlLoop, SHORT_C, shortLoop } from "../../support/loads.ts";
import { percent, type Row, ratio, type Section } from "../../support/measure.ts";
import {
  during,
  type FoldedStack,
  type Running,
  sampleFolded,
  sampleJson,
  share,
  sleep,
  start,
} from "../../support/profile.ts";
import { workload } from "../../support/workloads.ts";

/** Frames without the kernel's. */
const userFrames = ({ frames }: FoldedStack): readonly string[] =>
  frames.filter((frame) => !frame.endsWith("_[k]"));

/** Whether the stack is _start, glibc's two, main, descend `depth` times and leaf, and nothing else. */
function isWholeChain(stack: FoldedStack, depth: number): boolean {
  const frames = userFrames(stack);
  return (
    frames.length === depth + 5 &&
    frames[0] === "_start" &&
    frames[3] === "main" &&
    frames.slice(4, -1).every((frame) => frame === "descend") &&
    frames.at(-1) === "leaf"
  );
}

async function deep(depth: number): Promise<Row[]> {
  const program = workload("deep.c");
  const what = `C program without frame pointers, ${depth} deep`;
  const still = start(program, [String(depth)]);
  const waves = start(program, [String(depth), "waves"]);
  return during([still, waves], async () => {
    const options = { seconds: 6, frequency: 999 };
    const [sums, stacks] = await Promise.all([
      sampleJson({ ...options, pids: [still.pid, waves.pid] }),
      sampleFolded({ ...options, pids: [still.pid] }),
    ]);
    const chain = share(stacks, (stack) => isWholeChain(stack, depth));
    return [
      {
        what: `${what}: complete stacks`,
        bar: "≥ 99.9 %",
        figure: percent(sums.complete, sums.samples, 3),
        samples: sums.samples,
        ok: ratio(sums.complete, sums.samples) >= 0.999,
      },
      {
        what: `${what}: every frame of the chain`,
        bar: "≥ 99.9 %",
        figure: percent(chain.hits, chain.samples, 3),
        samples: chain.samples,
        ok: ratio(chain.hits, chain.samples) >= 0.999,
      },
    ];
  });
}

const SHARES = { sixty: 60, thirty: 30, ten: 10 } as const;

async function split(): Promise<Row[]> {
  const programs = [start(workload("split.c")), start(workload("split.c"))];
  const sums = await during(programs, (pids) => sampleJson({ seconds: 12, frequency: 199, pids }));
  const off = Object.entries(SHARES).map(([name, truth]) => {
    const measured = 100 * ratio(sums.self.get(name) ?? 0, sums.samples);
    return { text: `${measured.toFixed(1)}`, points: Math.abs(measured - truth) };
  });
  const worst = Math.max(...off.map(({ points }) => points));
  return [
    {
      what: "shares of functions that use 60/30/10 % of the CPU",
      bar: "within 3 points",
      figure: `${off.map(({ text }) => text).join("/")}: off by ${worst.toFixed(1)}`,
      samples: sums.samples,
      ok: worst <= 3 && sums.samples >= 1500,
    },
  ];
}

async function compile(): Promise<Row[]> {
  const sums = await during([compileLoop()], async () => {
    // Some of the time before the first sample: the compilers are at work, the disk is warm.
    await sleep(1);
    return sampleJson({ seconds: 20 });
  });
  const losses = sums.missed > 0 ? `, ${sums.missed} missed` : "";
  return [
    {
      what: "whole machine under a C++ compile, 99 Hz: complete",
      bar: "≥ 98.5 %",
      figure: percent(sums.complete, sums.samples) + losses,
      samples: sums.samples,
      ok: ratio(sums.complete, sums.samples) >= 0.985,
    },
  ];
}

/** A frame that has a name: none of the reasons, which stand in brackets, and no bare address. */
const isNamed = (frame: string): boolean => !frame.startsWith("[");

/** The end of a broken stack is a reason; a truncated one is far longer than any of this load. */
const isComplete = ({ frames }: FoldedStack): boolean =>
  !frames[0]?.startsWith("[") && frames.length < 128;

const byOffset = (frame: string): boolean => /\+0x[0-9a-f]+$/.test(frame);

/** Processes that live 15 ms each, and what keeps the machine busy beside them. */
async function shortLived(
  what: string,
  comms: readonly string[],
  programs: () => readonly Running[],
): Promise<Row[]> {
  const options = { seconds: SHORT_SECONDS, frequency: 499 };
  const stacks = await during(programs(), () => sampleFolded(options));
  const ours = stacks.filter(({ comm }) => comms.includes(comm));
  const whole = share(ours, isComplete);
  const named = share(ours, (stack) => isComplete(stack) && stack.frames.every(isNamed));
  const [most] = ours.filter((it) => !isComplete(it)).toSorted((a, b) => b.count - a.count);
  const others = most ? `; ${most.frames[0]} at ${most.frames.at(1) ?? "the leaf"}` : "";
  const offsets = share(ours, (stack) => stack.frames.some(byOffset));
  return [
    {
      what: `${what} of 15 ms each: complete${others}`,
      bar: "≥ 99.5 %",
      figure: percent(whole.hits, whole.samples),
      samples: whole.samples,
      ok: ratio(whole.hits, whole.samples) >= 0.995,
    },
    {
      what: "  complete, and every frame has a name",
      bar: "≥ 98 %",
      figure: percent(named.hits, named.samples),
      samples: named.samples,
      ok: ratio(named.hits, named.samples) >= 0.98,
    },
    {
      what: "  with a function that has no symbol (object+0x…)",
      bar: "",
      figure: percent(offsets.hits, offsets.samples),
    },
  ];
}

const SHORT_SECONDS = 12;

async function short(): Promise<Row[]> {
  const busy = (): Running[] => cpus().map(() => start(workload("deep.c"), ["10"]));
  const perls = Object.values(PERL_LOOP);
  const programs = [PERL_LOOP.shell, SHORT_C];
  return [
    ...(await shortLived("perls", perls, () => [perlLoop()])),
    ...(await shortLived("perls beside busy CPUs,", perls, () => [perlLoop(), ...busy()])),
    ...(await shortLived("C programs", programs, () => [shortLoop()])),
    ...(await shortLived("C programs beside busy CPUs,", programs, () => [shortLoop(), ...busy()])),
  ];
}

export const native: readonly Section[] = [
  {
    name: "deep",
    about: "stacks 40 and 120 deep of a program without frame pointers",
    run: async () => [...(await deep(40)), ...(await deep(120))],
  },
  { name: "split", about: "shares of three functions with a known split", run: split },
  {
    name: "compile",
    about: "complete stacks of the whole machine under a C++ compile",
    run: compile,
  },
  { name: "short", about: "complete and named stacks of processes that live 15 ms", run: short },
];
