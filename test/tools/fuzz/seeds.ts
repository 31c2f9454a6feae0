/** The inputs that fuzzing begins with: small honest ones of each form. */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { root } from "../../support/polytop.ts";
import { assembly, bundle, methodTables } from "./dotnet-seeds.ts";
import { u16, u32, u64 } from "./words.ts";

/** What the sections of a file that is made of parts are called, as in test/fuzz/harness/parts.cpp. */
const PARTS = [
  ...readFileSync(join(root, "test/fuzz/harness/parts.cpp"), "latin1").matchAll(
    /^ {4}\{"(\.[^"]+)"/gm,
  ),
].map(([, name]) => name ?? "");
const MAX_PART = 0xffff;

/** A part as the harnesses take it. */
function part(name: string, bytes: Buffer, address = 0, flags = 0): Buffer {
  const kind = PARTS.indexOf(name);
  if (kind < 0) throw new Error(`there is no part ${name}`);
  const kept = bytes.subarray(0, MAX_PART);
  return Buffer.concat([Buffer.from([kind | flags]), u32(address), u16(kept.length), kept]);
}

const elf = (...parts: Buffer[]): Buffer => Buffer.concat([Buffer.from([0]), ...parts]);

/** The sections of an ELF file that there are parts for; of code, its size alone. */
function partsOf(path: string, wanted: (name: string) => boolean = () => true): Buffer {
  const file = readFileSync(path);
  const number = (at: number): number => Number(file.readBigUInt64LE(at));
  const [table, count, names] = [number(0x28), file.readUInt16LE(0x3c), file.readUInt16LE(0x3e)];
  const namesAt = number(table + 64 * names + 0x18);
  const parts: Buffer[] = [];
  for (let index = 1; index < count; index++) {
    const header = table + 64 * index;
    const start = namesAt + file.readUInt32LE(header);
    const name = file.toString("latin1", start, file.indexOf(0, start));
    const [address, offset, size] = [0x10, 0x18, 0x20].map((at) => number(header + at));
    if (!PARTS.includes(name) || !wanted(name) || offset === undefined || size === undefined)
      continue;
    const isPacked = (number(header + 8) & 0x800) !== 0;
    const bytes = name === ".text" ? u32(size, address ?? 0) : file.subarray(offset, offset + size);
    parts.push(part(name, Buffer.from(bytes), address, isPacked ? 0x80 : 0));
  }
  return elf(...parts);
}

/** Builds test/fuzz/seed.c in one of many ways. */
function compile(folder: string, name: string, flags: readonly string[]): string {
  const path = join(folder, name);
  const common = [
    "-shared",
    "-fPIC",
    "-nostdlib",
    "-fno-stack-protector",
    "-Wl,-z,norelro,-z,noseparate-code",
  ];
  execFileSync("gcc", [...common, ...flags, "-o", path, join(root, "test/fuzz/seed.c")]);
  return path;
}

/** An entry of .debug_frame that is the usual one at its start, and functions with these programs. */
function debugFrame(programs: readonly (readonly number[])[]): Buffer {
  const entry = (content: Buffer): Buffer => Buffer.concat([u32(content.length), content]);
  const first = [4, 0, 8, 0, 1, 0x78, 16, 0x0c, 7, 8, 0x90, 1];
  return Buffer.concat([
    entry(Buffer.concat([u32(0xffffffff), Buffer.from(first)])),
    ...programs.map((program, at) =>
      entry(Buffer.concat([u32(0), u64(0x401000 + 64 * at, 60), Buffer.from(program)])),
    ),
  ]);
}

/** A symbol table of so many functions one after the other, weak ones among them. */
function symbolTable(count: number): Buffer {
  const [WEAK_FUNCTION, GLOBAL_FUNCTION] = [0x22, 0x12];
  const entries = Array.from({ length: count }, (_, at) =>
    Buffer.concat([
      u32(1),
      Buffer.from([at % 3 === 0 ? WEAK_FUNCTION : GLOBAL_FUNCTION, 0]),
      u16(1),
      // Neighbours in the table are none in the code.
      u64(0x401000 + ((at * 5) % 4096), 1),
    ]),
  );
  return Buffer.concat(entries);
}

