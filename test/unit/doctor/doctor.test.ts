/** What `doctor` makes of a machine's facts. */
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import {
  afterTrial,
  diagnose,
  diagnosisJson,
  formatDiagnosis,
  whyItCannotRun,
} from "../../../src/doctor/doctor.ts";
import { type Facts, readFacts } from "../../../src/doctor/facts.ts";

const ALL = (1n << 41n) - 1n;
const without = (...bits: bigint[]): bigint => bits.reduce((all, bit) => all & ~(1n << bit), ALL);
const SYS_PTRACE = 19n;
const SYS_ADMIN = 21n;
const SYS_RESOURCE = 24n;
const PERFMON = 38n;
const BPF = 39n;
const CHECKPOINT_RESTORE = 40n;

const GOOD: Facts = {
  release: "6.1.0-35-amd64",
  architecture: "x64",
  uid: 0,
  capabilities: ALL,
  hasBtf: true,
  perfEventParanoid: 3,
  unprivilegedBpfDisabled: 2,
  bpfJit: 1,
  hasKernelSymbols: true,
  kptrRestrict: 0,
  lockdown: "none",
  lockedMemoryBytes: 8 * 1024 * 1024,
  hasTracefs: true,
  inInitialPidNamespace: true,
  container: undefined,
};

const states = (facts: Partial<Facts>): Record<string, string> =>
  Object.fromEntries(
    diagnose({ ...GOOD, ...facts })
      .checks.filter(({ state }) => state !== "ok")
      .map(({ id, state }) => [id, state]),
  );

describe("what a fact does", () => {
  test("nothing is to mend on a usual machine with root", () => {
    expect(diagnose(GOOD).canRun).toBe(true);
    expect(states({})).toEqual({});
  });

  test.each<[string, Partial<Facts>, Record<string, string>]>([
    ["an old kernel", { release: "5.9.16" }, { kernel: "fail", locked_memory: "ok" }],
    ["4.19 of Debian 10", { release: "4.19.0-27-amd64" }, { kernel: "fail" }],
    ["5.10 will do", { release: "5.10.0" }, {}],
    ["another architecture", { architecture: "arm64" }, { architecture: "fail" }],
    ["no BTF", { hasBtf: false }, { btf: "fail" }],
    ["no CAP_BPF", { capabilities: without(BPF, SYS_ADMIN) }, { capabilities: "fail" }],
    ["CAP_SYS_ADMIN stands for CAP_BPF", { capabilities: without(BPF, PERFMON) }, {}],
    [
      "no CAP_PERFMON",
      { capabilities: without(PERFMON, SYS_ADMIN) },
      { capabilities: "fail", perf_events: "fail" },
    ],
    ["no CAP_SYS_PTRACE", { capabilities: without(SYS_PTRACE) }, { inspection: "warn" }],
    [
      "no right to map_files",
      { capabilities: without(SYS_ADMIN, CHECKPOINT_RESTORE) },
      { inspection: "warn" },
    ],
    ["no perf events", { perfEventParanoid: undefined }, { perf_events: "fail" }],
    ["no JIT", { bpfJit: 0 }, { bpf_jit: "warn" }],
    ["lockdown", { lockdown: "confidentiality" }, { lockdown: "fail" }],
    ["a lockdown that lets BPF read", { lockdown: "integrity" }, {}],
    [
      "locked memory that counts",
      { release: "5.10.0", capabilities: without(SYS_RESOURCE) },
      { locked_memory: "fail" },
    ],
    ["no limit", { release: "5.10.0", lockedMemoryBytes: Number.POSITIVE_INFINITY }, {}],
    [
      "hidden symbols",
      { release: "5.10.0-30-amd64", hasKernelSymbols: false, kptrRestrict: 2 },
      { kernel_symbols: "warn" },
    ],
    ["hidden symbols of a kernel that tells names", { hasKernelSymbols: false }, {}],
    ["no tracefs", { hasTracefs: false }, { tracefs: "note" }],
    ["a pid namespace", { inInitialPidNamespace: false }, { container: "warn" }],
  ])("%s", (_name, facts, expected) => {
    const found = states(facts);
    for (const [id, state] of Object.entries(expected)) {
      if (state !== "ok") expect(found).toHaveProperty(id, state);
    }
    const fails = Object.values(expected).includes("fail");
    expect(diagnose({ ...GOOD, ...facts }).canRun).toBe(!fails);
    if (Object.keys(expected).length === 0) expect(found).toEqual({});
  });

  test("whatever is to mend comes with what to type", () => {
    const worst = diagnose({
      ...GOOD,
      release: "4.4.0",
      architecture: "arm64",
      capabilities: 0n,
      uid: 1000,
      hasBtf: false,
      bpfJit: 0,
      lockdown: "confidentiality",
      hasKernelSymbols: false,
      hasTracefs: false,
      inInitialPidNamespace: false,
      lockedMemoryBytes: 65536,
    });
    expect(worst.checks.filter(({ state, mend }) => state !== "ok" && mend === "")).toEqual([]);
    expect(worst.checks.find(({ id }) => id === "capabilities")?.mend).toBe("sudo polytop");
  });
});

