/** Programs of Debian's sid, with its newest C library and compiler, in a root of their own: whether their stacks are whole. */
import { globSync, writeFileSync } from "node:fs";
import { unpackDebian } from "../../support/debian.ts";
import { Lacking, percent, type Row, ratio, type Section } from "../../support/measure.ts";
import type { StackCount } from "../../support/ticks.ts";
import { sampleProgram, sumOf } from "./loops.ts";

const LIBC = "/usr/lib/x86_64-linux-gnu/libc.so.6";
const PERL_LOOP = "my %h; $h{$_ % 1000} .= sprintf('%x', $_) for 1 .. 400000";
const PYTHON_LOOP = "import json\nfor i in range(300): json.loads(json.dumps(list(range(5000))))";
const LUA_LOOP = "local t = {} for i = 1, 3000000 do t[i % 1000] = tostring(i) end";
const AWK_LOOP = 'BEGIN { for (i = 0; i < 2000000; i++) a[i % 1000] = sprintf("%d", i) }';
const SQL =
  "with recursive n(i) as (select 1 union all select i + 1 from n limit 600000) select count(distinct i % 1000) from n";

interface SidProgram {
  readonly package: string;
  readonly command: readonly string[];
}

/** Twenty that come of many makers, each some tenths of a second of work. */
const PROGRAMS: readonly SidProgram[] = [
  { package: "xz-utils", command: ["xz", "-6", "-k", "-c", LIBC] },
  { package: "zstd", command: ["zstd", "-19", "-q", "-c", LIBC] },
  { package: "bzip2", command: ["bzip2", "-9", "-k", "-c", LIBC] },
  { package: "gzip", command: ["gzip", "-9", "-c", LIBC] },
  { package: "brotli", command: ["brotli", "-q", "9", "-c", LIBC] },
  { package: "pigz", command: ["pigz", "-9", "-c", LIBC] },
  { package: "lz4", command: ["lz4", "-9", "-c", LIBC] },
  { package: "openssl", command: ["openssl", "speed", "-seconds", "1", "sha256"] },
  { package: "coreutils", command: ["sort", "-R", LIBC] },
  { package: "grep", command: ["grep", "-c", "-E", "(a|b)*c.*d.*e", LIBC] },
  { package: "sed", command: ["sed", "-E", "s/(.)(.)/\\\\2\\\\1/g", LIBC] },
  { package: "gawk", command: ["gawk", AWK_LOOP] },
  { package: "mawk", command: ["mawk", AWK_LOOP] },
  { package: "sqlite3", command: ["sqlite3", ":memory:", SQL] },
  { package: "perl", command: ["perl", "-e", PERL_LOOP] },
  { package: "python3", command: ["python3", "-c", PYTHON_LOOP] },
  { package: "lua5.4", command: ["lua5.4", "-e", LUA_LOOP] },
  { package: "jq", command: ["jq", "-n", "[range(300000)] | map(tostring) | length"] },
  { package: "bc", command: ["bc", "-e", "scale=3000; a(1)"] },
  // The compiler itself, which its driver starts.
  { package: "gcc", command: ["cc1", "-quiet", "-O2", "-o", "/dev/null", "/tmp/unit.c"] },
];

const BAR = 0.995;

/** Functions for the compiler. */
const UNIT = Array.from(
  { length: 200 },
  (_, at) =>
    `int f${at}(int a, int b) { int s = 0; for (int k = 0; k < a; k++) s += k * b ^ (s >> ${(at % 7) + 1}); return s; }\n`,
).join("");

/** Makes what the programs are given; where the compiler is. */
function prepare(root: string): string {
  writeFileSync(`${root}/tmp/unit.c`, UNIT);
  const [compiler = ""] = globSync("usr/libexec/gcc/*/*/cc1", { cwd: root });
  return `/${compiler}`;
}

/** Why stacks are not whole: the outermost frames of the others, most samples first. */
function reasonsOf(counts: readonly StackCount[]): string {
  const ends = new Map<string, number>();
  for (const { stack, count } of counts) {
    if (stack.outcome === "complete") continue;
    const end = stack.frames.at(-1)?.function.name ?? "";
    const reason = end.startsWith("[") ? end : stack.outcome;
    ends.set(reason, (ends.get(reason) ?? 0) + count);
  }
  return [...ends.entries()]
    .toSorted((a, b) => b[1] - a[1])
    .slice(0, 2)
    .map(([reason, count]) => `${count} ${reason}`)
    .join(", ");
}

async function programs(): Promise<Row[]> {
  const packages = PROGRAMS.map((one) => one.package);
  const unpacked = unpackDebian({ name: "sid-programs", suite: "sid", packages });
  if (typeof unpacked === "string") throw new Lacking(unpacked);
  const compiler = prepare(unpacked.root);
  const rows: Row[] = [];
  for (const { package: name, command } of PROGRAMS) {
    const words = command.map((word) => (word === "cc1" ? compiler : word));
    const counts = await sampleProgram(unpacked.root, words);
    const samples = sumOf(counts, () => true);
    const complete = sumOf(counts, ({ stack }) => stack.outcome === "complete");
    const reasons = reasonsOf(counts);
    rows.push({
      what: `${name} of sid${reasons ? `: ${reasons}` : ""}`,
      bar: `≥ ${100 * BAR} % complete`,
      figure: percent(complete, samples),
      samples,
      ok: ratio(complete, samples) >= BAR,
    });
  }
  return rows;
}

export const sidPrograms: readonly Section[] = [
  {
    name: "sid-programs",
    about: "programs of Debian's sid in a root of their own: complete stacks",
    onlyByName: true,
    run: programs,
  },
];
