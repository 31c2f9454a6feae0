import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, describe, expect, test } from "vitest";
import { KernelSymbols } from "../../../src/runtimes/kernel/symbols.ts";
import { builtAddon } from "../../support/addon.ts";

const addon = builtAddon();

const folder = mkdtempSync(join(tmpdir(), "kallsyms-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let files = 0;
function write(lines: readonly string[]): string {
  const path = join(folder, `kallsyms-${files++}`);
  writeFileSync(path, lines.map((line) => `${line}\n`).join(""));
  return path;
}

/** Names of kallsyms lines; nothing of the machine's own takes part. */
function namesOf(lines: readonly string[]): KernelSymbols {
  return new KernelSymbols(addon, { kallsyms: write(lines), modules: join(folder, "none") });
}

function nameAt(names: KernelSymbols, address: bigint): string | undefined {
  const found = names.resolve(address);
  return found.whyUnnamed === undefined ? found.name : undefined;
}

const KERNEL = [
  "0000000000000000 A fixed_percpu_data",
  "ffffffff81000000 T _text",
  "ffffffff81000000 T startup_64",
  "ffffffff81000100 t __pfx_helper",
  "ffffffff81000110 t helper",
  "ffffffff81000200 T schedule",
  "ffffffff81000300 W arch_thing",
  "ffffffff81000300 t __do_thing",
  "ffffffff81000400 t do_one.isra.0.cold",
  "ffffffff81000500 T _etext",
  "ffffffff81000600 D some_data",
  "ffffffff81000700 t late",
  "ffffffff81000800 r __some_table",
];
const MODULES = [
  "ffffffffc0200000 t nf_second\t[nf_tables]",
  "ffffffffc0100000 t nf_first\t[nf_tables]",
  "ffffffffc0300000 t bpf_prog_6deef7357e7b4530_sd_fw\t[bpf]",
];

describe("KernelSymbols", () => {
  const names = namesOf([...KERNEL, ...MODULES]);

  test.each([
    [0xffffffff81000000n, "startup_64", "kernel"],
    [0xffffffff810000ffn, "startup_64", "kernel"],
    [0xffffffff81000105n, "__pfx_helper", "kernel"],
    [0xffffffff81000110n, "helper", "kernel"],
    [0xffffffff81000234n, "schedule", "kernel"],
    [0xffffffff81000300n, "arch_thing", "kernel"],
    [0xffffffff81000410n, "do_one.isra.0.cold", "kernel"],
    [0xffffffff81000710n, "late", "kernel"],
    [0xffffffffc0100010n, "nf_first", "nf_tables"],
    [0xffffffffc0200010n, "nf_second", "nf_tables"],
    [0xffffffffc0300010n, "bpf_prog_6deef7357e7b4530_sd_fw", "bpf"],
  ])("%s is %s of %s", (address, name, module) => {
    expect(names.resolve(address)).toEqual({ name, module });
  });

  test.each([
    ["below all symbols", 0xffffffff80000000n],
    ["behind the end of code", 0xffffffff81000500n],
    ["in data", 0xffffffff81000610n],
    ["behind the last function", 0xffffffff81000810n],
    ["far behind a function of a module", 0xffffffffc0180000n],
    ["behind the last function of a module", 0xffffffffc0204000n],
    ["not in the kernel", 0x7f0012345678n],
  ])("%s there is no name", (_, address) => {
    expect(names.resolve(address).whyUnnamed).toMatch(/no function/);
  });

  test("hidden addresses are a reason, not a name", () => {
    const hidden = namesOf(["0000000000000000 T _text", "0000000000000000 T schedule"]);
    expect(hidden.resolve(0xffffffff81000000n).whyUnnamed).toMatch(/kptr_restrict/);
    expect(hidden.memoryBytes).toBe(0);
  });

  test("a file that cannot be read is a reason", () => {
    const none = new KernelSymbols(addon, { kallsyms: join(folder, "missing") });
    expect(none.resolve(0xffffffff81000000n).whyUnnamed).toMatch(/cannot be read: ENOENT/);
  });

  test("names are cleaned, and damaged lines left out", () => {
    const odd = namesOf([
      "ffffffff81000000 T evil\u001b[2J",
      "ffffffff8100010",
      "ffffffff8100020g T bad_digit",
      "ffffffff81000300T no_space",
      "",
      `ffffffff81000400 T ${"x".repeat(400_000)}`,
    ]);
    expect(nameAt(odd, 0xffffffff81000001n)).toBe("evil\\x1b[2J");
    expect(nameAt(odd, 0xffffffff81000350n)).toBe("evil\\x1b[2J");
  });

  test("no text makes it throw", () => {
    const line = fc.oneof(
      fc.string({ maxLength: 60 }),
      fc.constantFrom(
        "ffffffff81000000 t __pfx_a",
        "ffffffff81000010 t a",
        "ffffffff80000000 T b\t[m]",
      ),
    );
    fc.assert(
      fc.property(
        fc.array(line, { maxLength: 20 }),
        fc.bigInt(0n, 0xffffffffffffffffn),
        (lines, address) => {
          const found = namesOf(lines).resolve(address | 0xffffffff80000000n);
          expect(found.whyUnnamed ?? found.name).not.toBe("");
        },
      ),
      { numRuns: 100 },
    );
  });
});

describe("code loaded later", () => {
  test("is looked for when the modules have changed, at most once a minute", () => {
    let time = 0;
    const kallsyms = write(KERNEL);
    const modules = join(folder, "modules");
    writeFileSync(modules, "");
    const names = new KernelSymbols(addon, { kallsyms, modules, now: () => time });
    const late = 0xffffffff81000910n;
    expect(names.resolve(late).whyUnnamed).toBeDefined();

    writeFileSync(kallsyms, [...KERNEL, "ffffffff81000900 t later"].join("\n"));
    time = 61_000;
    expect(names.resolve(late).whyUnnamed, "the modules are the same").toBeDefined();
    writeFileSync(modules, "m 4096 0 - Live 0xffffffff81000900\n");
    time = 90_000;
    expect(names.resolve(late).whyUnnamed, "asked a moment ago").toBeDefined();
    time = 122_000;
    expect(nameAt(names, late)).toBe("later");
  });

  test("BPF programs that come and go are seen too", () => {
    let time = 0;
    const bpf = (at: string, name: string) => `ffffffffc0${at} t bpf_prog_${name}\t[bpf]`;
    const kallsyms = write([...KERNEL, bpf("300000", "a"), bpf("300800", "c")]);
    const names = new KernelSymbols(addon, {
      kallsyms,
      modules: join(folder, "none"),
      now: () => time,
    });
    expect(nameAt(names, 0xffffffffc0300410n)).toBe("bpf_prog_a");

    writeFileSync(
      kallsyms,
      [bpf("300000", "a"), bpf("300400", "b"), bpf("300800", "c")].join("\n"),
    );
    time = 61_000;
    expect(nameAt(names, 0xffffffffc0300410n)).toBe("bpf_prog_b");
  });
});

const own = (() => {
  try {
    const text = readFileSync("/proc/kallsyms", "latin1");
    return /^(?!0{16})/.test(text) ? text : "";
  } catch {
    return "";
  }
})();

test.runIf(own !== "")("the machine's own kernel, within its limit of memory", () => {
  // BPF programs and what belongs to them come and go meanwhile.
  const functions = own
    .split("\n")
    .filter(
      (line) => /^ffffffff\w{8} [tTwW] /.test(line) && !/\[(bpf|__builtin__\w+)\]$/.test(line),
    );
  const at = new Map<string, string[]>();
  for (const line of functions) {
    const [address = "", , name = ""] = line.split(/[ \t]/);
    at.set(address, [...(at.get(address) ?? []), name]);
  }
  const names = new KernelSymbols(addon);
  names.resolve(0xffffffff81000000n);
  let checked = 0;
  for (const [address, aliases] of at) {
    if (++checked % 7 !== 0 || aliases.some((it) => /^_e(init)?text$/.test(it))) continue;
    const name = nameAt(names, BigInt(`0x${address}`));
    if (!aliases.includes(name ?? "")) expect(`${address} ${name}`).toBe(`${address} ${aliases}`);
  }
  expect(names.memoryBytes).toBeLessThan(8 * 1024 * 1024);
});
