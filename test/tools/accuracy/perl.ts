/** How right the stacks of Perl are: against caller(), and against programs whose truth is in their source. */
import { readdirSync, readFileSync } from "node:fs";
import type { Frame } from "../../../src/tick/store.ts";
import type { Tick } from "../../../src/tick/tick.ts";
import { liveTicks } from "../../support/live-ticks.ts";
import { Lacking, percent, type Row, ratio, type Section } from "../../support/measure.ts";
import {
  type Agreement,
  compareWithCaller,
  machinesPerl,
  type Perl,
  perlFrames,
  perlOf,
  perlPrograms,
  SUITES,
  startPerl,
  unthreadedPerl,
} from "../../support/perl.ts";
import { sleep, start } from "../../support/profile.ts";
import { type Stack, stackCounts } from "../../support/ticks.ts";
import { programs } from "./perl-programs.ts";

/** Programs that compare themselves with caller(); more of them in $POLYTOP_PERL_PROGRAMS. */
const folders = [perlPrograms, process.env.POLYTOP_PERL_PROGRAMS ?? ""].filter(Boolean);
const NO_TRUTH = /^(burn|churn|reuse|short|shares|workers|depth|w20_|xsw)/;

const FREQUENCY = 997;

function ofMachine(): Perl {
  const perl = machinesPerl();
  if (typeof perl === "string") throw new Lacking(perl);
  return perl;
}

/** Its version, and whether it has threads. */
const kindOf = ({ version, threads }: Perl): string =>
  version.replace(/\.\d+$/, threads ? "" : " without threads");

/** A section for each version of perl that can be had; the reasons why others cannot. */
async function eachPerl(section: (perl: Perl) => Promise<readonly Row[]>): Promise<Row[]> {
  const rows: Row[] = [];
  const done = new Set<string>();
  const suites = SUITES.map((suite) => () => perlOf(suite));
  for (const get of [machinesPerl, ...suites, unthreadedPerl]) {
    const perl = get();
    if (typeof perl === "string") {
      rows.push({ what: perl, bar: "", figure: "skipped" });
    } else if (!done.has(kindOf(perl))) {
      done.add(kindOf(perl));
      rows.push(...(await section(perl)));
    }
  }
  return rows;
}

async function sampleProgram(
  perl: Perl,
  name: string,
  seconds: number,
  args: readonly string[] = [],
): Promise<Tick[]> {
  const program = startPerl(perl, name, { args });
  try {
    await sleep(0.4);
    return await liveTicks({ seconds, frequency: FREQUENCY, pids: [program.pid] });
  } finally {
    await program.stop();
  }
}

/** All programs under one perl. */
export async function callerOf(perl: Perl): Promise<Row[]> {
  const sum: Agreement = {
    samples: 0,
    complete: 0,
    inside: 0,
    sameNames: 0,
    sameLines: 0,
    wrong: [],
  };
  for (const folder of folders) {
    for (const name of readdirSync(folder).filter((it) => /\.pl$/.test(it) && !NO_TRUTH.test(it))) {
      const program = startPerl(perl, name, { folder });
      // Phase blocks run once, at the start.
      await sleep(name.includes("phase") ? 0 : 0.3);
      const ticks = await liveTicks({ seconds: 2, frequency: FREQUENCY, pids: [program.pid] });
      await program.stop();
      const one = compareWithCaller(ticks, program.truth());
      for (const key of ["samples", "complete", "inside", "sameNames", "sameLines"] as const) {
        sum[key] += one[key];
      }
      if (process.env.POLYTOP_DEBUG) console.error(perl.version, name, one);
    }
  }
  const what = `perl ${perl.version}${perl.threads ? "" : " without threads"}:`;
  const names = ratio(sum.sameNames, sum.inside);
  const lines = ratio(sum.sameLines, sum.inside);
  const complete = ratio(sum.complete, sum.samples);
  return [
    {
      what: `${what} stacks identical with caller(): names, files, order`,
      bar: "≥ 99.5 %",
      figure: percent(sum.sameNames, sum.inside),
      samples: sum.inside,
      ok: names >= 0.995,
    },
    {
      what: `${what} … and every line`,
      bar: "≥ 99 %",
      figure: percent(sum.sameLines, sum.inside),
      samples: sum.inside,
      ok: lines >= 0.99,
    },
    {
      what: `${what} complete stacks`,
      bar: "≥ 99.5 %",
      figure: percent(sum.complete, sum.samples),
      samples: sum.samples,
      ok: complete >= 0.995,
    },
  ];
}

