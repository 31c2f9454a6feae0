/** Where source lines begin in programs, by the command-line tool of native/lines/line_places.h. */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { root } from "../../support/polytop.ts";
import { workload } from "../../support/workloads.ts";
import {
  BUILD_MILLISECONDS,
  buildTools,
  CHECKED_TOOL,
  readelfFunctions,
  run,
} from "./symbols-tool.ts";

const folder = mkdtempSync(join(tmpdir(), "places-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
beforeAll(buildTools, BUILD_MILLISECONDS);

/** The line of test/workloads/places.c that holds a text. */
const lineOf = (text: string): number =>
  readFileSync(`${root}test/workloads/places.c`, "utf8")
    .split("\n")
    .findIndex((line) => line.includes(text)) + 1;

const places = (program: string, source: string, line: number, under = "/"): string =>
  run(CHECKED_TOOL, ["places", program, under], `${source} ${line}\n`)[0]?.trim() ?? "";

/** In which functions of a program these offsets are, by binutils' account. */
function functionsAt(program: string, offsets: string): string[] {
  const functions = readelfFunctions(program);
  return offsets.split(" ").map((text) => {
    const offset = BigInt(`0x${text}`);
    const found = functions.find((it) => offset >= it.offset && offset < it.offset + it.size);
    return found?.name ?? "none";
  });
}

test.each([
  ["gcc", ["-g"]],
  ["not optimised", ["-g", "-O0"]],
  ["DWARF 4", ["-gdwarf-4"]],
  ["compressed", ["-g", "-Wl,--compress-debug-sections=zlib"]],
])("a line has a place in each function and in each inlined copy: %s", (name, flags) => {
  const program = workload("places.c", { as: `places-${name.replace(/\W+/g, "-")}`, flags });
  const functionsOf = (text: string): string[] =>
    functionsAt(program, places(program, "places.c", lineOf(text))).sort();
  expect(functionsOf("in each copy")).toEqual(["each", "even"]);
  expect(functionsOf("in one place")).toEqual(["main"]);
  expect(functionsOf("the loop")).toEqual(["main"]);
  // The first line of a function begins where it does.
  const [start = ""] = places(program, "places.c", lineOf("void each(")).split(" ");
  const each = readelfFunctions(program).find((it) => it.name === "each");
  expect(BigInt(`0x${start}`)).toBe(each?.offset);
});

test("a source file is meant by whole components of its path", () => {
  const program = workload("places.c", { as: "places-gcc", flags: ["-g"] });
  const line = lineOf("in one place");
  expect(places(program, "workloads/places.c", line)).toBe(places(program, "places.c", line));
  expect(places(program, "laces.c", line)).toBe("sources 0 next 0");
  expect(places(program, "places.c", 1)).toMatch(/^sources 1 next \d+$/);
  expect(places(program, "places.c", 9999)).toBe("sources 1 next 0");
});

test("a separate debug file is read, and a program without one says what is missing", () => {
  const program = workload("places.c", {
    as: "places-identity",
    flags: ["-g", "-Wl,--build-id"],
  });
  const line = lineOf("in each copy");
  const expected = places(program, "places.c", line);
  const id = /Build ID: ([0-9a-f]+)/.exec(run("readelf", ["-nW", program]).join("\n"))?.[1] ?? "";
  const stripped = join(folder, "stripped");
  execFileSync("strip", ["-o", stripped, program]);
  expect(places(stripped, "places.c", line, folder)).toBe(
    `it has no line table: install its debug package, build id ${id}`,
  );
  const debug = join(folder, `usr/lib/debug/.build-id/${id.slice(0, 2)}/${id.slice(2)}.debug`);
  mkdirSync(dirname(debug), { recursive: true });
  execFileSync("objcopy", ["--only-keep-debug", program, debug]);
  expect(places(stripped, "places.c", line, folder)).toBe(expected);
});
