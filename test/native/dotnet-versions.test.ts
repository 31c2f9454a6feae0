/** Versions of .NET, known and not, by what a file claims to be. */
import { globSync, readFileSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import layouts from "../../bpf/dotnet-layouts.json" with { type: "json" };
import { DOTNET_STUB_COUNTING, DOTNET_STUB_OTHER, DOTNET_STUB_TABLE } from "../../build/abi.ts";
import { withFolder } from "../support/live.ts";
import { BUILD_MILLISECONDS, buildTools, checkedTool, run } from "./tools.ts";

beforeAll(buildTools, BUILD_MILLISECONDS);

interface Told {
  readonly version: string;
  readonly error: string;
  readonly facts: string;
  readonly stubs: readonly number[];
}

function told(path: string): Told {
  const [version = "", error = "", facts = "", stubs = ""] = run(checkedTool("managed_code"), [
    "runtime",
    path,
  ]).split("\n");
  return { version, error, facts, stubs: stubs.trim().split(" ").map(Number) };
}

type Types = Record<string, Record<string, number>>;

/** What the descriptor of .NET 11 says of types. */
function types(change: Readonly<Record<string, number | undefined>> = {}): Types {
  const latest = Object.entries(layouts.offsets).map(([name, all]) => [name, all.at(-1)] as const);
  const all = { ...Object.fromEntries(latest), ...layouts.everywhere, ...change };
  const found: Types = {};
  for (const [name, offset] of Object.entries(all)) {
    const [type = "", field = ""] = name.split(".");
    found[type] ??= {};
    if (offset !== undefined) found[type][field] = offset;
  }
  return found;
}

const words = { ExecutionManager: "c1", Loader: "c1", RuntimeTypeSystem: "c1" };
const numbers = { ExecutionManager: 2, Loader: 1, RuntimeTypeSystem: 1 };

const described = (
  product: string | undefined,
  contracts: object = words,
  change: Readonly<Record<string, number | undefined>> = {},
): string => {
  const globals = product === undefined ? {} : { RuntimeProductVersionString: [product, "string"] };
  return JSON.stringify({ version: 2, types: types(change), globals, contracts });
};

/** A library that claims to be a runtime; by its text of a version, if it has one, and its descriptor, if it has one. */
function claimed(text: string | undefined, json: string | undefined): Promise<Told> {
  return withFolder(async (folder) => {
    const source = join(folder, "claims.c");
    const lines = ["long g_dacTable[160];"];
    const quoted = (it: string) => JSON.stringify(it).replaceAll("?", "\\?");
    if (text !== undefined)
      lines.push(
        `__attribute__((used)) static const char text[] = ${quoted(`@(#)Version ${text}`)};`,
      );
    if (json !== undefined) {
      lines.push(
        `static const char json[] = ${quoted(json)};`,
        "const struct { char magic[8]; unsigned flags, size; const char *json; unsigned count, pad; void *slots; }",
        `DotNetRuntimeContractDescriptor = { "DNCCDAC", 1, ${Buffer.byteLength(json)}, json, 0, 0, 0 };`,
      );
    }
    writeFileSync(source, lines.join("\n"));
    const library = join(folder, "libclaims.so");
    run("gcc", ["-shared", "-fPIC", "-w", "-o", library, source]);
    return told(library);
  });
}

test("the runtimes at hand are what they say, with and without their text", async (context) => {
  const paths = [
    ...globSync("/usr/{share,lib}/dotnet/shared/Microsoft.NETCore.App/*/libcoreclr.so"),
    ...globSync(
      `${homedir()}/.nuget/packages/microsoft.netcore.app.runtime.linux-x64/*/runtimes/linux-x64/native/libcoreclr.so`,
    ),
  ];
  if (paths.length === 0) return context.skip("no .NET is installed");
  for (const path of paths) {
    const major = /\/(\d+)\.[^/]*\/(?:runtimes\/linux-x64\/native\/)?libcoreclr\.so$/.exec(
      path,
    )?.[1];
    const plain = told(path);
    expect(plain.error, path).toBe("");
    expect(plain.version, path).toBe(`${major} ${major === "8" ? "measured" : "described"}`);
    const bytes = readFileSync(path);
    for (let at = bytes.indexOf("@(#)Version"); at >= 0; at = bytes.indexOf("@(#)Version"))
      bytes.write("!", at);
    await withFolder(async (folder) => {
      const file = join(folder, "silent.so");
      writeFileSync(file, bytes);
      expect(told(file), path).toEqual(plain);
    });
  }
});

test("what a version says goes over what was measured, and its stubs are numbered by its own numbers", async () => {
  const eleven = await claimed("11.0.26", described("11.0.0"));
  expect(eleven).toMatchObject({ version: "11 described", error: "", facts: "2 16 1768" });
  expect(eleven.stubs[9]).toBe(DOTNET_STUB_COUNTING);
  expect(eleven.stubs[8]).toBe(DOTNET_STUB_TABLE);
  expect(await claimed(undefined, described("11.0.0"))).toEqual(eleven);
  expect(await claimed(undefined, described(undefined))).toEqual(eleven);
  const ten = await claimed("10.0.1", described(undefined, numbers, { "PEImageLayout.Base": 8 }));
  expect(ten).toMatchObject({ version: "10 described", error: "" });
  expect(ten.stubs[9]).toBe(DOTNET_STUB_TABLE);
  expect(ten.stubs[8]).not.toBe(DOTNET_STUB_TABLE);
  expect((await claimed("9.0.18", undefined)).facts).toBe("1 8 2456");
});

test("a version that is later than all known is read where it tells all, and refused where it does not", async () => {
  const later = await claimed("12.0.1", described("12.0.0"));
  expect(later).toMatchObject({ version: "12 described", error: "" });
  expect(new Set(later.stubs)).toEqual(new Set([DOTNET_STUB_OTHER]));
  const because = ".NET 12 cannot be read, because its contract descriptor";
  const refused: readonly (readonly [string, string])[] = [
    [
      described("12.0.0", words, { "Module.Base": undefined }),
      `${because} does not tell Module.Base`,
    ],
    [
      described("12.0.0", words, { "RangeSection.Flags": undefined }),
      `${because} does not tell RangeSection.Flags`,
    ],
    [
      described("12.0.0", words, { "MethodDescChunk.!": 32 }),
      `${because} puts MethodDescChunk's size elsewhere`,
    ],
    [
      described("12.0.0", { ...words, ExecutionManager: "c2" }),
      `${because} has another ExecutionManager than .NET 11`,
    ],
  ];
  for (const [json, error] of refused) expect((await claimed("12.0.1", json)).error).toBe(error);
  expect((await claimed("12.0.1", undefined)).error).toBe(
    ".NET 12 cannot be read, because it has no contract descriptor",
  );
});

test("claims that contradict each other, or are none, are refused in words", async () => {
  const another = "cannot be read, because its contract descriptor is that of another version";
  const damaged = ".NET 11 cannot be read, because its contract descriptor is damaged";
  const unreadable = "a .NET cannot be read, because its version is no number that one can have";
  const json = described("11.0.0");
  const cases: readonly (readonly [string | undefined, string, string])[] = [
    ["8.0.1", json, `.NET 8 ${another}`],
    ["10.0.1", described(undefined), `.NET 10 ${another}`],
    ["12.0.1", json, `.NET 12 ${another}`],
    ["11.0.1", json.slice(0, json.length / 2), damaged],
    ["11.0.1", `${json}x`, damaged],
    ["11.0.1", "", damaged],
    ["11.0.1", "{".repeat(100_000), damaged],
    ["11.0.1", json.padEnd((1 << 20) + 1), damaged],
    [
      "11.0.1",
      described("11.0.0", words, { "RangeSection.Flags": 24 }),
      ".NET 11 cannot be read, because its contract descriptor puts RangeSection.Flags elsewhere",
    ],
    ["9".repeat(300), json, unreadable],
    ["zero", json, unreadable],
    [undefined, described("9".repeat(300)), unreadable],
    ["7.0.1", json, ".NET 7 is not supported"],
  ];
  for (const [text, descriptor, error] of cases)
    expect((await claimed(text, descriptor)).error, text).toBe(error);
});
