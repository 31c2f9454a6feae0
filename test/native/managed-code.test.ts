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

/** An instruction of a stub: its bytes, and the words that were pushed before it. */
type Step = readonly [bytes: string, words: number];

/** Those of a virtual call that is looked up anew: .NET 8 to 11 write them so, with addresses and tokens of their own. */
const lookup: readonly Step[] = [
  ["52", 0], // push rdx
  ["49ba0100000002000000", 1], // mov r10, the token
  ["50", 1], // push rax
  ["48b830c89f93c97f0000", 2], // mov rax, the resolver
  ["ffe0", 2], // jmp rax
];

const stubs: Readonly<Record<string, readonly Step[]>> = {
  lookup,
  resolve: [
    ["488b07", 0], // mov rax, [rdi]
    ["52", 0], // push rdx
    ["49bac8606ad29e550000", 1], // mov r10, the cache
    ["488bd0", 1], // mov rdx, rax
    ["48c1e80c", 1], // shr rax, 12
    ["4803c2", 1], // add rax, rdx
    ["4835b8390000", 1], // xor rax, the token's hash
    ["4825f87f0000", 1], // and rax, the cache's mask
    ["4a8b0410", 1], // mov rax, [rax + r10]
    ["49ba0100000002000000", 1], // mov r10, the token
    ["483b5000", 1], // cmp rdx, [rax]
    ["752b", 1], // jne into the lookup stub
    ["4c3b5008", 1], // cmp r10, [rax + 8]
    ["7525", 1], // jne into the lookup stub
    ["488b4010", 1], // mov rax, [rax + 16]
    ["5a", 1], // pop rdx
    ["ffe0", 0], // jmp rax
    ["48b8dc8966d29e550000", 0], // mov rax, a count
    ["8300ff", 0], // add [rax], -1
    ["7dac", 0], // jge to the start
    ["4983cb01", 0], // or r11, 1
    ...lookup,
  ],
  "thunk of a precompiled call": [
    ["33c0", 0], // xor eax, eax
    ["6a03", 0], // push the number of a table
    ["ff351e265100", 1], // push the module
    ["ff2538265100", 2], // jmp to the helper
  ],
  "precode, which pushes nothing": [
    ["4c8b15f93f0000", 0], // mov r10, [rip + ...]
    ["ff25fb3f0000", 0], // jmp [rip + ...]
  ],
};

test.each(Object.entries(stubs))("what a stub has pushed is known by its code: %s", (_, steps) => {
  const said = run(tool, ["words", steps.map(([bytes]) => bytes).join("")]).trim();
  let at = 0;
  for (const [bytes, words] of steps) {
    expect(said[at], `before ${bytes}`).toBe(String(words));
    at += bytes.length / 2;
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
