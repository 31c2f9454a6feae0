/** Formatters, linters and the type checker, as tests: one command says whether a change is fit. */
import { spawnSync } from "node:child_process";
import { globSync } from "node:fs";
import { expect, test } from "vitest";
import { root } from "../support/polytop.ts";

/** What a checker that should be content says. */
function complaints(command: string, args: readonly string[]): string {
  const { status, stdout, stderr, error } = spawnSync(command, args, {
    cwd: root,
    encoding: "utf8",
    env: { ...process.env, NO_COLOR: "1" },
  });
  return error ? error.message : status === 0 ? "" : `${stdout}${stderr}`;
}

test("TypeScript and JSON are formatted and free of lint", { timeout: 60_000 }, () => {
  expect(complaints("node_modules/.bin/biome", ["check", "--error-on-warnings", "."])).toBe("");
});

test("C and C++ are formatted", { timeout: 60_000 }, () => {
  const files = globSync("{bpf,native,test}/**/*.{c,h,cpp}", { cwd: root });
  expect(files.length).toBeGreaterThan(0);
  expect(complaints("clang-format-19", ["--dry-run", "--Werror", ...files])).toBe("");
});

test("types are right", { timeout: 120_000 }, () => {
  expect(complaints("node_modules/.bin/tsc", ["--noEmit", "--project", "."])).toBe("");
});
