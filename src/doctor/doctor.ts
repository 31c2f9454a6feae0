/** `polytop doctor`: what this machine lacks, and the command that mends it. */
import { ARCHITECTURE, architectureNamed, SUPPORTED } from "../machine/architecture.ts";
import {
  howToBeRoot,
  howToMend,
  IN_CONTAINER,
  type Installation,
} from "../machine/installation.ts";
import type { Facts } from "./facts.ts";

/** `fail` keeps polytop from running, `warn` costs it something, `note` is for the reader. */
export type CheckState = "ok" | "note" | "warn" | "fail";

/** One thing that was looked at. */
export interface Check {
  readonly id: string;
  readonly state: CheckState;
  /** What was found, in one line. */
  readonly text: string;
  /** What to type, or to change where no command does; empty when nothing is to mend. */
  readonly mend: string;
}

/** Why the kernel refuses polytop's programs, as Addon.tryToLoad() says it. */
export interface Refusals {
  readonly sampling: string;
  readonly waits: string;
}

/** The whole finding. */
export interface Diagnosis {
  readonly canRun: boolean;
  readonly checks: readonly Check[];
}

/** Numbers of capabilities (include/uapi/linux/capability.h). */
const CAPABILITIES = {
  CAP_DAC_READ_SEARCH: 2n,
  CAP_SYS_PTRACE: 19n,
  CAP_SYS_ADMIN: 21n,
  CAP_SYS_RESOURCE: 24n,
  CAP_SYSLOG: 34n,
  CAP_PERFMON: 38n,
  CAP_BPF: 39n,
  CAP_CHECKPOINT_RESTORE: 40n,
} as const;

/** Maps and programs need about this much where they count against the limit (before 5.11). */
const LOCKED_MEMORY_BYTES = 64 * 1024 * 1024;

const check = (id: string, state: CheckState, text: string, mend = ""): Check => ({
  id,
  state,
  text,
  mend: state === "ok" ? "" : mend,
});

const has = (facts: Facts, name: keyof typeof CAPABILITIES): boolean =>
  ((facts.capabilities >> CAPABILITIES[name]) & 1n) === 1n;

/** What is judged where only the machine matters. */
const ANY: Installation = { way: "clone", folder: "", damage: "" };

/** What follows from a finding once the kernel was asked for its programs, where there is nothing else against a run. */
export function afterTrial({ canRun, checks }: Diagnosis, refusals: Refusals): Diagnosis {
  const { sampling, waits } = refusals;
  const asked = [
    check(
      "programs",
      sampling ? "fail" : "ok",
      sampling ? firstLine(sampling) : "the kernel takes the programs that sample",
      REFUSED,
    ),
    ...(sampling
      ? []
      : [
          check(
            WAITS,
            waits ? "warn" : "ok",
            waits ? firstLine(waits) : "the kernel takes the programs that visit waiting threads",
            REFUSED,
          ),
        ]),
  ];
  return { canRun: canRun && sampling === "", checks: [...checks, ...asked] };
}

const WAITS = "waits";
const REFUSED = "a newer polytop may know this kernel; POLYTOP_DEBUG=1 shows all of its reasons";

const firstLine = (text: string): string => text.split("\n")[0] ?? "";

/** Judges the facts, and the installation where one is given. */
export function diagnose(facts: Facts, installation?: Installation): Diagnosis {
  const root = facts.uid === 0 ? IN_CONTAINER : howToBeRoot(installation ?? ANY);
  const checks = [
    ...(installation ? [installed(installation)] : []),
    kernel(facts),
    architecture(facts),
    btf(facts),
    ...capabilities(facts, root),
    perfEvents(facts),
    unprivilegedBpf(facts),
    bpfJit(facts),
    lockdown(facts),
    lockedMemory(facts),
    kernelSymbols(facts, root),
    tracefs(facts),
    container(facts),
  ];
  return { canRun: !checks.some(({ state }) => state === "fail"), checks };
}

/** Installs the newest kernel of Debian. */
const KERNEL_PACKAGE = `apt-get install linux-image-${ARCHITECTURE.debian}`;

function isAtLeast(facts: Facts, major: number, minor: number): boolean {
  const [, a = "0", b = "0"] = /^(\d+)\.(\d+)/.exec(facts.release) ?? [];
  return Number(a) > major || (Number(a) === major && Number(b) >= minor);
}