/** The expressions of DWARF that are understood: of a PLT, of a signal frame, of an aligned stack; and plain ones. */
const EXPRESSIONS = [
  [0x0e, 16, 0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22],
  [0x0f, 4, 0x77, 0xa0, 1, 0x06, 0x10, 16, 3, 0x77, 0xa8, 1, 0x10, 6, 3, 0x77, 0xf8, 0],
  [0x0f, 3, 0x76, 0x78, 0x06, 0x10, 6, 2, 0x76, 0, 0x44, 0xc6],
  [0x0f, 6, 0x92, 7, 8, 0x08, 8, 0x22, 0x10, 16, 4, 0x0a, 8, 0, 0x1c, 0x16, 6, 3, 0x76, 8, 0x06],
  [
    0x04, 4, 0, 0, 0, 0x12, 7, 0x7e, 0x13, 0x7e, 0x05, 3, 1, 0x2e, 32, 0x2f, 6, 3, 0x15, 6, 0x7e,
    0x09, 16, 2,
  ],
  [0x0a, 0x41, 0x0b, 0x07, 16, 0x08, 6, 0x0d, 6, 0x10, 16, 5, 0x0c, 8, 0, 0, 0, 0x23, 8],
];

const GO_NAMES = [
  "main.f",
  "runtime.morestack.abi0",
  "runtime.nanotime1",
  "runtime.clone",
  "syscall.rawVforkSyscall",
  "gogo",
];

/** A table of Go 1.20 with functions of 16 bytes that lie one after the other. */
function goTable(magic: number, functions: number, start: number): Buffer {
  const names = Buffer.from(GO_NAMES.map((name) => `${name}\0`).join(""));
  const values = Buffer.from([0, 2, 4, 16, 8, 15, 4, 0]);
  const [namesAt, valuesAt] = [72, 72 + names.length];
  const tableAt = valuesAt + values.length;
  const first = 8 * (functions + 1);
  const numbers = Array.from({ length: functions }, (_, at) => at);
  const nameAt = (at: number): number => names.indexOf(GO_NAMES[at % GO_NAMES.length] ?? "");
  const places = numbers.map((at) => u32(16 * at, first + 48 * at));
  const descriptions = numbers.map((at) =>
    Buffer.concat([u32(16 * at, nameAt(at), 0, 0, 1), Buffer.alloc(28, at === 2 ? 1 : 0)]),
  );
  const header = u64(functions, 0, start, namesAt, 0, 0, valuesAt, tableAt);
  return Buffer.concat([
    u32(magic),
    Buffer.from([0, 0, 1, 8]),
    header,
    names,
    values,
    ...places,
    u32(16 * functions, 0),
    ...descriptions,
    Buffer.alloc(64),
  ]);
}

/** A statement whose tree holds another one, 64 bytes an op; the first three bytes are those of its harness. */
function opTree(): Buffer {
  const memory = Buffer.alloc(64 * 8);
  const op = (
    at: number,
    next: number,
    sibling: number,
    type: number,
    target: number,
    flags: number,
    line: number,
    kid: number,
  ): void => {
    const address = (index: number): bigint => (index < 0 ? 0n : BigInt(64 + 64 * index));
    memory.writeBigUInt64LE(address(next), 64 * at);
    memory.writeBigUInt64LE(address(sibling), 64 * at + 8);
    memory.writeBigUInt64LE(BigInt(target), 64 * at + 24);
    memory.writeUInt16LE(type | (sibling < 0 ? 0 : 0x4000), 64 * at + 32);
    memory.writeUInt8(flags, 64 * at + 34);
    memory.writeUInt32LE(line, 64 * at + 36);
    memory.writeBigUInt64LE(address(kid), 64 * at + 40);
    memory.writeUInt32LE(at + 1, 64 * at + 60);
  };
  op(0, 1, 1, 195, 0, 0, 10, -1);
  op(1, 2, -1, 7, 0, 4, 0, 2);
  op(2, 3, 3, 8, 0, 0, 0, -1);
  op(3, 4, 4, 0, 195, 0, 12, -1);
  op(4, 5, -1, 9, 0, 0, 0, -1);
  return Buffer.concat([Buffer.from([255, 1, 255]), memory]);
}

