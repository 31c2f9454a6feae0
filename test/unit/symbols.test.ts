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

const TOOL = resolve("build/test/symbols/symbols_tool");
const CHECKED_TOOL = `${TOOL}_checked`;
const MEGABYTES = 1024 * 1024;

const folder = mkdtempSync(join(tmpdir(), "symbols-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
beforeAll(() => {
  execFileSync("make", ["-s", "-j2", "-f", "test/native/symbols.mk"]);
}, 300_000);

/** Standard output, in lines. */
function run(command: string, args: readonly string[], input = ""): string[] {
  const options = { input, encoding: "utf8", maxBuffer: 256 * MEGABYTES } as const;
  return execFileSync(command, args, options).split("\n").slice(0, -1);
}

function demangle(names: readonly string[], tool = TOOL): string[] {
  return run(tool, ["demangle"], names.map((name) => `${name}\n`).join(""));
}

interface Lookup {
  readonly offset: bigint;
  readonly functionStart?: bigint;
}

/** For each offset `start name` in hexadecimal, or `-`. */
function find(file: string, lookups: readonly Lookup[], root = "/nonexistent"): string[] {
  const lines = lookups.map(
    (it) => `${it.offset.toString(16)} ${(it.functionStart ?? 0n).toString(16)}\n`,
  );
  return run(TOOL, ["find", file, root], lines.join(""));
}

interface ElfSymbol {
  readonly offset: bigint;
  readonly size: bigint;
  readonly name: string;
}

/** Functions with a size, by binutils' account, with file offsets. */
function readelfFunctions(file: string): ElfSymbol[] {
  const segments = run("readelf", ["-lW", file]).flatMap((line) => {
    const [type, offset, address, , size] = line.trim().split(/\s+/);
    if (type !== "LOAD" || !/ R.E /.test(line)) return [];
    return [
      { offset: BigInt(offset ?? 0), address: BigInt(address ?? 0), size: BigInt(size ?? 0) },
    ];
  });
  return run("readelf", ["-sW", file]).flatMap((line) => {
    const [, value, size, type, , , section, name] = line.trim().split(/\s+/);
    if ((type !== "FUNC" && type !== "IFUNC") || section === "UND" || name === undefined) return [];
    const address = BigInt(`0x${value}`);
    const segment = segments.find((it) => address >= it.address && address < it.address + it.size);
    if (segment === undefined || BigInt(size ?? 0) === 0n) return [];
    const offset = address - segment.address + segment.offset;
    return [{ offset, size: BigInt(size ?? 0), name: name.replace(/@.*/, "") }];
  });
}

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

  test("a large index is quick and small", () => {
    const file = BINARIES.at(-1) ?? "";
    const stats = JSON.parse(run(TOOL, ["stats", file, ""])[0] ?? "");
    expect(stats.bytes / stats.functions).toBeLessThan(13);
    // 6 ms on an idle machine; the tests' machine may be anything but idle.
    expect(stats.milliseconds).toBeLessThan(60);
  });
});