function kernel(facts: Facts): Check {
  const good = isAtLeast(facts, 5, 10);
  return check(
    "kernel",
    good ? "ok" : "fail",
    `Linux ${facts.release}, needs 5.10 or later`,
    `${KERNEL_PACKAGE} && reboot`,
  );
}

function installed(installation: Installation): Check {
  const { way, folder, release, damage } = installation;
  const what = release
    ? `${way} of commit ${release.commit.slice(0, 12)} for glibc ${release.glibc}`
    : way;
  return check(
    "installation",
    damage ? "fail" : "ok",
    `${what} in ${folder}${damage ? `: ${damage}` : ""}`,
    howToMend(installation),
  );
}

function architecture(facts: Facts): Check {
  const known = architectureNamed(facts.architecture);
  return check(
    "architecture",
    known ? "ok" : "fail",
    known?.name ?? `${facts.architecture}, needs ${SUPPORTED}`,
    `run it on an ${SUPPORTED} machine`,
  );
}

function btf(facts: Facts): Check {
  return check(
    "btf",
    facts.hasBtf ? "ok" : "fail",
    `/sys/kernel/btf/vmlinux ${facts.hasBtf ? "is there" : "is missing: the kernel has no type information"}`,
    `boot a kernel built with CONFIG_DEBUG_INFO_BTF=y: ${KERNEL_PACKAGE} && reboot`,
  );
}

/** `root`: how to get privileges, which depends on who asks: root without them sits in a container. */
function capabilities(facts: Facts, root: string): Check[] {
  const lacks = (...names: (keyof typeof CAPABILITIES)[]): string =>
    names.filter((name) => !has(facts, name)).join(", ");
  const admin = has(facts, "CAP_SYS_ADMIN");
  const sampling = admin ? "" : lacks("CAP_BPF", "CAP_PERFMON");
  const tracing = lacks("CAP_SYS_PTRACE", "CAP_DAC_READ_SEARCH");
  const mapped = admin ? "" : lacks("CAP_CHECKPOINT_RESTORE");
  return [
    check(
      "capabilities",
      sampling ? "fail" : "ok",
      sampling ? `lacks ${sampling}: cannot sample` : "can load BPF programs and open perf events",
      root,
    ),
    check(
      "inspection",
      tracing || mapped ? "warn" : "ok",
      tracing || mapped
        ? `lacks ${[tracing, mapped].filter(Boolean).join(", ")}: files of others' processes stay unread`
        : "can read the files of all processes",
      root,
    ),
  ];
}

function perfEvents(facts: Facts): Check {
  const { perfEventParanoid: level } = facts;
  if (level === undefined) {
    return check(
      "perf_events",
      "fail",
      "the kernel has no perf events",
      `boot a kernel built with CONFIG_PERF_EVENTS=y: ${KERNEL_PACKAGE} && reboot`,
    );
  }
  const admin = has(facts, "CAP_SYS_ADMIN");
  const exempt = has(facts, "CAP_PERFMON") || admin;
  // Levels above 2 are the distributions': Ubuntu's kernels and Debian's 5.10 ask for CAP_SYS_ADMIN there, whatever
  // else one may; later ones of Debian are content with CAP_PERFMON.
  const isUnsure = exempt && !admin && level > 2;
  const why = isUnsure
    ? ", which CAP_PERFMON does not override in every kernel"
    : ", which CAP_PERFMON overrides";
  return check(
    "perf_events",
    isUnsure ? "warn" : exempt || level < 0 ? "ok" : "fail",
    `kernel.perf_event_paranoid is ${level}${exempt ? why : ""}`,
    `sysctl kernel.perf_event_paranoid=${isUnsure ? 2 : -1}`,
  );
}

function unprivilegedBpf(facts: Facts): Check {
  const { unprivilegedBpfDisabled: value } = facts;
  // polytop never relies on unprivileged BPF: it is shown because people ask for it first.
  if (value === undefined) return check("unprivileged_bpf", "note", "the kernel does not tell");
  return check("unprivileged_bpf", "ok", `kernel.unprivileged_bpf_disabled is ${value}, no matter`);
}

function bpfJit(facts: Facts): Check {
  const off = facts.bpfJit === 0;
  return check(
    "bpf_jit",
    off ? "warn" : "ok",
    off ? "BPF programs are interpreted: a sample costs several times as much" : "BPF is compiled",
    "sysctl net.core.bpf_jit_enable=1",
  );
}

