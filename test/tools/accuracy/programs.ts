/**
 * Programs of Debian that nobody here wrote, sampled by polytop and by `perf record --call-graph dwarf` in one run.
 * Writes docs/programs.md. POLYTOP_PROGRAMS names some of them, joined by commas, to be measured anew: the page keeps
 * what was found of the others.
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { Lacking, percent, type Row, ratio, type Section } from "../../support/measure.ts";
import { readPerf, recordPerf } from "../../support/perf.ts";
import { polytop, root } from "../../support/polytop.ts";
import {
  during,
  type FoldedStack,
  parseFolded,
  type Snapshot,
  share,
  sleep,
  start,
} from "../../support/profile.ts";
import { DEBIAN_PROGRAMS, type DebianProgram } from "./debian-programs.ts";
import { hasName, isComplete, names, perfNames } from "./perf.ts";

/** How long each is sampled. What the first seconds meet for the first time is not counted. */
const SECONDS = 10;
const FIRST_SECONDS = 2;

/** A stack below it needs a reason. */
const COMPLETE = 0.99;

/** Where Debian's programs are, and no wrappers of them: a cache of a compiler's results would be all that ran. */
const PATH = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin";

const folder = `${root}build/programs/`;

/** What was found of one program; shares are between 0 and 1. */
interface Finding {
  readonly program: DebianProgram;
  readonly samples: number;
  readonly complete: number;
  /** Samples whose leaf function has a name. */
  readonly named: number;
  /** Complete by the rule that holds for both, and the share of perf. */
  readonly byRule: number;
  readonly perfByRule: number;
  /** What stops polytop's stacks, most frequent first. */
  readonly reasons: readonly string[];
}

const placeOf = ({ name }: DebianProgram): string => `${folder}${name.replace(/\W+/g, "-")}`;

const findingFile = (program: DebianProgram): string => `${placeOf(program)}.json`;

/** What was found of each program when it was measured last. */
const kept = (): Finding[] =>
  DEBIAN_PROGRAMS.filter((program) => existsSync(findingFile(program))).map((program) => ({
    ...(JSON.parse(readFileSync(findingFile(program), "utf8")) as Finding),
    program,
  }));

async function replayed(file: string, args: readonly string[]): Promise<string> {
  const { status, stdout, stderr } = await polytop(["replay", file, ...args], {
    timeoutMs: 120_000,
  });
  if (status !== 0) throw new Error(`polytop replay ended with ${status}: ${stderr}`);
  return stdout;
}

/** Starts a program in a folder of its own, again and again. */
function run(program: DebianProgram) {
  const place = placeOf(program);
  rmSync(place, { recursive: true, force: true });
  mkdirSync(place, { recursive: true });
  if (program.prepare !== undefined) {
    const shell = ["-c", `PATH=${PATH}\n${program.prepare}`];
    const { status, stderr } = spawnSync("/bin/sh", shell, { cwd: place, encoding: "utf8" });
    if (status !== 0) throw new Lacking(stderr.trim().split("\n").at(-1) ?? "cannot be prepared");
  }
  const loop = `PATH=${PATH}\nwhile kill -0 $PPID 2>/dev/null; do ${program.command}\ndone`;
  return start("/bin/sh", ["-c", loop], { cwd: place });
}

async function find(program: DebianProgram): Promise<Finding> {
  const file = `${tmpdir()}/polytop-programs-${process.pid}.polytop`;
  const load = run(program);
  const recording = await during([load], async () => {
    await sleep(2);
    const recorded = polytop(["record", "-o", file, "-n", String(SECONDS)], {
      timeoutMs: 10 * SECONDS * 1000,
    });
    const found = await recordPerf({ seconds: SECONDS, frequency: 99, callGraph: "dwarf" });
    const { status, stderr } = await recorded;
    if (status !== 0) throw new Error(`polytop record ended with ${status}: ${stderr}`);
    return found;
  });
  const own = ["-f", `tree:${load.pid}`];
  const lines = (await replayed(file, ["--json", ...own])).trimEnd().split("\n");
  // Nothing of the runtime folds away: perf shows native frames alone.
  const stacks = parseFolded(await replayed(file, ["--folded", "--native-frames", ...own]));
  rmSync(file, { force: true });

  const refreshes = lines.map((line) => JSON.parse(line) as Snapshot);
  const pids = new Set(refreshes.flatMap((it) => it.processes.map(({ pid }) => pid)));
  const settled = refreshes.slice(FIRST_SECONDS);
  const processes = settled.flatMap((it) => it.processes);
  const samples = processes.reduce((all, process) => all + process.samples, 0);
  const theirs = readPerf(recording, pids).stacks;
  const ours = share(stacks, (stack) => isComplete(names(stack)));
  const named = share(stacks, ({ frames }) => hasName(frames.at(-1) ?? ""));
  return {
    program,
    samples,
    complete: ratio(
      processes.reduce((all, process) => all + process.complete, 0),
      samples,
    ),
    named: ratio(named.hits, named.samples),
    byRule: ratio(ours.hits, ours.samples),
    perfByRule: ratio(theirs.filter((s) => isComplete(perfNames(s))).length, theirs.length),
    reasons: [...ends(settled, samples), ...stops(stacks)],
  };
}

