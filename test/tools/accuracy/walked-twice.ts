/** Rows that are made of instructions, in the stacks of real programs that are stopped at random moments. */
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, globSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Row, Section } from "../../support/measure.ts";
import { root } from "../../support/polytop.ts";
import { workload } from "../../support/workloads.ts";
import { RUSTC, rust } from "./rows-from-code.ts";

/** Of each program; and instructions made one by one behind each. */
const STOPS = 800;
const STEPS = 16;

const PERL = `my %h; for my $i (1 .. 1e9) { $h{$i % 1000} = substr("abc$i", 1, 3); my @a = sort { $a <=> $b } 1 .. 9 }`;
const PYTHON = `
import json, re, hashlib
d = {str(i): [i] * 5 for i in range(200)}
while True:
    s = json.dumps(d)
    re.findall(r"[0-9]+", s), hashlib.sha256(s.encode()), sorted(json.loads(s), key=lambda k: -int(k))
`;
const BASH = `while :; do for i in {1..500}; do x="\${x/a/b}a$i"; x=\${x:0:20}; done; done`;
const SQL = "select count(*), md5(string_agg(i::text, ',')) from generate_series(1, 200000) i;\n";

/** A database of postgres, and the program that works for one connection of it, here with queries of its input. */
function postgres(folder: string): string[] | undefined {
  const [bin] = globSync("/usr/lib/postgresql/*/bin");
  if (bin === undefined) return undefined;
  execFileSync("chown", ["postgres", folder]);
  const as = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"];
  const data = join(folder, "data");
  execFileSync(as[0] ?? "", [...as.slice(1), `${bin}/initdb`, "-D", data, "-N"], {
    cwd: folder,
    stdio: "ignore",
  });
  const queries = join(folder, "queries");
  writeFileSync(queries, SQL.repeat(500));
  return [...as, "sh", "-c", `exec ${bin}/postgres --single -D ${data} postgres < ${queries}`];
}

function programs(folder: string): [what: string, command: string[] | undefined][] {
  const cc1 = execFileSync("gcc", ["-print-prog-name=cc1"], { encoding: "utf8" }).trim();
  const source = join(folder, "source.i");
  execFileSync("gcc", ["-E", `${root}test/workloads/deep.c`, "-o", source]);
  const large = join(folder, "large");
  execFileSync("sh", [
    "-c",
    `tar -cf ${large} -C / usr/bin/perl usr/bin/git usr/bin/gdb usr/bin/python3.11 2> /dev/null; true`,
  ]);
  const cpp = (compiler: string): string =>
    workload("words.cpp", { as: `words-${compiler}`, compiler, flags: ["-O2"] });
  return [
    ["perl", ["perl", "-e", PERL]],
    ["python3.11", ["/usr/bin/python3.11", "-c", PYTHON]],
    ["bash", ["bash", "-c", BASH]],
    ["git log -p", ["git", "-C", root, "log", "-p"]],
    [
      "git's delta compression",
      ["git", "-C", root, "pack-objects", "--all", "--no-reuse-delta", "--stdout", "-q"],
    ],
    ["cc1", [cc1, "-O2", "-quiet", source, "-o", "/dev/null"]],
    ["xz", ["xz", "-k", "-c", "-T1", large]],
    ["gzip", ["gzip", "-k", "-c", "-9", large]],
    ["openssl", ["openssl", "speed", "-seconds", "1", "rsa2048", "ecdsap256"]],
    ["C++ of g++", [cpp("g++")]],
    ["C++ of clang++", [cpp("clang++-19")]],
    ["Rust", existsSync(RUSTC) ? [rust("2")] : undefined],
    ["sort", ["sort", "-k2", "--parallel=1", large]],
    ["postgres", postgres(folder)],
  ];
}

function walkTwice(what: string, command: readonly string[]): Row[] {
  const tool = join(root, "build/tools/walk_twice");
  const args = [String(STOPS), String(STEPS), ...command];
  const { stdout, status } = spawnSync(tool, args, { encoding: "utf8", maxBuffer: 1 << 24 });
  if (status !== 0) return [{ what, bar: "runs", figure: "it does not", ok: false }];
  console.log(stdout.replace(/^stops.*\n/m, ""));
  const count = new Map(
    [...stdout.matchAll(/(\w+)=(\d+)/g)].map(([, name = "", value]) => [name, Number(value)]),
  );
  const of = (name: string): number => count.get(name) ?? 0;
  const percent = (part: string, whole: string): string =>
    `${((100 * of(part)) / of(whole)).toFixed(2)} %`;
  return [
    {
      what: `${what}: wrong frames, of those with rows of instructions`,
      bar: "0",
      figure: String(of("wrong")),
      samples: of("told"),
      ok: of("wrong") === 0 && of("told") > 0,
    },
    {
      what: `${what}: frames with such rows; stacks of them alone`,
      bar: "",
      figure: `${percent("told", "frames")}; ${percent("whole", "walks")}`,
      samples: of("stops"),
    },
  ];
}

export const walkedTwice: Section = {
  name: "walked-twice",
  about: "unwind rows made of instructions, in stacks of programs stopped 10,000 times",
  run: async () => {
    execFileSync("make", ["-s", "-C", root, "build/tools/walk_twice"]);
    const folder = mkdtempSync(join(tmpdir(), "polytop-walked-"));
    try {
      return programs(folder).flatMap(([what, command]) =>
        command !== undefined && (existsSync(command[0] ?? "") || !command[0]?.startsWith("/"))
          ? walkTwice(what, command)
          : [],
      );
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
};
