/** Functions and lines as `-e` names them, in the C library and in a program of our own, by binutils' account. */
import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import { filesOfCommand, filesOfWords, interpreterOf } from "../../../src/events/command-files.ts";
import { exactName, functionsIn } from "../../../src/events/functions.ts";
import { findFile } from "../../../src/events/loader-cache.ts";
import { resolveEvents } from "../../../src/events/resolve.ts";
import { UserError } from "../../../src/tick/errors.ts";
import { parseEvents } from "../../../src/tick/event-request.ts";
import { builtAddon } from "../../support/addon.ts";
import { workload } from "../../support/workloads.ts";

const addon = builtAddon();
const libc = findFile("libc") ?? "";

const resolved = (event: string, program?: readonly string[]) => {
  const [found] = resolveEvents(parseEvents(event), { addon, pids: [], program });
  return { notice: found?.notice, files: found?.setup?.files ?? [] };
};

function refusal(event: string): string {
  try {
    resolved(event);
  } catch (error) {
    if (error instanceof UserError) return error.message;
    throw error;
  }
  throw new Error(`accepted: ${event}`);
}

interface DynamicSymbol {
  readonly type: string;
  readonly name: string;
  readonly version: string;
  readonly isOld: boolean;
}

/** Functions of a library's dynamic table, each name once. */
const dynamicFunctions: DynamicSymbol[] = execFileSync("readelf", ["--dyn-syms", "-W", libc], {
  encoding: "utf8",
})
  .split("\n")
  .flatMap((line) => {
    const [, , , type = "", , , section, full = ""] = line.trim().split(/\s+/);
    const [, name = "", at = "", version = ""] = /^([^@]+)(@@?)(.*)$/.exec(full) ?? [];
    const isFunction = (type === "FUNC" || type === "IFUNC") && section !== "UND" && name !== "";
    return isFunction ? [{ type, name, version, isOld: at === "@" }] : [];
  });

test("C++ functions are found by the names that binutils gives them, parameters and all", () => {
  const path = workload("shapes.cpp");
  const names = (args: readonly string[]): string[] =>
    execFileSync("nm", [...args, "--defined-only", path], { encoding: "utf8" })
      .split("\n")
      .flatMap((line) => /^[0-9a-f]+ [tTwW] (.*)$/.exec(line)?.[1] ?? []);
  const readable = names(["-C"]);
  const cases = names([]).flatMap((symbol, at) => {
    const name = readable[at] ?? "";
    return symbol.startsWith("_Z") && name.endsWith(")") ? [{ symbol, name }] : [];
  });
  expect(cases.length).toBeGreaterThan(10);
  const lost = cases.filter(
    ({ symbol, name }) => !functionsIn(path, name, addon).some((one) => one.symbol === symbol),
  );
  expect(lost).toEqual([]);
});

test("functions have the versions that binutils says", () => {
  expect(dynamicFunctions.length).toBeGreaterThan(1000);
  const all = functionsIn(libc, "*", addon);
  const known = new Set(all.map((one) => `${one.symbol} ${one.version} ${one.isOld}`));
  const missing = dynamicFunctions.filter(
    ({ name, version, isOld }) => !known.has(`${name} ${version} ${isOld}`),
  );
  expect(missing).toEqual([]);
});

test("a name is the version that programs get now; another is named with it", () => {
  const found = functionsIn(libc, "pthread_cond_wait", addon);
  const current = found.find((one) => !one.isOld);
  const old = found.find((one) => one.isOld);
  if (!current || !old) throw new Error("libc has one version of pthread_cond_wait only");
  const plain = resolved("uprobe:libc:pthread_cond_wait");
  expect(plain.files[0]?.places.map(({ offset }) => offset)).toEqual([current.offset]);
  expect(plain.notice).toContain(`not of older versions: ${exactName(old)}`);
  const exact = resolved(`uprobe:libc:${exactName(old)}`);
  expect(exact.files[0]?.places.map(({ offset }) => offset)).toEqual([old.offset]);
});

test("what the C library chooses is probed where it is known, and told of", () => {
  const [chooser] = functionsIn(libc, "memcpy", addon).filter((one) => one.isChooser);
  if (!chooser) throw new Error("libc has one memcpy only");
  const found = resolved("uprobe:libc:memcpy");
  expect(found.files[0]?.places).toEqual([{ offset: chooser.offset, semaphore: 0 }]);
  expect(found.notice).toContain("probed is what it chooses on this processor");
  // Both are one function in the C library.
  const [move] = functionsIn(libc, "memmove", addon);
  if (move?.offset === chooser.offset) expect(found.notice).toMatch(/memmove.* are the same/);
});

test("a choice that is in the vDSO is refused", () => {
  const isChooser = dynamicFunctions.some(({ name, type }) => name === "time" && type === "IFUNC");
  expect(isChooser).toBe(true);
  expect(refusal("uprobe:libc:time")).toContain("it is in no file that a probe could reach");
});

test("lines are found by their file, in that of a command too, and refused in words", () => {
  const program = workload("places.c", { as: "places-gcc", flags: ["-g"] });
  const line = resolved(`uprobe:${program}:places.c:7`);
  expect(line.files[0]?.places).toHaveLength(2);
  expect(line.notice).toContain("2 places");
  expect(resolved("uprobe:places.c:7", [program])).toEqual({
    ...line,
    notice: line.notice?.replace(`${program}:`, ""),
  });
  expect(refusal(`uprobe:${program}:places.c:3`)).toContain("line 3 of places.c has no code");
  expect(refusal(`uprobe:${program}:other.c:7`)).toContain("no source file of");
  expect(refusal(`uprobe:${workload("hits.c")}:hits.c:7`)).toContain("it has no line table");
});

test("the files of a command are its program, its loader and libraries", () => {
  const files = filesOfCommand(["perl"], addon).map((path) => path.replace(/.*\//, ""));
  expect(files[0]).toMatch(/^perl/);
  expect(files).toEqual(
    expect.arrayContaining([expect.stringMatching(/^libc\./), expect.stringMatching(/^ld-/)]),
  );
  expect(filesOfCommand(["/nonexistent/program"], addon)).toEqual([]);
});

test("a command that others run has its files beside theirs, each once", () => {
  const files = filesOfWords(["nice", "-n", "5", "env", "A=b", "perl", "-e", "1"], addon);
  expect(files).toEqual([...new Set(files)]);
  for (const name of ["nice", "env", "perl"]) {
    expect(files).toEqual(expect.arrayContaining(filesOfCommand([name], addon)));
  }
});

test("a process has its own files, wherever its root is", () => {
  const [found] = resolveEvents(parseEvents("uprobe:node:uv_run"), { addon, pids: [process.pid] });
  expect(found?.setup?.files?.[0]?.path).toMatch(/node$/);
  const path = `/proc/${process.pid}/root${libc}`;
  expect(functionsIn(path, "malloc", addon)).toMatchObject(
    functionsIn(libc, "malloc", addon).map(({ offset }) => ({ path, offset })),
  );
});

test.each([
  ["#!/usr/bin/perl -w\nuse strict;", ["/usr/bin/perl"]],
  ["#! /usr/bin/env -S A=b perl -w\n", ["/usr/bin/env", "perl"]],
  ["#!\n", []],
  ["\x7fELF", []],
])("%j is run by %j", (start, programs) => {
  expect(interpreterOf(start)).toEqual(programs);
});
