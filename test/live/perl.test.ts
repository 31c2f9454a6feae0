/** Stacks of Perl programs against caller(), for each construct and several perls; libperl in another program. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { describe, expect, onTestFinished, test } from "vitest";
import type { Tick } from "../../src/tick/tick.ts";
import { liveTicks } from "../support/live-ticks.ts";
import {
  compareWithCaller,
  embeddedPerl,
  expectPerlSums,
  machinesPerl,
  type Perl,
  perlFrames,
  perlOf,
  SUITES,
  startPerl,
  unthreadedPerl,
} from "../support/perl.ts";
import { needsSampling } from "../support/polytop.ts";
import { during, hasRun, start } from "../support/profile.ts";
import { stackCounts } from "../support/ticks.ts";
import { sumMetric } from "../support/walks.ts";

const PROGRAMS = ["subs", "sort", "magic", "evals", "phases", "threads", "calls-from-c", "lines"];

const machine = machinesPerl();
const unthreaded = unthreadedPerl();
interface TestedPerl {
  readonly name: string;
  readonly programs: readonly string[];
  readonly get: () => Perl | string;
}
const perls: readonly TestedPerl[] = [
  { name: "the machine's perl", programs: PROGRAMS, get: () => machine },
  ...SUITES.map((suite) => ({
    name: `the perl of ${suite}`,
    programs: PROGRAMS,
    get: () => perlOf(suite),
  })),
];
// To build it takes minutes: it is tested where it was built.
const unthreadedPerls: readonly TestedPerl[] = [
  {
    name: "a perl without threads",
    programs: PROGRAMS.filter((it) => it !== "threads"),
    get: () => unthreaded,
  },
];

const all = typeof unthreaded === "string" ? perls : [...perls, ...unthreadedPerls];

/** What came of a program: the samples of all, and what caller() said in it. */
interface Sampled {
  readonly ticks: readonly Tick[];
  readonly pid: number;
  readonly truth: ReadonlySet<string>;
}

/** Samples programs that run side by side: each gets a part of the CPUs, at a rate that makes up for it. */
async function sampleTogether(perl: Perl, names: readonly string[]): Promise<Map<string, Sampled>> {
  const programs = names.map((name) => startPerl(perl, `${name}.pl`));
  const ticks = await during(programs, async (pids) => {
    // This one ends by itself: it is met where it is.
    for (const [at, pid] of pids.entries()) if (names[at] !== "phases") await hasRun(pid, 0.3);
    return liveTicks({ seconds: Math.max(2, names.length - 2), frequency: 999, pids });
  });
  return new Map(
    programs.map(({ pid, truth }, at) => [names[at] ?? "", { ticks, pid, truth: truth() }]),
  );
}

describe.each(all)("$name", ({ programs, get }) => {
  let together: Promise<Map<string, Sampled>> | undefined;
  const sample = (perl: Perl, name: string): Promise<Map<string, Sampled>> => {
    if (name === "phases") return sampleTogether(perl, [name]);
    together ??= sampleTogether(
      perl,
      programs.filter((it) => it !== "phases"),
    );
    return together;
  };

  test.for(programs)("%s.pl: as caller() says", async (name, context) => {
    needsSampling(context);
    const perl = get();
    if (typeof perl === "string") return context.skip(perl);
    const sampled = (await sample(perl, name)).get(name);
    if (!sampled) throw new Error(`${name}.pl was not sampled`);
    const { ticks, pid, truth } = sampled;
    const agreement = compareWithCaller(ticks, truth, pid);
    expect(agreement.inside, JSON.stringify(agreement)).toBeGreaterThan(0);
    expect(agreement.sameNames / agreement.inside, agreement.wrong.join("\n")).toBeGreaterThan(
      0.99,
    );
    expect(agreement.sameLines / agreement.inside, agreement.wrong.join("\n")).toBeGreaterThan(
      0.99,
    );
    expect(sumMetric(ticks, "UnwindPerlUnpaired")).toBe(0);
    expectPerlSums(ticks);
  });
});