describe("programs that the kernel refuses", () => {
  const tried = (sampling: string, waits: string) =>
    afterTrial(diagnose(GOOD), { sampling, waits });

  test("those that sample keep it from running", () => {
    const { canRun, checks } = tried("the kernel refused the BPF program sample (why)\nlog", "");
    expect(canRun).toBe(false);
    expect(checks.at(-1)).toMatchObject({
      id: "programs",
      state: "fail",
      text: "the kernel refused the BPF program sample (why)",
    });
  });

  test("those for waits do not", () => {
    expect(
      tried("", "")
        .checks.slice(-2)
        .map(({ state }) => state),
    ).toEqual(["ok", "ok"]);
    const found = tried("", "waits cannot be sampled: why\nlog");
    expect(found.canRun).toBe(true);
    expect(found.checks.at(-1)).toMatchObject({ id: "waits", state: "warn" });
    expect(formatDiagnosis(found)).toContain("polytop can run here, but cannot sample waits");
  });
});

describe("how it is said", () => {
  test("a line for each check, one below for what mends it", () => {
    const text = formatDiagnosis(diagnose({ ...GOOD, hasBtf: false }));
    expect(text).toContain("fail  btf               /sys/kernel/btf/vmlinux is missing");
    expect(text).toContain("mend: boot a kernel built with CONFIG_DEBUG_INFO_BTF=y");
    expect(text.endsWith("polytop cannot run here.\n")).toBe(true);
  });

  test("JSON is one line with what a program needs", () => {
    const text = diagnosisJson(diagnose(GOOD));
    expect(text.trimEnd()).not.toContain("\n");
    const parsed = JSON.parse(text);
    expect(parsed).toMatchObject({ schema: "polytop.doctor/1", canRun: true });
    expect(parsed.checks[0]).toEqual({
      id: "kernel",
      state: "ok",
      text: "Linux 6.1.0-35-amd64, needs 5.10 or later",
      mend: "",
    });
  });

  test("why polytop does not start is the first failure, in two lines", () => {
    expect(whyItCannotRun(diagnose(GOOD))).toBeUndefined();
    const reason = whyItCannotRun(diagnose({ ...GOOD, uid: 1000, capabilities: 0n }));
    expect(reason?.split("\n")).toEqual([
      "capabilities: lacks CAP_BPF, CAP_PERFMON: cannot sample (and 1 more)",
      "mend: sudo polytop – `polytop doctor` tells more",
    ]);
  });
});

describe("reading the facts", () => {
  const roots: string[] = [];
  afterEach(() => {
    for (const path of roots.splice(0)) rmSync(path, { recursive: true });
  });

  /** A machine whose /proc and /sys hold these files. */
  function machine(files: Readonly<Record<string, string>>): string {
    const root = mkdtempSync(join(tmpdir(), "polytop-doctor-"));
    roots.push(root);
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(root, path)), { recursive: true });
      writeFileSync(join(root, path), text);
    }
    return root;
  }

  test("of a container with few rights", () => {
    const root = machine({
      "proc/sys/kernel/osrelease": "5.15.0-91-generic\n",
      "proc/sys/kernel/perf_event_paranoid": "4\n",
      "proc/sys/kernel/kptr_restrict": "1\n",
      "proc/sys/net/core/bpf_jit_enable": "1\n",
      "proc/self/status": "Name:\tnode\nUid:\t1000\t1000\t1000\t1000\nCapEff:\t00000000a80425fb\n",
      "proc/self/limits": "Max locked memory         65536                65536      bytes\n",
      "proc/kallsyms": "0000000000000000 A fixed_percpu_data\n0000000000000000 T _text\n",
      "sys/kernel/security/lockdown": "none [integrity] confidentiality\n",
      "sys/kernel/btf/vmlinux": "",
      ".dockerenv": "",
    });
    mkdirSync(join(root, "proc/self/ns"));
    symlinkSync("pid:[4026532201]", join(root, "proc/self/ns/pid"));
    expect(readFacts(root)).toMatchObject({
      release: "5.15.0-91-generic",
      uid: 1000,
      capabilities: 0xa80425fbn,
      hasBtf: true,
      perfEventParanoid: 4,
      unprivilegedBpfDisabled: undefined,
      hasKernelSymbols: false,
      kptrRestrict: 1,
      lockdown: "integrity",
      lockedMemoryBytes: 65536,
      hasTracefs: false,
      inInitialPidNamespace: false,
      container: "docker",
    });
  });

  test("of nothing at all", () => {
    expect(readFacts(machine({}))).toMatchObject({ hasBtf: false, capabilities: 0n });
    expect(diagnose(readFacts(machine({}))).canRun).toBe(false);
  });

  test("addresses of the kernel that can be read", () => {
    const root = machine({ "proc/kallsyms": "ffffffff81000000 T _text\n" });
    expect(readFacts(root).hasKernelSymbols).toBe(true);
  });
});
