/** Unwind rows: against readelf, of made files with known answers, and of damaged files. */
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { root } from "../support/polytop.ts";
import { workload } from "../support/workloads.ts";
import { compareFile } from "./compare-readelf.ts";
import { BUILD_MILLISECONDS, buildTools, checkedTool, run, tool } from "./tools.ts";

const dumpUnwind = tool("dump_unwind");

beforeAll(buildTools, BUILD_MILLISECONDS);

/** Files of this machine with as many kinds of unwind information as it has; not each machine has all. */
const files = [
  "/usr/bin/perl",
  "/bin/bash",
  "/lib64/ld-linux-x86-64.so.2",
  "/lib/x86_64-linux-gnu/libc.so.6",
  "/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
  "/usr/lib/x86_64-linux-gnu/libgcc_s.so.1",
  join(root, "node_modules/node/bin/node"),
  ...globSync("/usr/{share,lib}/dotnet/shared/Microsoft.NETCore.App/*/lib{coreclr,clrjit}.so"),
].filter((file) => existsSync(file));

describe("rows of real files are what readelf says", () => {
  test.each(files)("%s", { timeout: 120_000 }, (file) => {
    const { rows, counts, mismatches } = compareFile(dumpUnwind, file);
    // Nothing called the function that a program begins in: its rows end the walk, whatever its entries say.
    expect(mismatches.filter((line) => !line.endsWith(": end"))).toEqual([]);
    expect(rows).toBeGreaterThan(100);
    // What cannot be followed is rare: the ends of longjmp, a few routines in assembly.
    const lost = (counts["odd expression"] ?? 0) + (counts["registers elsewhere"] ?? 0);
    expect(lost / rows).toBeLessThan(0.01);
    expect((counts.equal ?? 0) / rows).toBeGreaterThan(0.98);
  });
});

test("rows without section headers are the same", () => {
  const file = "/bin/bash";
  const fromTable = run(dumpUnwind, ["--no-sections", file]).split("\n");
  expect(fromTable[0]).toContain("source=PT_GNU_EH_FRAME");
  expect(fromTable.slice(1)).toEqual(run(dumpUnwind, [file]).split("\n").slice(1));
});

/** Rows by file offset, as dump_unwind prints them. */
function rowsOf(file: string): { source: string; rows: Map<number, string> } {
  const [head = "", ...lines] = run(dumpUnwind, [file]).trimEnd().split("\n");
  const pairs = lines.map((line): [number, string] => {
    const space = line.indexOf(" ");
    return [Number.parseInt(line.slice(0, space), 16), line.slice(space + 1)];
  });
  return { source: head, rows: new Map(pairs) };
}

/** The file offset of the table of a Go program that has symbols. */
function tableOf(file: string): number {
  const sections = run("readelf", ["-SW", file]);
  return Number.parseInt(/ \.gopclntab +\w+ +\w+ (\w+)/.exec(sections)?.[1] ?? "", 16);
}

/** The rule at each offset where one of two tables changes. */
function* sideBySide(left: Map<number, string>, right: Map<number, string>) {
  const offsets = [...new Set([...left.keys(), ...right.keys()])].sort((a, b) => a - b);
  let rules: [string, string] = ["none", "none"];
  for (const offset of offsets) {
    rules = [left.get(offset) ?? rules[0], right.get(offset) ?? rules[1]];
    yield rules;
  }
}

