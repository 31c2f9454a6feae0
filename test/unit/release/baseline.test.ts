/** What a release's native files may ask of a system: an older C library as the linker sees it, and who is refused. */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { dynamicSymbols, versionNumber } from "../../../release/native/dynamic-symbols.ts";
import { root } from "../../support/polytop.ts";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "polytop-baseline-"));
  run("library-stubs.ts", [join(folder, "stubs")]);
}, 60_000);
afterAll(() => rmSync(folder, { recursive: true }));

const run = (script: string, args: readonly string[]): { status: number | null; stderr: string } =>
  spawnSync(process.execPath, [join(root, "release/native", script), ...args], {
    cwd: root,
    encoding: "utf8",
  });

/** A shared object of a C function, linked as the addon of a release is, or with the machine's own C library. */
function link(code: string, isOld: boolean): string {
  const source = join(folder, "code.c");
  writeFileSync(source, code);
  const output = join(folder, isOld ? "old.so" : "new.so");
  const libraries = isOld ? ["-nodefaultlibs", join(folder, "stubs/libc.so")] : [];
  const flags = ["-shared", "-fPIC", "-D_GNU_SOURCE", source, ...libraries];
  execFileSync("gcc", [...flags, "-o", output], { stdio: "pipe" });
  return output;
}

/** The version of fstat is 2.33, of pthread_create 2.34 and, before that, 2.2.5. */
const THREADS = "#include <pthread.h>\nint f(pthread_t *t) { return pthread_create(t, 0, 0, 0); }";
const NEW = "#include <stdlib.h>\nunsigned f(void) { return arc4random(); }";

test("a symbol that got a new version is bound to its old one", () => {
  const asked = dynamicSymbols(link(THREADS, true)).filter(({ isDefined }) => !isDefined);
  const versions = asked.flatMap(({ set, version }) => (set === "GLIBC" ? version : []));
  expect(versions.length).toBeGreaterThan(0);
  expect(Math.max(...versions.map(versionNumber))).toBeLessThanOrEqual(versionNumber("2.28"));
});

test("a symbol that is too new is refused, by name", () => {
  const { status, stderr } = run("check-baseline.ts", [link(NEW, true)]);
  expect({ status, stderr }).toEqual({
    status: 1,
    stderr: expect.stringMatching(/asks for arc4random, which nobody has/),
  });
  expect(run("check-baseline.ts", [link(NEW, false)]).stderr).toMatch(
    /asks for arc4random of GLIBC 2\.36/,
  );
});

test("the addon of a clone is none for a release: its libraries are not everywhere", () => {
  const { status, stderr } = run("check-baseline.ts", [join(root, "dist/polytop.node")]);
  expect(status).toBe(1);
  expect(stderr).toMatch(/needs libbpf\.so\.1/);
});

test("versions are in order by their numbers", () => {
  const versions = ["2.2.5", "2.3.4", "2.17", "2.28", "2.34", "3.0"];
  const numbers = versions.map(versionNumber);
  expect([...numbers].sort((a, b) => a - b)).toEqual(numbers);
});
