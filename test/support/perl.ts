/** Perls to test with, programs for them, and what caller() says in these. */
import { execFileSync } from "node:child_process";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
} from "node:fs";
import { homedir } from "node:os";
import type { Frame, Stack, Tick } from "../../src/collector/tick.ts";
import { root } from "./polytop.ts";
import { type Running, start } from "./profile.ts";

/** An installed perl. */
export interface Perl {
  readonly version: string;
  /** Where its system is unpacked; `/` for the machine's own. */
  readonly root: string;
}

/** Where test/support/fetch-perls unpacks Debian's perls: outside of the repository, kept from run to run. */
export const perlCache = process.env.POLYTOP_PERLS ?? `${homedir()}/.cache/polytop/perls`;

export const perlPrograms = `${root}test/workloads/perl`;

/** The machine's perl, and those that test/support/fetch-perls has unpacked. */
export function installedPerls(): Perl[] {
  const roots = existsSync(perlCache) ? readdirSync(perlCache) : [];
  return ["/", ...roots.map((it) => `${perlCache}/${it}`)].flatMap((it) => {
    const version = versionOf(it);
    return version ? [{ version, root: it }] : [];
  });
}

function versionOf(perlRoot: string): string | undefined {
  if (!existsSync(`${perlRoot}/usr/bin/perl`)) return undefined;
  const print = ["-e", 'printf "%vd", $^V'];
  const [command = "", ...args] =
    perlRoot === "/" ? ["perl", ...print] : ["chroot", perlRoot, "/usr/bin/perl", ...print];
  try {
    return execFileSync(command, args, { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
  } catch {
    return undefined;
  }
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
  const enter = perl.root === "/" ? [] : ["chroot", perl.root];
  const running = start("env", [
    ...environment,
    ...enter,
    "/usr/bin/perl",
    `${inside}/${name}`,
    ...args,
  ]);
  return {
    ...running,
    truth: () => new Set(readTruth(`${outside}/truth`)),
  };
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

/** A stack as caller() would say it: each frame with the place that it was called from. */
export function asCaller(stack: Stack): { readonly names: string; readonly lines: string } {
  const frames = perlFrames(stack);
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
  /** Of samples in Burn::burn, where the truth is known. */
  inside: number;
  sameNames: number;
  sameLines: number;
  /** Stacks that caller() did not report, at most a few. */
  readonly wrong: string[];
}

const withoutLine = (frame: string): string => frame.slice(0, frame.lastIndexOf("|"));

/** Compares the stacks in which Burn::burn uses the CPU with what caller() said there. */
export function compareWithCaller(ticks: readonly Tick[], truth: ReadonlySet<string>): Agreement {
  const names = new Set([...truth].map((it) => it.split("\t").map(withoutLine).join("\t")));
  const result = {
    samples: 0,
    complete: 0,
    inside: 0,
    sameNames: 0,
    sameLines: 0,
    wrong: [] as string[],
  };
  for (const { stack, count } of ticks.flatMap((tick) => tick.counts)) {
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

/** Perls of Debian that the tests want besides the machine's. */
export const SUITES = [
  { suite: "bullseye", version: "5.32" },
  { suite: "bookworm", version: "5.36" },
  { suite: "trixie", version: "5.40" },
] as const;

/** A perl of that suite, unpacked into the cache at its first use; the reason where it cannot be had. */
export function perlOf({ suite, version }: (typeof SUITES)[number]): Perl | string {
  if (process.getuid?.() !== 0) return "chroot needs root";
  const unpacked = `${perlCache}/${suite}`;
  if (!existsSync(unpacked)) {
    mkdirSync(perlCache, { recursive: true });
    try {
      execFileSync(`${root}test/support/fetch-perls`, [perlCache, suite, version], {
        stdio: "ignore",
        timeout: 120_000,
      });
    } catch {
      return `perl ${version} cannot be fetched from Debian's ${suite} into ${perlCache}`;
    }
  }
  const found = versionOf(unpacked);
  return found ? { version: found, root: unpacked } : `the perl in ${unpacked} does not run`;
}