/** A table of two pages with three rows of two rules, as stored_table.cpp writes it. */
function storedTable(): Buffer {
  const list = (count: number, items: Buffer): Buffer => Buffer.concat([u64(count), items]);
  const text = (value: string): Buffer => list(value.length, Buffer.from(value));
  const rules = Buffer.alloc(32);
  rules.writeInt32LE(8, 8);
  rules.writeInt32LE(16, 24);
  return Buffer.concat([
    u64(2),
    Buffer.from([0]),
    text(".eh_frame"),
    text(""),
    list(2, rules),
    list(2, u32(1, 2, 3, 1)),
    list(3, u32(0, (1 << 12) | 16, 0)),
    list(2, u64(4096, 4112)),
  ]);
}

const MANGLED = [
  "_ZN2ns3fooIiSt6vectorIiSaIiEEEEvT_RKT0_",
  "_ZNKSt8functionIFviEEclEi",
  "_ZZN1a1bEvENKUlT_E_clIiEEDaS1_",
  "_ZN12_GLOBAL__N_11fEv.constprop.0",
  "_ZN3std2io5stdio6_print17h0123456789abcdefE",
  "_ZN4core3ptr85drop_in_place$LT$std..rt..lang_start$u7b$$u7b$closure$u7d$$u7d$$GT$17h1a2b3c4d5e6f7890E",
  "_RNvNtCs1234_7mycrate3foo3bar",
  "_RINvNtC3std3mem8align_ofNtNtC3std3mem12DiscriminantE",
  "_RNvXs_C1aTjE1b",
  "_D3std5stdio4File6__ctorMFNcAyaAyaZSQBbQyQv",
  "_ZTv0_n24_N1A1fEv",
  "_ZN1AIXadL_ZN1B1fEvEEE1gEv",
  "_ZNSt3mapISsiSt4lessISsESaISt4pairIKSsiEEEixEOSs",
];

const PROC = [
  "7f0000000000-7f0000021000 r-xp 00001000 fe:01 1234567                    /usr/lib/x86_64-linux-gnu/libc.so.6",
  "55d0-55e0 rwxp 00000000 00:2a 99 /tmp/a\\012b (deleted)",
  "36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue",
  "100 36 0:50 / /run/user/1000/doc rw,nosuid,nodev,relatime shared:500 - fuse.portal portal rw",
];

/** By kind: positions (of signed and unsigned distances), sources of one and two bytes a character, calls. */
const JAVASCRIPT = [
  [0, 20, 4, 6, 9, 3],
  [4, 20, 8, 6, 12, 3],
  [0, 0, 0, 0, 97, 10, 98, 13, 10, 99],
  [1, 0, 0, 0, 97, 0, 10, 0, 0x28, 0x20],
  [1, 2, 20, 0, 0, 128, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 16, 0, 0, 0, 32, 0, 0, 0],
];

/** What a parser can be asked: native/parser/protocol.h. */
const PARSE_TASKS = 10;

