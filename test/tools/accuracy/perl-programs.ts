/** Programs of Debian that are written in Perl, and one with an interpreter in it: whether all of their stacks are whole. */
import { writeFileSync } from "node:fs";
import type { FunctionInfo } from "../../../src/tick/tick.ts";
import { unpackDebian } from "../../support/debian.ts";
import { Lacking, percent, type Row, ratio } from "../../support/measure.ts";
import { perlFrames } from "../../support/perl.ts";
import type { StackCount } from "../../support/ticks.ts";
import { sampleProgram } from "./loops.ts";

const TOP = 20;

/** The biggest module among what is unpacked. */
const SOURCE = "/usr/share/perl5/Perl/Tidy/Formatter.pm";
const LIBRARY = "/usr/share/perl";

interface Program {
  readonly what: string;
  readonly command: readonly string[];
}

const PROGRAMS: readonly Program[] = [
  { what: "perltidy", command: ["perltidy", "-npro", "-st", SOURCE] },
  { what: "cloc", command: ["cloc", "--quiet", LIBRARY] },
  { what: "ack", command: ["ack", "--noenv", "-c", "(\\w+)\\s*=\\s*shift", LIBRARY] },
  {
    what: "vim with libperl, which runs Perl::Tidy",
    command: ["vim.nox", "-es", "-u", "NONE", "-S", "/tmp/tidy.vim"],
  },
];

/** Vim has no arguments for its Perl: a script says what it is to run. */
const VIM_SCRIPT = `perl use Perl::Tidy
perl Perl::Tidy::perltidy(source => '${SOURCE}', destination => \\my $out, argv => '-npro')
qall!
`;

/** The functions with most samples of their own. */
function busiest(counts: readonly StackCount[]): FunctionInfo[] {
  const self = new Map<FunctionInfo, number>();
  for (const { stack, count } of counts) {
    // As they are shown: what the interpreter does itself is the Perl frame's.
    const leaf = stack.frames.find(({ folded }) => !folded)?.function;
    if (leaf) self.set(leaf, (self.get(leaf) ?? 0) + count);
  }
  const sorted = [...self].sort(([, a], [, b]) => b - a);
  return sorted.slice(0, TOP).map(([it]) => it);
}

async function measureProgram(root: string, { what, command }: Program): Promise<Row[]> {
  const counts = await sampleProgram(root, command);
  const sum = (of: readonly StackCount[]) => of.reduce((all, { count }) => all + count, 0);
  const samples = sum(counts);
  const complete = sum(counts.filter(({ stack }) => stack.outcome === "complete"));
  const inPerl = sum(counts.filter(({ stack }) => perlFrames(stack).length > 0));
  const top = busiest(counts);
  const unnamed = top.filter(({ whyUnnamed }) => whyUnnamed !== undefined);
  if (process.env.POLYTOP_DEBUG) console.error(top);
  return [
    {
      what: `${what}: complete stacks (${percent(inPerl, samples, 0)} with Perl frames)`,
      bar: "≥ 99 %",
      figure: percent(complete, samples),
      samples,
      ok: ratio(complete, samples) >= 0.99 && ratio(inPerl, samples) >= 0.5,
    },
    {
      what: `${what}: unnamed among the ${top.length} busiest functions`,
      bar: "none",
      figure: unnamed.map(({ name }) => name).join(", ") || "none",
      samples,
      ok: top.length === TOP && unnamed.length === 0,
    },
  ];
}

/** Rows for all of them. */
export async function programs(): Promise<Row[]> {
  const unpacked = unpackDebian({
    name: "programs",
    suite: "bookworm",
    packages: ["perl", "perltidy", "cloc", "ack", "vim-nox", "libc6-dbg"],
  });
  if (typeof unpacked === "string") throw new Lacking(unpacked);
  writeFileSync(`${unpacked.root}/tmp/tidy.vim`, VIM_SCRIPT);
  const rows: Row[] = [];
  for (const program of PROGRAMS) rows.push(...(await measureProgram(unpacked.root, program)));
  return rows;
}
