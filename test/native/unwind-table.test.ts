/** Unwind rows: against readelf, of made files with known answers, and of damaged files. */
import { existsSync, globSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { root } from "../support/polytop.ts";
import { compareFile } from "./compare-readelf.ts";
import { BUILD_MILLISECONDS, buildTools, run, TOOLS } from "./tools.ts";

const dumpUnwind = join(TOOLS, "dump-unwind");

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
    expect(mismatches).toEqual([]);
    expect(rows).toBeGreaterThan(100);
    // What cannot be followed is rare: the ends of longjmp, a few routines in assembly.
    const lost = (counts["odd expression"] ?? 0) + (counts["registers elsewhere"] ?? 0);
    expect(lost / rows).toBeLessThan(0.01);
    expect((counts.equal ?? 0) / rows).toBeGreaterThan(0.98);
  });
});

test("rows without section headers are the same", () => {
  const file = "/bin/bash";
  const fromTable = run(join(TOOLS, "dump-unwind"), ["--no-sections", file]).split("\n");
  expect(fromTable[0]).toContain("source=PT_GNU_EH_FRAME");
  expect(fromTable.slice(1)).toEqual(run(dumpUnwind, [file]).split("\n").slice(1));
});

test("made files give the rows they must", { timeout: 60_000 }, () => {
  expect(run(join(TOOLS, "unwind-cases"), [])).toMatch(/^\d+ checks, 0 failed\n$/);
});

test("damaged files never break the parser", { timeout: 60_000 }, () => {
  const seeds = ["/lib64/ld-linux-x86-64.so.2", "/usr/lib/x86_64-linux-gnu/libgcc_s.so.1"];
  const output = run(join(TOOLS, "fuzz-unwind"), [
    "--seconds",
    "3",
    "--iterations",
    "100000",
    ...seeds.filter((file) => existsSync(file)),
  ]);
  expect(output).toMatch(/damaged files, \d+ of them with rows/);
});
