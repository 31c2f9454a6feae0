/** The program without rights that reads other people's files. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { root } from "../support/polytop.ts";
import { BUILD_MILLISECONDS, buildTools, run, tool } from "./tools.ts";

beforeAll(buildTools, BUILD_MILLISECONDS);

test("the parser has no rights, and polytop goes on whatever becomes of it", () => {
  const files = [
    "/bin/true",
    "/usr/bin/perl",
    "/usr/lib/x86_64-linux-gnu/libc.so.6",
    "/usr/bin/go",
  ];
  const said = run(tool("parser_cases"), [
    join(root, "dist/polytop-parser"),
    ...files.filter((path) => existsSync(path)),
  ]);
  expect(said).toMatch(/\d+ checks, 0 failed\n$/);
});