function lockdown(facts: Facts): Check {
  const bad = facts.lockdown === "confidentiality";
  return check(
    "lockdown",
    bad ? "fail" : "ok",
    facts.lockdown === undefined
      ? "the kernel has no lockdown"
      : `lockdown is ${facts.lockdown}${bad ? ": BPF may not read kernel memory" : ""}`,
    "boot without lockdown=confidentiality on the kernel's command line",
  );
}

function lockedMemory(facts: Facts): Check {
  if (isAtLeast(facts, 5, 11)) {
    return check("locked_memory", "ok", "BPF memory does not count against RLIMIT_MEMLOCK");
  }
  const enough = facts.lockedMemoryBytes >= LOCKED_MEMORY_BYTES || has(facts, "CAP_SYS_RESOURCE");
  const limit = Number.isFinite(facts.lockedMemoryBytes)
    ? `${Math.floor(facts.lockedMemoryBytes / 1024)} kB`
    : "unlimited";
  return check(
    "locked_memory",
    enough ? "ok" : "fail",
    `RLIMIT_MEMLOCK is ${limit}, needs ${LOCKED_MEMORY_BYTES / 1024} kB or CAP_SYS_RESOURCE`,
    "ulimit -l unlimited",
  );
}

function kernelSymbols(facts: Facts, root: string): Check {
  // See bpf/kernel_names.h.
  if (isAtLeast(facts, 5, 13))
    return check("kernel_symbols", "ok", "the kernel tells the names of its functions itself", "");
  return check(
    "kernel_symbols",
    facts.hasKernelSymbols ? "ok" : "warn",
    facts.hasKernelSymbols
      ? "/proc/kallsyms shows addresses"
      : `/proc/kallsyms hides addresses (kernel.kptr_restrict is ${facts.kptrRestrict ?? "unknown"}): kernel functions stay unnamed`,
    facts.kptrRestrict === 2 ? "sysctl kernel.kptr_restrict=1" : root,
  );
}

function tracefs(facts: Facts): Check {
  return check(
    "tracefs",
    facts.hasTracefs ? "ok" : "note",
    facts.hasTracefs ? "mounted" : "not mounted: only tracepoints would need it",
    "mount -t tracefs nodev /sys/kernel/tracing",
  );
}

function container(facts: Facts): Check {
  const where = facts.container ? `in a container (${facts.container})` : "not in a container";
  return facts.inInitialPidNamespace
    ? check("container", "ok", `${where}, sees the machine's own pids`)
    : check(
        "container",
        "warn",
        `${where}, in a pid namespace of its own: pids are those of this /proc, processes outside of it stay without names`,
        IN_CONTAINER,
      );
}

/** The finding for a reader: a line for each check, and one below it for what mends it. */
export function formatDiagnosis({ canRun, checks }: Diagnosis): string {
  const width = Math.max(...checks.map(({ id }) => id.length));
  const lines = checks.flatMap(({ id, state, text, mend }) => [
    `${state.padEnd(4)}  ${id.padEnd(width)}  ${text}`,
    ...(mend ? [`${" ".repeat(width + 8)}mend: ${mend}`] : []),
  ]);
  const lacksWaits = checks.some(({ id, state }) => id === WAITS && state === "warn");
  const can = lacksWaits
    ? "polytop can run here, but cannot sample waits (-e wait, -e wall, key e)."
    : "polytop can run here.";
  const ending = canRun ? can : "polytop cannot run here.";
  return `${[...lines, ending].join("\n")}\n`;
}

/** The finding for a program, in one line. */
export function diagnosisJson({ canRun, checks }: Diagnosis): string {
  return `${JSON.stringify({ schema: "polytop.doctor/1", canRun, checks })}\n`;
}

/** Why polytop cannot run, in two lines; undefined when it can. */
export function whyItCannotRun({ checks }: Diagnosis): string | undefined {
  const failed = checks.filter(({ state }) => state === "fail");
  const [first] = failed;
  if (!first) return undefined;
  const more = failed.length > 1 ? ` (and ${failed.length - 1} more)` : "";
  return `${first.id}: ${first.text}${more}\nmend: ${first.mend} – \`polytop doctor\` tells more`;
}
