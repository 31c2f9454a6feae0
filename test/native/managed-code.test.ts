/** Precompiled .NET code: prologs against unwind codes, and damaged assemblies and single-file programs. */
import { existsSync, globSync } from "node:fs";
import { homedir } from "node:os";
import { beforeAll, expect, test } from "vitest";
import { BUILD_MILLISECONDS, buildTools, checkedTool, run } from "./tools.ts";

const tool = checkedTool("managed_code");
const elf = "/usr/lib/x86_64-linux-gnu/libgcc_s.so.1";

/** Assemblies of the installed framework. */
function assemblies(names: string): string[] {
  return globSync(`/usr/{share,lib}/dotnet/shared/Microsoft.NETCore.App/*/${names}.dll`).slice(
    0,
    20,
  );
}

beforeAll(buildTools, BUILD_MILLISECONDS);

test("a runtime holds what it copies of write barriers once, and nothing else is taken for stubs", (context) => {
  const runtimes = [
    ...globSync("/usr/{share,lib}/dotnet/shared/Microsoft.NETCore.App/*/libcoreclr.so"),
    ...globSync(
      `${homedir()}/.nuget/packages/microsoft.netcore.app.runtime.linux-x64/*/runtimes/linux-x64/native/libcoreclr.so`,
    ),
  ];
  if (runtimes.length === 0) return context.skip("no .NET is installed");
  for (const runtime of runtimes) {
    const [, barriers, places] =
      /^(\d+) barriers, (\d+) places in counting stubs$/
        .exec(run(tool, ["stubs", runtime]).trim())
        ?.map(Number) ?? [];
    expect(barriers, runtime).toBe(1);
    // The template of the call counting stub has five instructions.
    expect(places, runtime).toBe(5);
  }
});

test("the prologs of an assembly say the same as its unwind codes", {
  timeout: 60_000,
}, (context) => {
  const files = assemblies("System.{Console,Linq,Collections,Net.Http,Private.Xml}");
  if (files.length === 0) return context.skip("no .NET is installed");
  const said = run(tool, ["prologs", ...files]);
  const [, functions, points, differing, refused] =
    /^(\d+) functions, (\d+) points, (\d+) differ, (\d+) functions refused\n$/
      .exec(said)
      ?.map(Number) ?? [];
  expect(functions).toBeGreaterThan(1000);
  expect(points).toBeGreaterThan(functions ?? 0);
  expect(differing).toBe(0);
  expect(refused).toBeLessThan((functions ?? 0) / 1000);
});

test("damaged assemblies and single-file programs never break the parser", {
  timeout: 60_000,
}, (context) => {
  const files = assemblies("System.Console");
  if (files.length === 0 || !existsSync(elf)) return context.skip("no .NET is installed");
  expect(run(tool, ["damage", "3", elf, ...files.slice(0, 1)])).toMatch(
    /damaged files, [1-9]\d* of them with rows/,
  );
});