describe("demangle", () => {
  test.each([
    ["main", "main"],
    ["_ZNSt6vectorIiSaIiEE9push_backERKi", "std::vector<int, std::allocator<int>>::push_back"],
    ["_ZN2ns3fooEiPKc", "ns::foo"],
    ["_ZN2ns3fooEiPKc.cold", "ns::foo.cold"],
    ["_ZN2ns3fooEiPKc.isra.0.constprop.1", "ns::foo.isra.0.constprop.1"],
    ["_ZL4workv.llvm.1234567", "work"],
    ["_ZN3fooC1Ev", "foo::foo"],
    ["_ZN3fooD2Ev", "foo::~foo"],
    ["_ZN3foocvbEv", "foo::operator bool"],
    ["_ZNK3foocvT_IiEEv", "foo::operator int<int>"],
    ["_ZNK3fooltERKS_", "foo::operator<"],
    ["_ZNK3fooclEi", "foo::operator()"],
    ["_ZlsRSoRK3foo", "operator<<"],
    ["_ZlsIiERSoS0_T_", "operator<< <int>"],
    ["_ZN3fooIiEC1Ev", "foo<int>::foo"],
    ["_Znwm", "operator new"],
    ["_Z3fooB5cxx11v", "foo[abi:cxx11]"],
    ["_ZN12_GLOBAL__N_13fooEv", "(anonymous namespace)::foo"],
    ["_ZZ4mainENKUlvE_clEv", "main::{lambda()#1}::operator()"],
    ["_ZZ4mainENKUliE0_clEi", "main::{lambda(int)#2}::operator()"],
    ["_ZN1fIZ4mainEUt_E1gEv", "f<main::{unnamed type#1}>::g"],
    ["_ZThn16_N1A1fEi", "non-virtual thunk to A::f"],
    ["_Z1fIiEDTcl1gfp_EET_", "f<int>"],
    ["_ZN4core3fmt9Formatter9write_str17h0123456789abcdefE", "core::fmt::Formatter::write_str"],
    [
      "_ZN60_$LT$alloc..vec..Vec$LT$T$GT$$u20$as$u20$core..ops..Drop$GT$4drop17h0123456789abcdefE.llvm.77",
      "<alloc::vec::Vec<T> as core::ops::Drop>::drop",
    ],
    ["_RNvNtNtCs9ltgdHTiPiY_4core3fmt3num3imp", "core::fmt::num::imp"],
    ["_RNvMNtCs1_5alloc3vecINtB2_3VecjE4push.llvm.99", "<alloc::vec::Vec<usize>>::push"],
    ["_D3std5stdio6stdoutZ", "std.stdio.stdout"],
    ["_Dmain", "D main"],
    ["_Z", "_Z"],
    ["_ZN", "_ZN"],
    ["_Zebra", "_Zebra"],
    ["_R", "_R"],
    ["_D", "_D"],
    ["", ""],
  ])("%s is %s", (mangled, shown) => {
    expect(demangle([mangled])).toEqual([shown]);
  });

  test("agrees with binutils' demangler on a library's names", () => {
    const names = run("nm", ["-D", "--defined-only", `${LIBRARIES}/libstdc++.so.6`])
      .map((line) => line.replace(/@.*/, "").split(" ").at(-1) ?? "")
      .filter((name) => /^_Z(?!GT|T)/.test(name));
    // Both are right: LLVM writes `>>`, and `std::string` for what the mangling abbreviates so.
    const normal = (text: string) =>
      text
        .replaceAll(/ (?=>)/g, "")
        .replaceAll(/basic_(\w+)<char, std::char_traits<char>(, std::allocator<char>)?>/g, "$1");
    const ours = demangle(names).map(normal);
    const theirs = run("c++filt", ["-p"], `${names.join("\n")}\n`).map(normal);
    const differing = ours.filter((name, index) => name !== theirs[index]);
    expect(names.length).toBeGreaterThan(1000);
    expect(differing.length / names.length).toBeLessThan(0.002);
  });

  /** A name of some hundred bytes whose text doubles with every step. */
  function bomb(steps: number): string {
    const substitution = (n: number) =>
      n === 0 ? "S_" : `S${(n - 1).toString(36).toUpperCase()}_`;
    let name = "_Z1fI1a1bIS0_S0_E";
    for (let i = 0; i < steps; i++) name += `S1_I${substitution(i + 2)}${substitution(i + 2)}E`;
    return `${name}EvT_`;
  }

  test("hostile names come back as they are, at once", () => {
    const rust = `_RINvC1a1fTjjE${"TB7_B7_E".repeat(3)}E`;
    const names = [bomb(40), bomb(300), rust, "_ZN".repeat(1300), `_Z1f${"P".repeat(4000)}i`];
    for (const piece of [
      "1aI",
      "Z1f",
      "XnX",
      "DTcl",
      "Dp",
      "F",
      "L_Z1f",
      "UlTy",
      "J",
      "cv",
      "fL",
    ]) {
      names.push(
        `_Z1fI${piece.repeat(4000)}`.slice(0, 4096),
        `_ZN${piece.repeat(4000)}`.slice(0, 4096),
      );
    }
    names.push(`_RNv${"Nv".repeat(2000)}`, `_RMC1a${"T".repeat(4000)}`, `_Z1f${"i".repeat(5000)}`);
    const start = performance.now();
    const shown = demangle(names, CHECKED_TOOL);
    expect(performance.now() - start).toBeLessThan(5000);
    expect(shown).toHaveLength(names.length);
    expect(shown.slice(0, 2)).toEqual(names.slice(0, 2));
    expect(shown.at(-1)).toBe(names.at(-1));
    for (const name of shown) expect(name.length).toBeLessThan(1 << 20);
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

  test("a symbol below the start of the enclosing function is another function's", () => {
    const inside = visible.offset + 2n;
    const { file, root } = stripped();
    const name = `${visible.offset.toString(16)} visible_before`;
    expect(find(file, [{ offset: inside, functionStart: visible.offset }], root)).toEqual([name]);
    expect(find(file, [{ offset: inside, functionStart: visible.offset - 8n }], root)).toEqual([
      name,
    ]);
    expect(find(file, [{ offset: inside, functionStart: inside }], root)).toEqual(["-"]);
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
  expect(result.slowestNameMilliseconds).toBeLessThan(1000);
}, 60_000);