test("subs and methods written in C have their own name, and hide their C function", async (context) => {
  needsSampling(context);
  if (typeof machine === "string") return context.skip(machine);
  const script = `use Digest::SHA "sha512_hex"; my $d = "x" x 1e6; my $sum = Digest::SHA->new(512);
    sub sums { sha512_hex($d) } sub adds { $sum->add($d) } while (1) { sums(); adds() }`;
  const program = start("perl", ["-e", script]);
  const ticks = await during([program], ([pid = 0]) =>
    liveTicks({ seconds: 2, frequency: 499, pids: [pid] }),
  );
  const names = stackCounts(...ticks).map(({ stack }) =>
    perlFrames(stack)
      .map((it) => it.function.name)
      .join(" < "),
  );
  expect(names).toContain("Digest::SHA::sha512_hex < main::sums < (main)");
  expect(names).toContain("Digest::SHA::add < main::adds < (main)");
});

test("deeper than the limit: truncated, the inner frames are right", async (context) => {
  needsSampling(context);
  if (typeof machine === "string") return context.skip(machine);
  const program = startPerl(machine, "depth.pl", { args: ["3000", "recursion"] });
  const ticks = await during([program], ([pid = 0]) =>
    liveTicks({ seconds: 2, frequency: 499, pids: [pid] }),
  );
  const stacks = stackCounts(...ticks).filter(({ stack }) => perlFrames(stack).length > 100);
  expect(stacks.length).toBeGreaterThan(0);
  for (const { stack } of stacks) {
    expect(stack.outcome).toBe("truncated");
    expect(perlFrames(stack).some((it) => it.function.name === "(main)")).toBe(false);
  }
  expectPerlSums(ticks);
});

test("names of any length and any bytes", async (context) => {
  needsSampling(context);
  if (typeof machine === "string") return context.skip(machine);
  const program = startPerl(machine, "names.pl");
  const ticks = await during([program], ([pid = 0]) =>
    liveTicks({ seconds: 2, frequency: 499, pids: [pid] }),
  );
  const names = new Set(
    stackCounts(...ticks).flatMap(({ stack }) => perlFrames(stack).map((it) => it.function.name)),
  );
  expect(names).toContain(`main::${"n".repeat(256)}…`);
  expect(names).toContain("main::e\\x1b[31mred");
  expect(names).toContain("main::café");
  expect(names).toContain("main::☺");
  for (const name of names) expect(name).not.toMatch(/\p{Cc}/u);
});

test("libperl in a C program: two interpreters, each in its thread", async (context) => {
  needsSampling(context);
  const program = embeddedPerl("embed.c");
  if (program.path === "") return context.skip(program.why);
  const ticks = await during([start(program.path, writeScripts())], async ([pid = 0]) => {
    await hasRun(pid, 0.3);
    return liveTicks({ seconds: 2, frequency: 499, pids: [pid] });
  });
  const stacks = stackCounts(...ticks).map(({ stack }) => stack);
  const names = new Set(
    stacks.map((it) =>
      perlFrames(it)
        .map((f) => f.function.name)
        .join(" < "),
    ),
  );
  expect(names).toContain("First::spin < main::forever");
  expect(names).toContain("Second::spin < main::forever");
  for (const name of names) expect(name).not.toMatch(/First.*Second|Second.*First|\[/);
  expectPerlSums(ticks);
});

/** Two scripts with a sub `forever` each, in a package of the script's name. */
function writeScripts(): string[] {
  const folder = mkdtempSync(`${tmpdir()}/polytop-embed-`);
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return ["First", "Second"].map((name) => {
    const script = `${folder}/${name}.pl`;
    const spin = "{ my $t = 0; $t += $_ for 1 .. 5000; $t }";
    writeFileSync(
      script,
      `package ${name}; sub spin ${spin} package main; sub forever { ${name}::spin() while 1 }\n1;\n`,
    );
    return script;
  });
}
