/** Perls that polytop was not made for, and interpreters whose memory lies: counted reasons, never a wrong name. */
import { chmodSync, copyFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Tick } from "../../src/tick/tick.ts";
import { symbolOffset } from "../support/elf.ts";
import { withFolder } from "../support/live.ts";
import { liveTicks } from "../support/live-ticks.ts";
import { embeddedPerl, expectPerlSums, machinesPerl, perlFrames } from "../support/perl.ts";
import { needsSampling } from "../support/polytop.ts";
import { during, type Running, start } from "../support/profile.ts";
import { stackCounts } from "../support/ticks.ts";
import { sumMetric } from "../support/walks.ts";

const SCRIPT =
  "package Right; sub inner { my $t = 0; $t += $_ for 1 .. 2000 } sub outer { inner() while 1 } outer()";
const RIGHT = /^(Right::(inner|outer)|\(main\))$/;

const sample = (program: Running, seconds = 3): Promise<Tick[]> =>
  during([program], ([pid = 0]) => liveTicks({ seconds, frequency: 499, pids: [pid] }));

/** The names of the Perl frames, and of the reasons why there are no more. */
function namesOf(ticks: readonly Tick[]): { names: Set<string>; reasons: Set<string> } {
  const all = stackCounts(...ticks).flatMap(({ stack }) =>
    perlFrames(stack).map((it) => it.function.name),
  );
  const isReason = (name: string) => name.startsWith("[");
  return {
    names: new Set(all.filter((it) => !isReason(it))),
    reasons: new Set(all.filter(isReason)),
  };
}

/** Samples the machine's perl under another version number. */
function sampleVersion(minor: number): Promise<Tick[]> {
  return withFolder(async (folder) => {
    const path = join(folder, "perl");
    copyFileSync("/usr/bin/perl", path);
    chmodSync(path, 0o755);
    const elf = readFileSync(path);
    elf.writeUInt8(minor, symbolOffset(elf, "PL_version"));
    writeFileSync(path, elf);
    return sample(start(path, ["-e", SCRIPT]));
  });
}

test("a version that is newer than what was tried is checked against itself, and said to be", async (context) => {
  needsSampling(context);
  if (typeof machinesPerl() === "string") return context.skip("perl is not installed");
  const ticks = await sampleVersion(60);
  expect([...namesOf(ticks).names]).toEqual(expect.arrayContaining(["Right::inner", "(main)"]));
  expect(sumMetric(ticks, "UnwindPerlUnverified")).toBeGreaterThan(0);
  expect(ticks.flatMap(({ notices }) => notices).join("\n")).toMatch(
    /perl 5\.60\.\d+ is newer than what was tried, 5\.44: its layout was checked against itself/,
  );
  expectPerlSums(ticks);
});

test("of the newest version that was tried nothing is said", async (context) => {
  needsSampling(context);
  if (typeof machinesPerl() === "string") return context.skip("perl is not installed");
  // 5.36 is laid out as 5.44 is.
  const ticks = await sampleVersion(44);
  expect([...namesOf(ticks).names]).toEqual(expect.arrayContaining(["Right::inner", "(main)"]));
  expect(sumMetric(ticks, "UnwindPerlUnverified")).toBe(0);
  expect(ticks.flatMap(({ notices }) => notices)).toEqual([]);
});

test("a version that is too old is refused, with the reason", async (context) => {
  needsSampling(context);
  if (typeof machinesPerl() === "string") return context.skip("perl is not installed");
  const ticks = await sampleVersion(20);
  const { names, reasons } = namesOf(ticks);
  expect([...names]).toEqual([]);
  expect([...reasons]).toEqual(["[perl: version not supported]"]);
  expect(ticks.flatMap(({ notices }) => notices).join("\n")).toContain("is not supported");
  expectPerlSums(ticks);
});

test("a layout that does not fit its version is a reason", async (context) => {
  needsSampling(context);
  if (typeof machinesPerl() === "string") return context.skip("perl is not installed");
  // Since 5.34 all variables lie 16 bytes lower than in 5.32.
  const ticks = await sampleVersion(32);
  const { names, reasons } = namesOf(ticks);
  expect([...names]).toEqual([]);
  expect(reasons.size).toBeGreaterThan(0);
  for (const reason of reasons) expect(reason).toMatch(/^\[perl: /);
  expectPerlSums(ticks);
});

test.for(["scribble", "remake"])("memory that lies: %s", async (how, context) => {
  needsSampling(context);
  const program = embeddedPerl("scribble.c");
  if (program.path === "") return context.skip(program.why);
  const ticks = await sample(start(program.path, [how]), 5);
  const { names, reasons } = namesOf(ticks);
  expect(names).toContain("Right::inner");
  for (const name of names) expect(name).toMatch(RIGHT);
  for (const reason of reasons) expect(reason).toMatch(/^\[perl: /);
  if (how === "scribble") expect(reasons.size).toBeGreaterThan(0);
  expectPerlSums(ticks);
});

test("another program in its place", async (context) => {
  needsSampling(context);
  if (typeof machinesPerl() === "string") return context.skip("perl is not installed");
  const script = `package Right; sub inner { my $t = 0; $t += $_ for 1 .. 9000 } sub outer { inner() for 1 .. 40 }
    outer(); exec $^X, $0`;
  const ticks = await withFolder((folder) => {
    const path = join(folder, "again.pl");
    writeFileSync(path, script);
    return sample(start("perl", [path]));
  });
  const { names, reasons } = namesOf(ticks);
  expect([...names].toSorted()).toEqual(["(main)", "Right::inner", "Right::outer"]);
  expect([...reasons]).toEqual([]);
  expectPerlSums(ticks);
});