/** The comments `# calls: A B; …` of churn.pl: B may be called by A. */
function readCalls(): ReadonlySet<string> {
  const source = readFileSync(`${perlPrograms}/churn.pl`, "utf8");
  const calls = [...source.matchAll(/^# calls: (.*)$/gm)].flatMap(([, list = ""]) =>
    list.split(";").map((it) => it.trim()),
  );
  return new Set(calls);
}

const bare = (frame: Frame | undefined): string =>
  (frame?.function.name ?? "").replace(/^main::/, "");

/** Whether leaf and caller of a stack of churn.pl are ones that its source allows, and every line. */
function checkChurn(stack: Stack, calls: ReadonlySet<string>): { pair: boolean; lines: boolean } {
  const frames = perlFrames(stack).filter((it) => !it.function.name.startsWith("Thing::"));
  const subs = frames.filter((it) => it.function.name !== "main::__ANON__");
  const edges = subs.slice(0, -1).map((frame, i) => `${bare(subs[i + 1])} ${bare(frame)}`);
  const pair = calls.has(edges[0] ?? "") || (subs.length === 1 && bare(subs[0]) === "(main)");
  const lines = subs.every((frame) => {
    const expected = /^L(\d+)$/.exec(bare(frame))?.[1];
    return expected === undefined || Number(expected) === frame.line;
  });
  return { pair, lines: pair && lines };
}

async function churn(perl: Perl): Promise<Row[]> {
  const calls = readCalls();
  const ticks = await sampleProgram(perl, "churn.pl", 6);
  let samples = 0;
  let pairs = 0;
  let lines = 0;
  for (const { stack, count } of stackCounts(...ticks)) {
    if (perlFrames(stack).length === 0) continue;
    samples += count;
    const result = checkChurn(stack, calls);
    if (result.pair) pairs += count;
    if (result.lines) lines += count;
    if (!result.lines && process.env.POLYTOP_DEBUG) {
      console.error(
        result,
        perlFrames(stack)
          .map((it) => `${it.function.name}:${it.line} [${it.note ?? ""}]`)
          .join(" < "),
      );
    }
  }
  const what = `perl ${perl.version}, arbitrary instructions, calls are all it does:`;
  return [
    {
      what: `${what} leaf and caller`,
      bar: "≥ 99.5 %",
      figure: percent(pairs, samples),
      samples,
      ok: ratio(pairs, samples) >= 0.995,
    },
    {
      what: `${what} … and every line`,
      bar: "≥ 99 %",
      figure: percent(lines, samples),
      samples,
      ok: ratio(lines, samples) >= 0.99,
    },
  ];
}

async function reuse(): Promise<Row[]> {
  const ticks = await sampleProgram(ofMachine(), "reuse.pl", 28);
  let subs = 0;
  let wrong = 0;
  for (const { stack, count } of stackCounts(...ticks)) {
    const frames = perlFrames(stack);
    frames.forEach((frame, i) => {
      const number = /^main::made_(\d+)$/.exec(frame.function.name)?.[1];
      if (number === undefined) return;
      subs += count;
      const caller = frames[i + 1]?.function.name;
      if (frame.line !== Number(number) || caller !== `main::closure_${number}`) {
        wrong += count;
        if (process.env.POLYTOP_DEBUG)
          console.error(
            frames.slice(0, 4).map((it) => `${it.function.name}:${it.line} [${it.note ?? ""}]`),
          );
      }
    });
  }
  return [
    {
      what: "subs freed and made again at the same address: wrong names",
      bar: "0 in 5000",
      figure: String(wrong),
      samples: subs,
      ok: wrong === 0 && subs >= 5000,
    },
  ];
}

async function short(milliseconds: number, rounds: number): Promise<Row> {
  const program = `${perlPrograms}/short.pl`;
  const loop = start("sh", ["-c", `while :; do perl ${program} ${rounds}; done`]);
  const ticks = await liveTicks({ seconds: 12, frequency: 99 });
  await loop.stop();
  let samples = 0;
  let good = 0;
  const pids = new Set<number>();
  for (const { stack, task, count } of stackCounts(...ticks)) {
    if (task.comm !== "perl" || task.parentPid !== loop.pid) continue;
    pids.add(task.pid);
    samples += count;
    const named = perlFrames(stack).every((it) => !it.function.name.startsWith("["));
    if (stack.outcome === "complete" && named) good += count;
  }
  return {
    what: `processes of about ${milliseconds} ms (${pids.size} sampled), 99 Hz: stacks complete, subs named`,
    bar: "≥ 98 %",
    figure: percent(good, samples),
    samples,
    ok: ratio(good, samples) >= 0.98,
  };
}

const SHARES = {
  "main::named": 40,
  "Some::Package::method": 30,
  "main::__ANON__": 20,
  lexical: 10,
} as const;

export async function sharesOf(perl: Perl): Promise<Row[]> {
  const ticks = await sampleProgram(perl, "shares.pl", 10);
  const total = ticks.reduce((sum, { samples }) => sum + samples, 0);
  const off = Object.entries(SHARES).map(([name, truth]) => {
    const in_ = stackCounts(...ticks).filter(({ stack }) =>
      perlFrames(stack).some((it) => it.function.name === name),
    );
    const share = (100 * in_.reduce((sum, { count }) => sum + count, 0)) / total;
    return { share, points: Math.abs(share - truth) };
  });
  const worst = Math.max(...off.map(({ points }) => points));
  return [
    {
      what: "shares 40/30/20/10 of a named, a package, an anonymous, a lexical sub",
      bar: "within 3 points",
      figure: off.map(({ share }) => share.toFixed(1)).join(" / "),
      samples: total,
      ok: worst <= 3,
    },
  ];
}

async function workers(): Promise<Row[]> {
  const program = start("perl", [`${perlPrograms}/workers.pl`, "64"]);
  await sleep(0.5);
  const ticks = await liveTicks({ seconds: 5, frequency: FREQUENCY });
  await program.stop();
  const ids = new Map<string, Set<number>>();
  const pids = new Set<number>();
  for (const { stack, task } of stackCounts(...ticks)) {
    if (task.comm !== "perl") continue;
    for (const { function: sub } of perlFrames(stack)) {
      if (!/workers\.pl$/.test(sub.module)) continue;
      pids.add(task.pid);
      const known = ids.get(sub.name) ?? new Set();
      ids.set(sub.name, known.add(sub.id));
    }
  }
  const rows = [...ids.values()].reduce((sum, set) => sum + set.size, 0);
  return [
    {
      what: `64 workers of one script (${pids.size} sampled), ${ids.size} functions: rows`,
      bar: "one each",
      figure: String(rows),
      ok: rows === ids.size && rows >= 3 && pids.size > 32,
    },
  ];
}

/** The cheapest second of several: others use the machine too. */
async function cost(depth: number, shape: string, bar: number): Promise<Row> {
  const ticks = await sampleProgram(ofMachine(), "depth.pl", 6, [String(depth), shape]);
  const nanoseconds = ticks
    .filter((it) => it.samples > 20)
    .map(({ self }) => self.bpfNanosecondsPerSample);
  const figure = Math.min(...nanoseconds) / 1000;
  const frames = ticks.reduce((sum, { metrics }) => sum + (metrics.UnwindPerlFrames ?? 0), 0);
  const samples = ticks.reduce((sum, tick) => sum + tick.samples, 0);
  return {
    what: `BPF a sample, ${depth} Perl frames (${shape}; ${(frames / samples).toFixed(0)} found), 999 Hz`,
    bar: `≤ ${bar} µs`,
    figure: `${figure.toFixed(1)} µs`,
    samples,
    ok: figure <= bar,
  };
}

/** Sections for the table of `npm run accuracy`. */
export const perl: readonly Section[] = [
  {
    name: "perl-caller",
    about: "Perl stacks against caller(), each installed perl",
    run: () => eachPerl(callerOf),
  },
  {
    name: "perl-churn",
    about: "leaf, caller and lines at arbitrary instructions",
    run: () => eachPerl(churn),
  },
  { name: "perl-reuse", about: "names of subs that reuse addresses", run: reuse },
  {
    name: "perl-short",
    about: "processes that live a few milliseconds",
    run: async () => [await short(8, 3), await short(20, 14)],
  },
  {
    name: "perl-shares",
    about: "known shares of four kinds of subs",
    run: () => sharesOf(ofMachine()),
  },
  { name: "perl-programs", about: "programs of Debian, one with libperl in it", run: programs },
  { name: "perl-workers", about: "many processes of one script", run: workers },
  {
    name: "perl-cost",
    about: "nanoseconds of BPF a sample by depth",
    run: async () => [
      await cost(20, "chain", 8),
      await cost(100, "chain", 27),
      await cost(500, "recursion", 20),
    ],
  },
];

if (import.meta.main) {
  const { measure } = await import("../../support/measure.ts");
  process.exit((await measure(perl)) ? 0 : 1);
}
