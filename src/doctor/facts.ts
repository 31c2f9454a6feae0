/** Reads what `doctor` judges from /proc and /sys. */
import { closeSync, openSync, readSync, statSync } from "node:fs";
import { arch, release } from "node:os";
import { join } from "node:path";
import { readLink, readText } from "../machine/read-text.ts";

/** What decides whether polytop can run here; undefined: this kernel does not tell. */
export interface Facts {
  /** The release that `uname -r` says. */
  readonly release: string;
  /** The name that Node has for it; see machine/architecture.ts. */
  readonly architecture: string;
  readonly uid: number;
  /** Effective capabilities, a bit for each (capabilities(7)). */
  readonly capabilities: bigint;
  readonly hasBtf: boolean;
  readonly perfEventParanoid: number | undefined;
  readonly unprivilegedBpfDisabled: number | undefined;
  readonly bpfJit: number | undefined;
  /** The addresses of kernel functions can be read. */
  readonly hasKernelSymbols: boolean;
  readonly kptrRestrict: number | undefined;
  /** `none`, `integrity` or `confidentiality`. */
  readonly lockdown: string | undefined;
  /** Soft limit of RLIMIT_MEMLOCK; Infinity: none. */
  readonly lockedMemoryBytes: number;
  readonly hasTracefs: boolean;
  /** The pids seen here are those of the whole machine. */
  readonly inInitialPidNamespace: boolean;
  /** The container's kind, where there is one. */
  readonly container: string | undefined;
}

/** Inode of the pid namespace that a machine starts with (PROC_PID_INIT_INO, include/linux/proc_ns.h). */
const INITIAL_PID_NAMESPACE = "pid:[4026531836]";

/** Reads the facts of this machine; tests give another `root`. */
export function readFacts(root = "/"): Facts {
  const text = (path: string): string | undefined => readText(join(root, path));
  const number = (path: string): number | undefined => {
    const value = Number.parseInt(text(path) ?? "", 10);
    return Number.isNaN(value) ? undefined : value;
  };
  const exists = (path: string): boolean => {
    try {
      return Boolean(statSync(join(root, path)));
    } catch {
      return false;
    }
  };

  const status = text("proc/self/status") ?? "";
  const field = (name: string): string | undefined =>
    new RegExp(`^${name}:\\s*(\\S+)`, "m").exec(status)?.[1];
  const limit = /^Max locked memory\s+(\S+)/m.exec(text("proc/self/limits") ?? "")?.[1];

  return {
    release: text("proc/sys/kernel/osrelease")?.trim() ?? release(),
    architecture: arch(),
    uid: Number(field("Uid") ?? process.getuid?.() ?? -1),
    capabilities: BigInt(`0x${field("CapEff") ?? "0"}`),
    hasBtf: exists("sys/kernel/btf/vmlinux"),
    perfEventParanoid: number("proc/sys/kernel/perf_event_paranoid"),
    unprivilegedBpfDisabled: number("proc/sys/kernel/unprivileged_bpf_disabled"),
    bpfJit: number("proc/sys/net/core/bpf_jit_enable"),
    hasKernelSymbols: hasAddresses(join(root, "proc/kallsyms")),
    kptrRestrict: number("proc/sys/kernel/kptr_restrict"),
    lockdown: /\[(\w+)\]/.exec(text("sys/kernel/security/lockdown") ?? "")?.[1],
    lockedMemoryBytes: limit === "unlimited" ? Number.POSITIVE_INFINITY : Number(limit ?? 0),
    hasTracefs: exists("sys/kernel/tracing/events") || exists("sys/kernel/debug/tracing/events"),
    inInitialPidNamespace: readLink(join(root, "proc/self/ns/pid")) === INITIAL_PID_NAMESPACE,
    container: containerKind(text("run/systemd/container"), exists),
  };
}

/** Addresses are all zero where they are kept secret; the first lines of the many are enough to tell. */
function hasAddresses(path: string): boolean {
  let file: number | undefined;
  try {
    file = openSync(path, "r");
    const start = Buffer.alloc(4096);
    const length = readSync(file, start, 0, start.length, 0);
    return /^0*[1-9a-f]/m.test(start.toString("latin1", 0, length));
  } catch {
    return false;
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

function containerKind(
  systemd: string | undefined,
  exists: (path: string) => boolean,
): string | undefined {
  if (systemd?.trim()) return systemd.trim();
  if (exists(".dockerenv")) return "docker";
  if (exists("run/.containerenv")) return "podman";
  return exists("var/run/secrets/kubernetes.io") ? "kubernetes" : undefined;
}