test("functions that only .debug_frame knows have the rows that .eh_frame gives them elsewhere", () => {
  const tables = ["-fasynchronous-unwind-tables", "-fno-asynchronous-unwind-tables"].map((option) =>
    rowsOf(workload("waits.c", { as: `frames${option}`, flags: ["-g", option] })),
  );
  const [full, debug] = tables.map(({ rows }) => [...rows]);
  expect(tables.map(({ source }) => source)).toEqual(
    Array(2).fill(expect.stringMatching(/^# source=.eh_frame fdes=[2-9]\d warning=$/)),
  );
  expect(debug?.length).toBeGreaterThan(60);
  expect(debug?.map(([, rule]) => rule)).toEqual(full?.map(([, rule]) => rule));
});

test("a stripped Go program has the rows that its debug information gave it", {
  timeout: 120_000,
}, (context) => {
  if (spawnSync("go", ["version"]).status !== 0) {
    return context.skip("Debian's golang-go is not installed");
  }
  const folder = mkdtempSync(join(tmpdir(), "polytop-go-"));
  try {
    writeFileSync(join(folder, "main.go"), "package main\n\nfunc main() { println(1) }\n");
    const env = { ...process.env, CGO_ENABLED: "0", GOFLAGS: "" };
    const build = (name: string, ...options: readonly string[]): string => {
      execFileSync("go", ["build", ...options, "-o", name, "main.go"], { cwd: folder, env });
      return join(folder, name);
    };
    // Without the table that begins with this word, the entries of .debug_frame are all there is.
    const whole = build("whole");
    const bytes = readFileSync(whole);
    bytes.fill(0, tableOf(whole), tableOf(whole) + 4);
    writeFileSync(join(folder, "full"), bytes);
    const full = rowsOf(join(folder, "full"));
    const stripped = rowsOf(build("stripped", "-ldflags=-s -w"));
    expect(full.source).toContain("source=.debug_frame");
    expect(stripped.source).toContain("source=.gopclntab");
    expect(stripped.rows.size).toBeGreaterThan(1000);
    // Entries do not tell of frame pointers.
    const plain = (rule: string): string => rule.replace("rbp=c-16", "rbp=same");
    const different = [...sideBySide(full.rows, stripped.rows)]
      .map(([a, b]): [string, string] => [a, plain(b)])
      .filter(([a, b]) => a !== b);
    // The table reaches up to the next function, entries up to the last instruction. Where stacks are switched they know
    // of one only.
    expect(different.filter(([a, b]) => a !== "none" && b.startsWith("rsp")).length).toBeLessThan(
      3,
    );
    // Where goroutines and the program begin, and where the scheduler does.
    const ends = [...stripped.rows.values()].filter((rule) => rule === "end");
    expect(ends.length).toBeGreaterThan(2);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test.each(["/lib/x86_64-linux-gnu/libc.so.6", "/usr/bin/perl"])(
  "rows made of the instructions of %s are those of its table",
  { timeout: 60_000 },
  (file) => {
    const figures = run(tool("compare_code"), [file]).matchAll(/(\w+)=(\d+)/g);
    const count = new Map([...figures].map(([, name = "", value]) => [name, Number(value)]));
    const share = (part: string, whole: string): number =>
      (count.get(part) ?? 0) / (count.get(whole) ?? 0);
    expect(share("equal", "told")).toBeGreaterThan(0.999);
    expect(share("covered", "functions")).toBeGreaterThan(0.97);
  },
);

const SORTS =
  'my %h; for my $i (1 .. 1e7) { $h{$i % 1000} = substr("abc$i", 1, 3); my @a = sort { $a <=> $b } 1 .. 9 }';

test("rows made of instructions find the same callers as tables, at random moments", () => {
  const output = run(tool("walk_twice"), ["40", "16", "perl", "-e", SORTS]);
  const counts = output.match(
    /^stops=40 walks=\d+ whole=(\d+) frames=(\d+) told=(\d+) wrong=0 lost=\d+\n$/,
  );
  const [whole = 0, frames = 0, told = 0] = counts?.slice(1).map(Number) ?? [];
  expect(told, output).toBeGreaterThan(frames * 0.95);
  expect(whole, output).toBeGreaterThan(0);
});

/** Rows by file offset with those mended that instructions contradict, and which lines differ from the others. */
function mended(file: string): { rows: readonly string[]; different: readonly string[] } {
  const plain = new Set(run(dumpUnwind, [file]).trimEnd().split("\n"));
  const rows = run(dumpUnwind, ["--mend", file]).trimEnd().split("\n");
  return { rows, different: rows.filter((row) => !plain.has(row)) };
}

const COMPILED = files.filter((file) => /lib(c|stdc\+\+|gcc_s)\.so|perl$|bash$/.test(file));

test.each(COMPILED)("rows of %s are left as they are", { timeout: 60_000 }, (file) => {
  expect(mended(file).different).toEqual([]);
});

test("rows of assembly are those of its instructions, where they contradict these", () => {
  const { rows, different } = mended(workload("misstated.c"));
  expect(different.length).toBeGreaterThan(5);
  // Behind the first return the frame is whole, and the return of the function with the reversed row is one.
  const rules = different.map((row) => row.slice(row.indexOf(" ") + 1));
  expect(rules).toContain("rsp+96 rbp=same ra=c-8");
  expect(rows.filter((row) => / rsp(-|\+0 |\+64 )/.test(row))).toEqual([]);
});

test.each(files.filter((file) => file.endsWith("libcoreclr.so")))(
  "in %s no row has its return address below sp",
  { timeout: 60_000 },
  (file) => {
    const { rows, different } = mended(file);
    const bytes = readFileSync(file);
    // Nothing runs the padding behind a function, which has the row of the function's end.
    const isRun = (row: string): boolean => {
      const at = Number.parseInt(row, 16);
      return !/^(66|90|cc|2e|0f1f)/.test(bytes.subarray(at, at + 2).toString("hex"));
    };
    expect(rows.filter((row) => / rsp(-|\+0 )/.test(row) && isRun(row))).toEqual([]);
    expect(different.length).toBeGreaterThan(10);
    expect(different.length / rows.length).toBeLessThan(0.003);
  },
);

test("frames are followed through instructions", () => {
  expect(run(checkedTool("code_cases"), [])).toMatch(/^\d+ checks, 0 failed\n$/);
});

test("made files give the rows they must", { timeout: 60_000 }, () => {
  expect(run(checkedTool("unwind_cases"), [])).toMatch(/^\d+ checks, 0 failed\n$/);
});

test("where functions start is put in order, and found in its packed form too", () => {
  expect(run(checkedTool("starts_cases"), [])).toMatch(/^\d+ checks, 0 failed\n$/);
});

test("code that programs begin and end with is met by its instructions", () => {
  expect(run(checkedTool("start_code_cases"), [])).toMatch(/^\d+ checks, 0 failed\n$/);
});

test("damaged files never break the parser", { timeout: 60_000 }, () => {
  const seeds = ["/lib64/ld-linux-x86-64.so.2", "/usr/lib/x86_64-linux-gnu/libgcc_s.so.1"];
  const output = run(checkedTool("fuzz_unwind"), [
    "--seconds",
    "3",
    "--iterations",
    "100000",
    ...seeds.filter((file) => existsSync(file)),
  ]);
  expect(output).toMatch(/damaged files, \d+ of them with rows/);
});
