/** Unwind rows that are made of instructions: against the tables of files that have both. */
import { execFileSync } from "node:child_process";
import { existsSync, globSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Row, Section } from "../../support/measure.ts";
import { root } from "../../support/polytop.ts";
import { workload } from "../../support/workloads.ts";

const EQUAL = 0.995;
const COVERED = 0.95;

/** Programs and libraries of Debian; not each machine has all. */
const FILES = [
  "/usr/bin/perl",
  "/bin/bash",
  "/usr/bin/git",
  "/usr/bin/tmux",
  "/usr/bin/make",
  "/usr/bin/python3.11",
  "/usr/bin/x86_64-linux-gnu-ld.bfd",
  "/lib64/ld-linux-x86-64.so.2",
  "/usr/bin/rg",
  ...globSync(
    "/usr/lib/x86_64-linux-gnu/lib{c,m,stdc++,gcc_s,gmp,z,crypto,ssl,elf,dw,bpf}.so.{1,3,6,10}",
  ),
  "/usr/lib/llvm-19/lib/libclang-19.so.1",
  ...globSync("/usr/lib/postgresql/*/bin/postgres"),
];

/** Programs as they come out of each way to optimise them. */
const LEVELS = ["0", "1", "2", "3", "s"];
export const RUSTC = "/usr/bin/rustc";

/** The program of test/workloads, compiled by rustc. */
export function rust(level: string): string {
  const output = join(root, `build/workloads/words-rustc-${level}`);
  const source = join(root, "test/workloads/words.rs");
  mkdirSync(join(root, "build/workloads"), { recursive: true });
  if (!existsSync(output)) execFileSync(RUSTC, ["-C", `opt-level=${level}`, "-o", output, source]);
  return output;
}

const percent = (share: number): string => `${(100 * share).toFixed(3)} %`;

function compare(what: string, file: string): Row[] {
  const output = execFileSync(join(root, "build/tools/compare_code"), [file], { encoding: "utf8" });
  const count = new Map(
    [...output.matchAll(/(\w+)=(\d+)/g)].map(([, name = "", value]) => [name, Number(value)]),
  );
  const share = (part: string, whole: string): number =>
    (count.get(part) ?? 0) / (count.get(whole) ?? 1);
  const equal = share("equal", "told");
  const covered = share("covered", "functions");
  const samples = count.get("told") ?? 0;
  // Of a few functions each is a large share.
  const hasMany = (count.get("functions") ?? 0) >= 20;
  return [
    {
      what: `${what}: rules as in its table`,
      bar: `>= ${percent(EQUAL)}`,
      figure: percent(equal),
      samples,
      ok: equal >= EQUAL,
    },
    {
      what: `${what}: functions with rules`,
      bar: `>= ${percent(COVERED)}`,
      figure: percent(covered),
      samples: count.get("functions") ?? 0,
      ok: covered >= COVERED || !hasMany,
    },
  ];
}

export const rowsFromCode: Section = {
  name: "rows-from-code",
  about: "unwind rows made of instructions, against .eh_frame, in instructions and functions",
  run: async () => {
    execFileSync("make", ["-s", "-C", root, "build/tools/compare_code"]);
    const made = LEVELS.flatMap((level) => [
      ...["gcc", "clang-19"].map((compiler) => ({
        what: `deep.c, ${compiler} -O${level}`,
        file: workload("deep.c", {
          as: `deep-${compiler}-O${level}`,
          compiler,
          flags: [`-O${level}`],
        }),
      })),
      ...["g++", "clang++-19"].map((compiler) => ({
        what: `words.cpp, ${compiler} -O${level}`,
        file: workload("words.cpp", {
          as: `words-${compiler}-O${level}`,
          compiler,
          flags: [`-O${level}`],
        }),
      })),
      ...(existsSync(RUSTC) ? [{ what: `words.rs, rustc -O${level}`, file: rust(level) }] : []),
    ]);
    return [
      ...FILES.filter((file) => existsSync(file)).map((file) => ({ what: file, file })),
      ...made,
    ].flatMap(({ what, file }) => compare(what, file));
  },
};
