/** Perls to test with, programs for them, and what caller() says in these. */
import { spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import type { Frame } from "../../src/tick/store.ts";
import type { Tick } from "../../src/tick/tick.ts";
import { debianCache, unpackDebian } from "./debian.ts";
import { exclusively } from "./exclusive.ts";
import { root } from "./polytop.ts";
import { type Running, start } from "./profile.ts";
import { type Stack, stackCounts } from "./ticks.ts";
import { expectWalkSums } from "./walks.ts";

/** An installed perl. */
export interface Perl {
  readonly version: string;
  readonly threads: boolean;
  /** The root of the file system that it sees. */
  readonly root: string;
  /** How it is run. */
  readonly command: readonly string[];
}

export const perlPrograms = `${root}test/workloads/perl`;

/** Suites of Debian whose perls the tests want besides the machine's: 5.32, 5.36, 5.40, and the newest. */
export const SUITES = ["bullseye", "bookworm", "trixie", "sid"] as const;

/** The machine's perl; the reason where it has none. */
export const machinesPerl = (): Perl | string => perlAt("/", ["perl"]) ?? "perl is not installed";

/** The perl of a suite, unpacked into the cache at its first use; the reason where it cannot be had. */
export function perlOf(suite: (typeof SUITES)[number]): Perl | string {
  const unpacked = unpackDebian({ name: suite, suite, packages: ["perl"] });
  if (typeof unpacked === "string") return unpacked;
  const command = ["chroot", unpacked.root, "/usr/bin/perl"];
  return perlAt(unpacked.root, command) ?? `the perl in ${unpacked.root} does not run`;
}

/** A perl of a version that a suite offers; each has a folder of its own. Another program than `perl` may be named. */
export function offeredPerl(suite: string, version: string, program = "perl"): Perl | string {
  const packages = program === "perl" ? ["perl"] : ["perl", "perl-debug"];
  const unpacked = unpackDebian({ name: `${program}-${version}`, suite, packages });
  if (typeof unpacked === "string") return unpacked;
  const command = ["chroot", unpacked.root, `/usr/bin/${program}`];
  return perlAt(unpacked.root, command) ?? `the ${program} in ${unpacked.root} does not run`;
}

/** Debian 12's perl with modules written in C that run Perl code in ways of their own; the reason where there is none. */
export function perlWithModules(): Perl | string {
  const packages = ["perl", "libfuture-asyncawait-perl", "libdevel-cover-perl"];
  const unpacked = unpackDebian({ name: "bookworm-modules", suite: "bookworm", packages });
  if (typeof unpacked === "string") return unpacked;
  const command = ["chroot", unpacked.root, "/usr/bin/perl"];
  return perlAt(unpacked.root, command) ?? `the perl in ${unpacked.root} does not run`;
}

/** A perl without threads: Debian has none, and to build one takes minutes; the reason where there is none. */
export function unthreadedPerl(): Perl | string {
  const folder = `${debianCache}/unthreaded`;
  const build = `test/support/build-perl ${debianCache} bookworm`;
  return (
    perlAt("/", [`${folder}/perl`, `-I${folder}/lib`]) ??
    `there is no perl without threads: ${build} makes one`
  );
}

function perlAt(root: string, command: readonly string[]): Perl | undefined {
  const [program = "", ...args] = command;
  const script = 'use Config; printf "%vd %s", $^V, $Config{usethreads} // ""';
  const ran = spawnSync(program, [...args, "-e", script], { encoding: "utf8" });
  const [version = "", threads] = ran.stdout?.split(" ") ?? [];
  return ran.status === 0 ? { version, threads: threads !== "", root, command } : undefined;
}

/** A program under way that writes down the stacks that caller() sees. */
export interface PerlProgram extends Running {
  /** The stacks until now: see test/workloads/perl/burn.pl. */
  truth(): ReadonlySet<string>;
}

/** Starts a program of `folder` (test/workloads/perl) with a perl. */
export function startPerl(
  perl: Perl,
  name: string,
  { folder = perlPrograms, args = [] }: { folder?: string; args?: readonly string[] } = {},
): PerlProgram {
  const temporary = `${perl.root}/tmp`;
  mkdirSync(temporary, { recursive: true });
  const outside = mkdtempSync(`${temporary}/polytop-perl-`);
  const inside = outside.slice(perl.root.length).replace(/^\/*/, "/");
  copyFileSync(`${folder}/${name}`, `${outside}/${name}`);
  copyFileSync(`${perlPrograms}/burn.pl`, `${outside}/burn.pl`);
  const environment = [`WL=${inside}`, `BURN_TRUTH=${inside}/truth`, "LC_ALL=C"];
  const running = start("env", [...environment, ...perl.command, `${inside}/${name}`, ...args]);
  const read = () => new Set(readTruth(`${outside}/truth`));
  let last: ReadonlySet<string> | undefined;
  const stop = async () => {
    await running.stop();
    last ??= read();
    rmSync(outside, { recursive: true, force: true });
  };
  return { ...running, stop, truth: () => last ?? read() };
}

function readTruth(path: string): string[] {
  if (!existsSync(path)) return [];
  return readFileSync(path, "utf8").split("\n").filter(Boolean).map(normalize);
}

/** caller() names what polytop shows in one row: evals by their number, phase blocks by their package. */
function normalize(chain: string): string {
  return chain
    .split("\t")
    .map((frame) =>
      frame
        .replace(/^.*::(BEGIN|UNITCHECK|CHECK|INIT|END)\|/, "$1|")
        .replace(/\|\(eval \d+\)/g, "|(eval)"),
    )
    .join("\t");
}

/** The Perl frames of a stack, leaf first. */
export const perlFrames = (stack: Stack): Frame[] =>
  stack.frames.filter((frame) => frame.function.runtime === "perl");

/** Whether a frame is of a sub written in C, which caller() leaves out: its file is one of C. */
const isOfC = ({ function: { module = "" } }: Frame): boolean => /\.(c|cc|cpp|xs)$/.test(module);

/** A stack as caller() would say it: each frame with the place that it was called from. */
export function asCaller(stack: Stack): { readonly names: string; readonly lines: string } {
  const frames = perlFrames(stack).filter((it) => !isOfC(it));
  const names: string[] = [];
  const lines: string[] = [];
  frames.slice(0, -1).forEach(({ function: called }, i) => {
    const from = frames[i + 1];
    names.push(`${called.name}|${from?.function.module}`);
    lines.push(`${called.name}|${from?.function.module}|${from?.line ?? 0}`);
  });
  return { names: names.join("\t"), lines: lines.join("\t") };
}

/** How the stacks of a program agree with caller(). */
export interface Agreement {
  samples: number;
  complete: number;
  /** How many samples were taken in Burn::burn, where the truth is known. */
  inside: number;
  sameNames: number;
  sameLines: number;
  /** Stacks that caller() did not report, at most a few. */
  readonly wrong: string[];
}

const withoutLine = (frame: string): string => frame.slice(0, frame.lastIndexOf("|"));

/** Compares the stacks in which Burn::burn uses the CPU with what caller() said there; of one process, where it is named. */
export function compareWithCaller(
  ticks: readonly Tick[],
  truth: ReadonlySet<string>,
  pid?: number,
): Agreement {
  const names = new Set([...truth].map((it) => it.split("\t").map(withoutLine).join("\t")));
  const result = {
    samples: 0,
    complete: 0,
    inside: 0,
    sameNames: 0,
    sameLines: 0,
    wrong: [] as string[],
  };
  for (const { stack, task, count } of stackCounts(...ticks)) {
    if (pid !== undefined && task.pid !== pid) continue;
    result.samples += count;
    if (stack.outcome === "complete") result.complete += count;
    const frames = perlFrames(stack);
    const hasBurn = frames[0]?.function.name === "Burn::burn";
    if (!hasBurn) continue;
    result.inside += count;
    // A thread, a phase block and a callback have no code outside of subs below them.
    const said = asCaller(stack);
    const found = has(names, said.names, frames);
    const exact = has(truth, said.lines, frames);
    if (found) result.sameNames += count;
    if (exact) result.sameLines += count;
    if (!exact && result.wrong.length < 4) result.wrong.push(said.lines);
  }
  return result;
}

function has(truth: ReadonlySet<string>, said: string, frames: readonly Frame[]): boolean {
  if (truth.has(said)) return true;
  const [last] = frames.slice(-1);
  for (const it of truth) {
    // caller() of a format dies: what it would have said is not known.
    if (it.includes("?|?") && matches(it, said)) return true;
    if (last?.function.name !== "(main)" && it.startsWith(said) && isWithoutRoot(it, said, last))
      return true;
  }
  return false;
}

/** Whether the truth is one frame longer, which has the name of the outermost frame. */
function isWithoutRoot(truth: string, said: string, outermost: Frame | undefined): boolean {
  const [more = "", ...rest] = truth.slice(said.length).split("\t").filter(Boolean);
  return rest.length === 0 && more.startsWith(`${outermost?.function.name}|`);
}

function matches(truth: string, said: string): boolean {
  const [expected, got] = [truth.split("\t"), said.split("\t")];
  return (
    expected.length === got.length &&
    expected.every(
      (it, i) => it.startsWith("?") || it === got[i] || it.startsWith(`${got[i]?.split("|")[0]}|?`),
    )
  );
}

/** A program of test/workloads/perl that embeds the machine's libperl; an empty path and the reason if it cannot be built. */
export function embeddedPerl(source: string): { readonly path: string; readonly why: string } {
  const lacking = (why: string) => ({ path: "", why });
  const machine = machinesPerl();
  if (typeof machine === "string") return lacking(machine);
  const print = ["-MConfig", "-e", 'print "$Config{archlibexp}/CORE"'];
  const core = spawnSync("perl", print, { encoding: "utf8" }).stdout;
  const version = machine.version.split(".").slice(0, 2).join(".");
  const shared = [`${core}/libperl.so`, `/usr/lib/x86_64-linux-gnu/libperl.so.${version}`].find(
    (it) => existsSync(it),
  );
  if (!existsSync(`${core}/perl.h`) || !shared)
    return lacking(`no headers or no libperl.so of perl ${version}`);
  const out = `${root}build/workloads`;
  mkdirSync(out, { recursive: true });
  const path = `${out}/${source.replace(/\.c$/, "")}`;
  const flags = ["-O2", "-D_REENTRANT", "-D_GNU_SOURCE", "-D_FILE_OFFSET_BITS=64", `-I${core}`];
  const args = [...flags, `${perlPrograms}/${source}`, shared, "-lpthread", "-o", path];
  const built = exclusively(source, () => spawnSync("gcc", args, { encoding: "utf8" }));
  return built.status === 0 ? { path, why: "" } : lacking(`gcc: ${built.stderr}`);
}

/** Every walk ends in exactly one way. */
export const expectPerlSums = (ticks: readonly Tick[]): void =>
  expectWalkSums(ticks, "perl", "UnwindPerlAttempts");