/** The stacks that no frame says the end of: those with more frames than are walked, and guesses. */
function ends(refreshes: readonly Snapshot[], samples: number): string[] {
  const kinds = [
    ["deeper than the limit of frames", (it: Snapshot) => it.stacks.truncated],
    ["guessed", (it: Snapshot) => it.stacks.guessed],
  ] as const;
  return kinds
    .map(([text, count]) => [text, refreshes.reduce((sum, it) => sum + count(it), 0)] as const)
    .filter(([, count]) => count > 0)
    .map(([text, count]) => `${percent(count, samples, 1)} ${text}`);
}

/** The frames in brackets at which stacks end, with the function before, most samples first. */
function stops(stacks: readonly FoldedStack[]): string[] {
  const counts = new Map<string, number>();
  let all = 0;
  for (const { frames, count } of stacks) {
    all += count;
    const [end = "", inner = ""] = frames;
    if (!/^\[.*:.*\]$/.test(end)) continue;
    const reason = inner === "" ? end : `${end} above ${inner}`;
    counts.set(reason, (counts.get(reason) ?? 0) + count);
  }
  return [...counts]
    .sort((a, b) => b[1] - a[1])
    .slice(0, 3)
    .map(([reason, count]) => `${percent(count, all, 1)} ${reason}`);
}

function page(findings: readonly Finding[]): string {
  const lines = findings.map((found) => {
    const { program, samples, complete, named, byRule, perfByRule, reasons } = found;
    const cells = [
      program.name,
      program.language,
      samples,
      percent(complete, 1, 1),
      percent(named, 1, 1),
      percent(byRule, 1, 1),
      percent(perfByRule, 1, 1),
      complete < COMPLETE ? reasons.join("<br>").replace(/\|/g, "\\|") : "",
    ];
    return `| ${cells.join(" | ")} |`;
  });
  return `# Programs of Debian

What polytop makes of ${findings.length} programs that know nothing of it, on Debian 12 as its packages come, without debug files.
\`npm run accuracy programs\` writes this page; each program ran for ${SECONDS} seconds beside \`perf record --call-graph dwarf\`, both at 99 Hz.

- *complete*: polytop's own count of samples whose walk reached the outermost frame, without a guess.
- *named*: samples whose leaf function has a name; what is left is code of stripped files (\`object+0x1234\`) and generated code.
- *by one rule*: the outermost frame is where a process, a thread or an entry to the kernel begins by its name, polytop and perf.

| program | hot code | samples | complete | named | by one rule | perf | what stops the others |
|---|---|---|---|---|---|---|---|
${lines.join("\n")}
`;
}

async function programs(): Promise<Row[]> {
  const wanted = process.env.POLYTOP_PROGRAMS?.split(",");
  const rows: Row[] = [];
  for (const program of DEBIAN_PROGRAMS) {
    if (wanted && !wanted.includes(program.name)) continue;
    try {
      const found = await find(program);
      writeFileSync(findingFile(program), JSON.stringify(found));
      const [first = ""] = found.reasons;
      rows.push({
        what: `${program.name} (${program.language}): ${percent(found.named, 1, 1)} named; ${first}`,
        bar: "≥ 99 % complete",
        figure: `${percent(found.complete, 1, 2)}; rule ${percent(found.byRule, 1, 1)}, perf ${percent(found.perfByRule, 1, 1)}`,
        samples: found.samples,
        ok: found.complete >= COMPLETE || found.reasons.length > 0,
      });
    } catch (error) {
      if (!(error instanceof Lacking)) throw error;
      const packages = program.packages.join(", ");
      rows.push({ what: program.name, bar: "", figure: `skipped: ${error.message} (${packages})` });
    }
  }
  writeFileSync(`${root}docs/programs.md`, page(kept()));
  return rows;
}

export const debianPrograms: readonly Section[] = [
  {
    name: "programs",
    about: "programs of Debian, of many languages, beside perf; writes docs/programs.md",
    onlyByName: true,
    run: programs,
  },
];
