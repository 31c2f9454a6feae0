import { execFileSync } from "node:child_process";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  BUILD_MILLISECONDS,
  buildTools,
  CHECKED_TOOL,
  demangle,
  type ElfSymbol,
  find,
  readelfFunctions,
  run,
  TOOL,
} from "./symbols-tool.ts";

const MEGABYTES = 1024 * 1024;

const folder = mkdtempSync(join(tmpdir(), "symbols-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
beforeAll(buildTools, BUILD_MILLISECONDS);

function firstThatExists(...paths: readonly string[]): string {
  return paths.find((path) => existsSync(path)) ?? "";
}

const LIBRARIES = "/usr/lib/x86_64-linux-gnu";
const BINARIES = [
  `${LIBRARIES}/libc.so.6`,
  `${LIBRARIES}/libstdc++.so.6`,
  "/bin/bash",
  "/usr/bin/perl",
  firstThatExists(resolve("node_modules/node/bin/node"), process.execPath),
];

describe("against readelf", () => {
  test.each(BINARIES)(
    "every function of %s has its name",
    (file) => {
      const all = readelfFunctions(file);
      const step = Math.ceil(all.length / 20_000);
      const functions = all.filter((_, index) => index % step === 0);
      expect(functions.length).toBeGreaterThan(500);

      const aliases = new Map<bigint, Set<string>>();
      const wanted = new Set(functions.map((it) => it.offset));
      const named = all.filter((it) => wanted.has(it.offset));
      const shown = demangle(named.map((it) => it.name));
      named.forEach((it, index) => {
        const names = aliases.get(it.offset) ?? new Set();
        aliases.set(it.offset, names.add(shown[index] ?? ""));
      });

      for (const place of ["first", "last"]) {
        const offsets = functions.map((it) => it.offset + (place === "last" ? it.size - 1n : 0n));
        const found = find(
          file,
          offsets.map((offset) => ({ offset })),
        );
        let wrong = 0;
        functions.forEach((it, index) => {
          const [start = "", ...words] = (found[index] ?? "").split(" ");
          const right =
            start === it.offset.toString(16) && aliases.get(it.offset)?.has(words.join(" "));
          if (!right) wrong++;
        });
        // Where functions overlap (an entry in the middle of another one), the inner one is meant.
        expect(wrong / functions.length).toBeLessThan(place === "first" ? 0.0005 : 0.005);
      }
    },
    60_000,
  );

  test("names that people know are preferred", () => {
    const libc = `${LIBRARIES}/libc.so.6`;
    const functions = readelfFunctions(libc);
    const names = ["write", "malloc", "free", "qsort", "puts", "pthread_mutex_lock", "sleep"];
    const lookups = names.flatMap((name) => functions.filter((it) => it.name === name).slice(0, 1));
    expect(lookups).toHaveLength(names.length);
    expect(find(libc, lookups).map((line) => line.split(" ")[1])).toEqual(names);
  });

  test("a large index is small", () => {
    const file = BINARIES.at(-1) ?? "";
    const stats = JSON.parse(run(TOOL, ["stats", file, ""])[0] ?? "");
    expect(stats.bytes / stats.functions).toBeLessThan(13);
  });
});

const PROGRAM = `
  #include <vector>
  namespace deep { struct Work { int run(int n) const; }; }
  static __attribute__((noinline, used)) int hidden_helper(int n) {
    for (int i = 0; i < n; i++) asm volatile("" : "+r"(n));
    return n;
  }
  __attribute__((noinline)) int deep::Work::run(int n) const { return hidden_helper(n) + 1; }
  extern "C" int visible_before(int n) { return deep::Work().run(n) * 3; }
  int main(int argc, char**) { std::vector<int> v(argc, 1); return visible_before(v[0]); }
`;

describe("a program whose symbols were taken away", () => {
  const full = join(folder, "program");
  let functions: ElfSymbol[] = [];
  let helper: ElfSymbol;
  let visible: ElfSymbol;

  beforeAll(() => {
    writeFileSync(`${full}.cpp`, PROGRAM);
    const flags = ["-g", "-O1", "-rdynamic", "-Wl,--build-id=sha1", "-o", full, `${full}.cpp`];
    execFileSync("g++", flags);
    functions = readelfFunctions(full);
    const one = (name: RegExp) =>
      functions.find((it) => name.test(it.name)) ?? { offset: 0n, size: 0n, name: "" };
    helper = one(/hidden_helper/);
    visible = one(/^visible_before$/);
  }, 60_000);

  /** The program without symbols, in a folder of its own below a root of its own. */
  function stripped(...removed: readonly string[]): { root: string; file: string; folder: string } {
    const root = mkdtempSync(join(folder, "root-"));
    const inner = join(root, "opt/app");
    mkdirSync(inner, { recursive: true });
    const file = join(inner, "program");
    execFileSync("strip", [...removed.flatMap((it) => ["-R", it]), "-o", file, full]);
    return { root, file, folder: inner };
  }

  function keepDebug(to: string): void {
    mkdirSync(dirname(to), { recursive: true });
    execFileSync("objcopy", ["--only-keep-debug", full, to]);
  }

  function nameOfHelper(file: string, root: string): string {
    return (
      find(file, [{ offset: helper.offset + 1n }], root)[0]
        ?.split(" ")
        .at(-1) ?? ""
    );
  }

  function buildIdPath(): string {
    const id = /Build ID: (\w+)/.exec(run("readelf", ["-nW", full]).join("\n"))?.[1] ?? "";
    return join("usr/lib/debug/.build-id", id.slice(0, 2), `${id.slice(2)}.debug`);
  }

  test("with its symbols", () => {
    expect(find(full, [helper, visible])).toEqual([
      `${helper.offset.toString(16)} hidden_helper`,
      `${visible.offset.toString(16)} visible_before`,
    ]);
    const run = functions.find((it) => it.name.includes("deep4Work3run"));
    expect(find(full, [{ offset: run?.offset ?? 0n }])[0]).toMatch(/ deep::Work::run$/);
  });

  test("without them, what is exported has its name, and nothing else gets it", () => {
    const { file, root } = stripped();
    expect(find(file, [visible], root)[0]).toMatch(/ visible_before$/);
    expect(find(file, [helper], root)).toEqual(["-"]);
    expect(
      find(file, [{ offset: 0n }, { offset: 1n << 40n }, { offset: 0xffff_ffff_ffff_ffffn }], root),
    ).toEqual(["-", "-", "-"]);
  });

  test("a symbol that covers an address names it, also where an unwind entry begins within", () => {
    const inside = visible.offset + 2n;
    const { file, root } = stripped();
    const name = `${visible.offset.toString(16)} visible_before`;
    expect(find(file, [{ offset: inside, functionStart: visible.offset }], root)).toEqual([name]);
    expect(find(file, [{ offset: inside, functionStart: visible.offset - 8n }], root)).toEqual([
      name,
    ]);
    expect(find(file, [{ offset: inside, functionStart: inside }], root)).toEqual([name]);
  });

  test("by its build-id below its root, a link within the root included", () => {
    const { file, root } = stripped();
    const debug = join(root, buildIdPath());
    keepDebug(debug);
    expect(nameOfHelper(file, root)).toBe("hidden_helper");

    renameSync(debug, join(root, "elsewhere.debug"));
    symlinkSync("/elsewhere.debug", debug);
    expect(nameOfHelper(file, root)).toBe("hidden_helper");
  });

  test("a link out of the root leads nowhere", () => {
    const { file, root } = stripped();
    const outside = join(folder, "outside.debug");
    keepDebug(outside);
    const debug = join(root, buildIdPath());
    mkdirSync(dirname(debug), { recursive: true });
    symlinkSync(outside, debug);
    expect(nameOfHelper(file, root)).toBe("-");
    rmSync(debug);
    symlinkSync(`${"../".repeat(20)}${outside}`, debug);
    expect(nameOfHelper(file, root)).toBe("-");
  });

  test("a FIFO in place of a debug file does not stop anything", () => {
    const { file, root } = stripped();
    const debug = join(root, buildIdPath());
    mkdirSync(dirname(debug), { recursive: true });
    execFileSync("mkfifo", [debug]);
    expect(nameOfHelper(file, root)).toBe("-");
  });

  test.each([
    ["beside it", (inner: string) => join(inner, "program.debug")],
    ["in .debug beside it", (inner: string) => join(inner, ".debug/program.debug")],
    [
      "in /usr/lib/debug",
      (_: string, root: string) => join(root, "usr/lib/debug/opt/app/program.debug"),
    ],
  ])("by .gnu_debuglink, %s", (_, place) => {
    for (const removed of [[], [".note.gnu.build-id"]]) {
      const { file, root, folder: inner } = stripped(...removed);
      const debug = place(inner, root);
      keepDebug(debug);
      execFileSync("objcopy", [`--add-gnu-debuglink=${debug}`, file]);
      expect(nameOfHelper(file, root)).toBe("hidden_helper");
    }
  });

  test("a debug file with another CRC, or of another build, is not believed", () => {
    const noId = stripped(".note.gnu.build-id");
    const debug = join(noId.folder, "program.debug");
    keepDebug(debug);
    execFileSync("objcopy", [`--add-gnu-debuglink=${debug}`, noId.file]);
    writeFileSync(debug, Buffer.concat([readFileSync(debug), Buffer.from("x")]));
    expect(nameOfHelper(noId.file, noId.root)).toBe("-");

    const withId = stripped();
    const other = join(withId.root, buildIdPath());
    mkdirSync(dirname(other), { recursive: true });
    copyFileSync("/bin/true", other);
    expect(nameOfHelper(withId.file, withId.root)).toBe("-");
  });

  test("by .gnu_debugdata", () => {
    const { file, root } = stripped();
    const inner = join(folder, "mini.debug");
    execFileSync("objcopy", ["-S", "--keep-symbol=_ZL13hidden_helperi", full, inner]);
    rmSync(`${inner}.xz`, { force: true });
    execFileSync("xz", [inner]);
    execFileSync("objcopy", ["--add-section", `.gnu_debugdata=${inner}.xz`, file]);
    expect(nameOfHelper(file, root)).toBe("hidden_helper");
    expect(find(file, [visible], root)[0]).toMatch(/ visible_before$/);

    // Cut off, and a bomb: 200 MB of zeros.
    const packed = readFileSync(`${inner}.xz`);
    for (const content of [packed.subarray(0, packed.length / 2), zeros()]) {
      const damaged = stripped();
      writeFileSync(join(folder, "damaged.xz"), content);
      execFileSync("objcopy", [
        "--add-section",
        `.gnu_debugdata=${join(folder, "damaged.xz")}`,
        damaged.file,
      ]);
      expect(nameOfHelper(damaged.file, damaged.root)).toBe("-");
    }
  });

  test("assembler: sizes hold, labels reach to the next symbol, aliases have one answer", () => {
    const source = join(folder, "asm.s");
    const file = join(folder, "asm.so");
    const nops = (label: string) => `${label}: .rept 16; nop; .endr`;
    const lines = [
      ".text",
      ".globl sized, unsized, __alias, alias, _weak, outer",
      ".weak _weak",
      ".type sized,@function; .type unsized,@function; .type alias,@function; .type __alias,@function",
      ".type _weak,@function; .type local_alias,@function; .type outer,@function; .type label,@function",
      nops("sized"),
      ".size sized, 8",
      nops("unsized"),
      "__alias: local_alias: _weak:",
      nops("alias"),
      ".size alias, 16; .size __alias, 16; .size _weak, 16; .size local_alias, 16",
      nops("outer"),
      nops("label"),
      ".size outer, 32",
    ];
    writeFileSync(source, `${lines.join("\n")}\n`);
    execFileSync("gcc", ["-shared", "-nostdlib", "-o", file, source]);
    const base = readelfFunctions(file).find((it) => it.name === "sized")?.offset ?? 0n;
    const at = (offset: bigint) => find(file, [{ offset: base + offset }])[0]?.replace(/^\w+ /, "");
    expect(at(7n)).toBe("sized");
    expect(at(8n)).toBe("-");
    expect(at(16n)).toBe("unsized");
    expect(at(31n)).toBe("unsized");
    expect(at(40n)).toBe("alias");
    expect(at(50n)).toBe("outer");
    expect(at(70n)).toBe("outer");
    expect(at(80n)).toBe("-");
  });
});

function zeros(): Buffer {
  const options = { input: Buffer.alloc(200 * MEGABYTES), maxBuffer: MEGABYTES };
  return execFileSync("xz", ["-1", "-c"], options);
}

test("damaged files and random names break nothing (address and undefined behaviour checked)", () => {
  const file = existsSync(join(folder, "program")) ? join(folder, "program") : "/usr/bin/xz";
  const result = JSON.parse(run(CHECKED_TOOL, ["fuzz", file, "2"])[0] ?? "");
  expect(result.files).toBeGreaterThan(100);
}, 60_000);
