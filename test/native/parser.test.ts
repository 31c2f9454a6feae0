/** The program without rights that reads other people's files. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { root } from "../support/polytop.ts";
import { workload } from "../support/workloads.ts";
import { BUILD_MILLISECONDS, buildTools, run, tool } from "./tools.ts";

beforeAll(buildTools, BUILD_MILLISECONDS);

const FILES = [
  "/bin/true",
  "/usr/bin/perl",
  "/usr/lib/x86_64-linux-gnu/libc.so.6",
  "/usr/bin/go",
].filter((path) => existsSync(path));

test("the parser has no rights, and polytop goes on whatever becomes of it", () => {
  const said = run(tool("parser_cases"), [join(root, "dist/polytop-parser"), ...FILES]);
  expect(said).toMatch(/\d+ checks, 0 failed\n$/);
});

test("symbols, names, lines and probes are what is found here, and nothing else is taken for them", () => {
  const program = workload("lines.c", { as: "lines-asked", flags: ["-g"] });
  const said = run(tool("answer_cases"), [join(root, "dist/polytop-parser"), program, ...FILES]);
  expect(said).toMatch(/\d+ checks, 0 failed\n$/);
});

test("polytop itself holds nothing that reads such files", () => {
  const symbols = run("nm", ["-C", join(root, "dist/polytop.node")]);
  expect(symbols).toMatch(/polytop::SymbolIndex/);
  expect(symbols).not.toMatch(
    /ElfImage|PeFile|NativeReader|SignatureReader|GoTable|FrameReader|LineTables|DebugLines|[Dd]emangle|decodeXz/,
  );
});