/** Writes the seeds of each harness into a folder of its own below `into`. */
export function writeSeeds(into: string): void {
  const made = mkdtempSync(join(tmpdir(), "polytop-seeds-"));
  const add = (harness: string, name: string, bytes: Buffer | string): void => {
    const folder = join(into, harness);
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, `seed-${name}`), bytes);
  };
  const plain = compile(made, "plain", ["-O2", "-g"]);
  const dwarf4 = compile(made, "dwarf4", ["-O2", "-gdwarf-4"]);
  const packed = compile(made, "packed", ["-O2", "-g", "-gz=zlib"]);
  const frames = compile(made, "frames", [
    "-O1",
    "-g",
    "-fno-asynchronous-unwind-tables",
    "-fno-unwind-tables",
  ]);
  const isFrame = (name: string): boolean =>
    /^\.(text|eh_frame|eh_frame_hdr|debug_frame)$/.test(name);
  add("rows", "plain", partsOf(plain, isFrame));
  add("rows", "debug-frame", partsOf(frames, isFrame));
  for (const [name, flags] of [
    ["sp", ["-O2", "-fomit-frame-pointer"]],
    ["fp", ["-O0"]],
  ] as const) {
    const text = join(made, `${name}.text`);
    execFileSync("objcopy", ["-O", "binary", "-j", ".text", compile(made, name, flags), text]);
    for (const options of [0, 0x10, 0x20])
      add(
        "code",
        `${name}-${options}`,
        Buffer.concat([Buffer.from([options, 0, 0]), readFileSync(text)]),
      );
  }
  const code = part(".text", u32(0x1000, 0x401000), 0x401000);
  add("rows", "expressions", elf(code, part(".debug_frame", debugFrame(EXPRESSIONS))));
  const bare = partsOf(plain, isFrame);
  bare[0] = 1;
  add("rows", "no-sections", bare);
  for (const [at, magic] of [0xfffffff1, 0xfffffff0].entries()) {
    add("rows", `go-${at}`, elf(code, part(".gopclntab", goTable(magic, 7, 0x401000))));
    add(
      "symbols",
      `go-${at}`,
      withDebugFile(elf(code, part(".gopclntab", goTable(magic, 7, 0x401000)))),
    );
  }
  for (const [name, path] of [
    ["plain", plain],
    ["dwarf4", dwarf4],
    ["packed", packed],
  ] as const) {
    add(
      "lines",
      name,
      partsOf(path, (it) => it === ".text" || it.startsWith(".debug_")),
    );
  }
  const isSymbol = (name: string): boolean => /^\.(text|symtab|strtab|dynsym|dynstr)$/.test(name);
  const symbols = partsOf(plain, isSymbol);
  add("symbols", "plain", withDebugFile(symbols));
  const names = part(".strtab", Buffer.from("\0function\0"));
  // Above 2,048 they are sorted in another way.
  for (const count of [3, 2100]) {
    const table = part(".symtab", symbolTable(count));
    add("symbols", `functions-${count}`, withDebugFile(elf(code, table, names)));
  }
  const textOf = partsOf(plain, (name) => name === ".text").subarray(1);
  const id = part(
    ".note.gnu.build-id",
    Buffer.concat([u32(4, 2, 3), Buffer.from("GNU\0\0\0\0\0")]),
  );
  add("symbols", "debug-file", withDebugFile(elf(textOf, id), Buffer.concat([symbols, id])));
  const link = part(".gnu_debuglink", Buffer.concat([Buffer.from("x\0\0\0"), u32(0)]));
  add("symbols", "debug-link", withDebugFile(elf(textOf, link), symbols));
  const xz = spawnSync("xz", ["--stdout", plain]).stdout;
  add("symbols", "debug-data", withDebugFile(elf(textOf, part(".gnu_debugdata", xz))));
  const [packedSymbols, stripped] = [join(made, "symbols.xz"), compile(made, "stripped", ["-s"])];
  writeFileSync(packedSymbols, xz);
  execFileSync("objcopy", ["--add-section", `.gnu_debugdata=${packedSymbols}`, stripped]);
  add("facts", "debug-data", readFileSync(stripped));
  const runtimes = ["-O1", "-g0", "-DRUNTIMES", "-s"];
  for (const [name, flags] of [
    ["python13", []],
    ["python9", ["-DPYTHON_MINOR=9"]],
    ["python14", ["-DPYTHON_MINOR=14", "-DTHREADS"]],
    ["dotnet8", ["-DPYTHON_MINOR=12", "-DDOTNET_VERSION"]],
  ] as const) {
    add("facts", name, readFileSync(compile(made, name, [...runtimes, ...flags])));
  }
  add("facts", "packed", readFileSync(packed));
  const linked = ["-DNEEDED", "-Wl,--no-as-needed,-lm,-lc,-rpath,/one:/two", "-s"];
  add("facts", "needed", readFileSync(compile(made, "needed", linked)));
  const script = join(made, "versions.map");
  writeFileSync(script, "ONE { local: none; };\nTWO { global: versioned; } ONE;\n");
  const versioned = ["-DVERSIONS", `-Wl,--version-script=${script}`];
  add("facts", "versions", readFileSync(compile(made, "versions", versioned)));
  add("facts", "versions-stripped", readFileSync(compile(made, "exported", [...versioned, "-s"])));
  add("facts", "probes", readFileSync(compile(made, "probes", ["-O1", "-DPROBES"])));
  for (const [name, defined] of [
    ["v8", ["-DV8_MAJOR=14", "-DV8_MINOR=6", "-DV8_CODE=200"]],
    ["v8-number", ["-DV8_MAJOR=14", "-DV8_MINOR=6", "-DV8_CODE=-1"]],
    ["v8-layout", ["-DV8_MAJOR=13", "-DV8_MINOR=6", "-DV8_CODE=200"]],
    ["v8-version", ["-DV8_MAJOR=9", "-DV8_MINOR=1", "-DV8_CODE=200"]],
  ] as const) {
    add("facts", name, readFileSync(compile(made, name, ["-O1", "-s", ...defined])));
  }
  for (const [at, name] of MANGLED.entries()) add("demangle", String(at), name);
  add("pe", "image", Buffer.concat([Buffer.from("a"), assembly()]));
  add(
    "pe",
    "codes",
    Buffer.concat([Buffer.from("c"), Buffer.from([1, 8, 4, 5, 8, 3, 5, 0x50, 4, 0x32, 1, 0x30])]),
  );
  add(
    "pe",
    "bundle",
    Buffer.concat([
      Buffer.from("b"),
      bundle(readFileSync(compile(made, "bundle", ["-O1", "-s", "-DBUNDLE"])), assembly()),
    ]),
  );
  add("pe", "methods", Buffer.concat([Buffer.from("m"), methodTables()]));
  add("cache", "table", storedTable());
  add("perl", "tree", opTree());
  for (const [at, table] of [
    [0, [10, 0, 0, 0, 2, 1, 4, 2]],
    [1, [10, 0, 0, 0, 2, 1, 4, 128]],
    [2, [10, 0, 0, 0, 0xd7, 0, 0x80, 1, 0xe9, 2, 0xf1, 1, 1, 2, 3]],
    [3, [120, 100, 101, 98, 117, 103, 112, 121]],
  ] as const) {
    add(
      "python",
      String(at),
      Buffer.concat([Buffer.from([at]), Buffer.from(table), Buffer.alloc(at === 3 ? 760 : 0)]),
    );
  }
  for (const [at, line] of PROC.entries()) add("proc", String(at), line);
  for (const [at, table] of JAVASCRIPT.entries())
    add("v8", String(at), Buffer.from([at, ...table]));
  for (let task = 1; task <= PARSE_TASKS; task++) {
    add("answers", String(task), Buffer.concat([Buffer.from([task]), Buffer.alloc(80)]));
  }
  rmSync(made, { recursive: true });
}

/** A program, and the debug file that is found for it. */
const withDebugFile = (program: Buffer, debug: Buffer = Buffer.alloc(0)): Buffer =>
  Buffer.concat([u16(program.length), program, debug]);
