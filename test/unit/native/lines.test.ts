/** Source lines of native code, by the command-line tool of native/lines/line_table.h. */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { root } from "../../support/polytop.ts";
import { workload } from "../../support/workloads.ts";
import { BUILD_MILLISECONDS, buildTools, CHECKED_TOOL, run } from "./symbols-tool.ts";

const folder = mkdtempSync(join(tmpdir(), "lines-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
beforeAll(buildTools, BUILD_MILLISECONDS);

/** The line of test/workloads/lines.c that holds a text. */
const lineOf = (text: string): number =>
  readFileSync(`${root}test/workloads/lines.c`, "utf8")
    .split("\n")
    .findIndex((line) => line.includes(text)) + 1;

/** Offsets of the code of a function; programs are linked so that code lies at its offset. */
function offsetsOf(program: string, name: string): number[] {
  const [, start = "0", size = "0"] =
    new RegExp(`\\b([0-9a-f]{16})\\s+(\\d+) FUNC .* ${name}$`, "m").exec(
      run("readelf", ["-sW", program]).join("\n"),
    ) ?? [];
  return Array.from({ length: Number(size) }, (_, i) => Number.parseInt(start, 16) + i);
}

function linesOf(program: string, offsets: readonly number[], under = "/"): string[] {
  const input = offsets.map((offset) => `${offset.toString(16)}\n`).join("");
  return run(CHECKED_TOOL, ["lines", program, under], input);
}

const IDENTITY = ["-Wl,-z,noseparate-code", "-Wl,--build-id"];

test.each([
  ["gcc", ["-g"]],
  ["line tables only", ["-g1"]],
  ["DWARF 4", ["-gdwarf-4"]],
  ["compressed", ["-g", "-Wl,--compress-debug-sections=zlib"]],
  ["compressed as before 2016", ["-g", "-Wl,--compress-debug-sections=zlib-gnu"]],
  ["compressed by zstd", ["-g", "-Wl,--compress-debug-sections=zstd"]],
])("an inlined loop is the line that calls it: %s", (name, flags) => {
  const program = workload("lines.c", {
    as: `lines-${name.replace(/\W+/g, "-")}`,
    flags: [...flags, ...IDENTITY],
  });
  const lines = linesOf(program, offsetsOf(program, "hot"));
  expect(lines.length).toBeGreaterThan(20);
  const numbers = lines.map((line) => Number(/lines\.c:(\d+)$/.exec(line)?.[1] ?? 0));
  const [first, last] = [lineOf("unsigned hot("), lineOf("return sum;") + 1];
  expect(numbers.filter((line) => line < first || line > last)).toEqual([]);
  const inlined = numbers.filter((line) => line === lineOf("most of the time")).length;
  expect(inlined).toBeGreaterThan(10);
});

test("a separate debug file is found by build id, below the process's root only", () => {
  const program = workload("lines.c", { as: "lines-whole", flags: ["-g", ...IDENTITY] });
  const offsets = offsetsOf(program, "hot");
  const expected = linesOf(program, offsets);
  const id = /Build ID: ([0-9a-f]+)/.exec(run("readelf", ["-nW", program]).join("\n"))?.[1] ?? "";
  const stripped = join(folder, "stripped");
  execFileSync("strip", ["-o", stripped, program]);
  expect(linesOf(stripped, offsets, folder)).toEqual([
    `it has no line table: install its debug package, build id ${id}`,
  ]);
  const debug = join(folder, `usr/lib/debug/.build-id/${id.slice(0, 2)}/${id.slice(2)}.debug`);
  mkdirSync(dirname(debug), { recursive: true });
  execFileSync("objcopy", ["--only-keep-debug", program, debug]);
  expect(linesOf(stripped, offsets, folder)).toEqual(expected);
});

/** Where the bytes of a section are in the file. */
function sectionOf(program: string, name: string): number {
  const line = run("readelf", ["-SW", program]).find((it) => it.includes(` ${name} `)) ?? "";
  return Number.parseInt(line.replace(/^.*\]/, "").trim().split(/\s+/)[3] ?? "", 16);
}

test.each([
  ["in a way of the future", 0, "compressed in a way that polytop does not know"],
  ["and damaged", 40, "damaged"],
])("debug information that is compressed %s says so", (name, at, why) => {
  const program = workload("lines.c", {
    as: "lines-compressed-by-zstd",
    flags: ["-g", "-Wl,--compress-debug-sections=zstd", ...IDENTITY],
  });
  const bytes = readFileSync(program);
  const begin = sectionOf(program, ".debug_info") + at;
  bytes.fill(0xee, begin, begin + 4);
  const made = join(folder, name.replaceAll(" ", "-"));
  writeFileSync(made, bytes);
  expect(linesOf(made, [0x1000])).toEqual([`its debug information is ${why}`]);
});

test("damaged debug information does no harm", () => {
  const program = workload("lines.c", { as: "lines-whole", flags: ["-g", ...IDENTITY] });
  const [found = "{}"] = run(CHECKED_TOOL, ["fuzz", program, "4"]);
  expect((JSON.parse(found) as { files: number }).files).toBeGreaterThan(10);
});
