/** What polytop and the programs that it starts may do, and that it runs with few rights. */
import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { expect, test } from "vitest";
import { childrenOf } from "../support/family.ts";
import { launcher, needsSampling, polytop } from "../support/polytop.ts";
import type { Snapshot } from "../support/profile.ts";
import { workload } from "../support/workloads.ts";

/** The capabilities that README asks of a user who is not root. */
const README = ["bpf", "perfmon", "sys_ptrace", "dac_read_search", "checkpoint_restore"];
const NEEDED = [...README, "syslog", "sys_nice", "sys_resource", "setuid", "setgid", "setpcap"];
/** Numbers of include/uapi/linux/capability.h. */
const NUMBERS: Readonly<Record<string, bigint>> = {
  dac_read_search: 2n,
  kill: 5n,
  setgid: 6n,
  setuid: 7n,
  setpcap: 8n,
  sys_ptrace: 19n,
  sys_admin: 21n,
  sys_nice: 23n,
  sys_resource: 24n,
  syslog: 34n,
  perfmon: 38n,
  bpf: 39n,
  checkpoint_restore: 40n,
};
const maskOf = (names: readonly string[]): bigint =>
  names.reduce((mask, name) => mask | (1n << (NUMBERS[name] ?? 63n)), 0n);

const fieldOf = (path: string, name: string): string =>
  new RegExp(`^${name}:\\s*(.*)$`, "m").exec(readFileSync(path, "utf8"))?.[1] ?? "";
const rights = (path: string, set: string): bigint => BigInt(`0x${fieldOf(path, set)}`);

const threadsOf = (pid: number): string[] =>
  readdirSync(`/proc/${pid}/task`)
    .map((tid) => `/proc/${pid}/task/${tid}`)
    .filter((thread) => existsSync(thread));

/** The programs of that name that a process has started. */
const programsOf = (pid: number, name: string): number[] =>
  childrenOf(pid).filter((child) => fieldOf(`/proc/${child}/status`, "Name") === name);

const parsersOf = (pid: number): number[] => programsOf(pid, "polytop-parser");

/** Looks at a run when it has printed its third refresh, and ends it. */
async function look(command: string, args: readonly string[], see: (pid: number) => void) {
  const load = spawn("perl", ["-e", "sub spin { 1 for 1 .. 1000 } spin() while 1"]);
  let printed = 0;
  let isSeen = false;
  let wrong: unknown;
  const finished = await polytop(args, {
    command,
    timeoutMs: 60_000,
    onStdout: (text, pid) => {
      printed += text.split("\n").length - 1;
      if (printed < 3 || isSeen) return;
      try {
        see(pid);
        isSeen = true;
      } catch (error) {
        // A thread that ends meanwhile says nothing.
        if ((error as NodeJS.ErrnoException).code === "ENOENT") return;
        wrong ??= error;
      }
      process.kill(pid, "SIGTERM");
    },
  });
  load.kill();
  if (wrong) throw wrong;
  expect(finished.status).toBe(0);
  return finished;
}

const RUN = ["--json", "-d", "0.5", "--no-cache"];

test("started as root it keeps what it needs, its parser nothing", async (context) => {
  needsSampling(context);
  if (process.geteuid?.() !== 0) context.skip("needs root");
  // Some kernels ask for it at the levels that distributions have added.
  const paranoid = Number(readFileSync("/proc/sys/kernel/perf_event_paranoid", "utf8")) > 2;
  const most = maskOf([...NEEDED, "kill", ...(paranoid ? ["sys_admin"] : [])]);
  const given = rights("/proc/self/status", "CapBnd");
  let seen = 0;
  await look(launcher, RUN, (pid) => {
    for (const thread of threadsOf(pid)) {
      for (const set of ["CapEff", "CapPrm", "CapBnd"])
        expect(rights(`${thread}/status`, set)).toBe(most & given);
      expect(rights(`${thread}/status`, "CapInh") | rights(`${thread}/status`, "CapAmb")).toBe(0n);
    }
    const parsers = parsersOf(pid);
    expect(parsers.length).toBeGreaterThan(0);
    for (const parser of parsers) {
      const status = `/proc/${parser}/status`;
      for (const set of ["CapEff", "CapPrm", "CapBnd", "CapInh", "CapAmb"])
        expect(rights(status, set)).toBe(0n);
      expect(fieldOf(status, "NoNewPrivs")).toBe("1");
      expect(fieldOf(status, "Seccomp")).toBe("2");
      expect(Number(fieldOf(status, "Uid").split("\t")[0])).toBe(2_100_000_000 + parser);
    }
    for (const reader of programsOf(pid, "polytop-reader")) {
      const status = `/proc/${reader}/status`;
      expect(rights(status, "CapEff")).toBe(maskOf(["sys_ptrace"]) & given);
      expect(fieldOf(status, "NoNewPrivs")).toBe("1");
      expect(fieldOf(status, "Seccomp")).toBe("2");
    }
    seen++;
  });
  expect(seen).toBeGreaterThan(0);
});

/** Of native/turns/first_turn.cpp. */
const HELPER = 1;
const BEFORE_HELPERS = 2;

/** The real-time priority of a thread, field 40 of proc_pid_stat(5); 0: none. */
const realTimePriority = (thread: string): number => {
  const stat = readFileSync(`${thread}/stat`, "latin1");
  return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[37]);
};

/** Ends with status 0 when polytop passes SIGTERM on to it. */
const COMMAND = ["sh", "-c", "trap 'exit 0' TERM; while :; do sleep 0.1; done"];

test.for([
  { where: "alone", args: RUN },
  { where: "beside a command", args: [...RUN, "--", ...COMMAND] },
])("who prints, drains and reads memory comes first, $where", async ({ args }, context) => {
  needsSampling(context);
  if (process.geteuid?.() !== 0) context.skip("needs root");
  if (spawnSync("chrt", ["--rr", "1", "true"]).status !== 0)
    context.skip("nobody may have a real-time priority here");
  await look(launcher, args, (pid) => {
    const before = threadsOf(pid).filter((thread) => realTimePriority(thread) === BEFORE_HELPERS);
    expect(before).toContain(`/proc/${pid}/task/${pid}`);
    // Drains keep theirs for the next one: they are on Node's threads for work, of which there are four.
    expect(before.length - 1).toBeGreaterThanOrEqual(1);
    expect(before.length - 1).toBeLessThanOrEqual(4);
    expect(threadsOf(pid).map(realTimePriority)).toContain(HELPER);
    for (const reader of programsOf(pid, "polytop-reader"))
      expect(realTimePriority(`/proc/${reader}`)).toBe(HELPER);
  });
});

test("a user with the capabilities of README samples, unwinds and names everything", async (context) => {
  needsSampling(context);
  if (process.geteuid?.() !== 0) context.skip("needs root to become another user");
  const list = README.map((name) => `+${name}`).join();
  const become = ["--reuid", "65534", "--regid", "65534", "--clear-groups", "--no-new-privs"];
  const sets = [`--inh-caps=${list}`, `--ambient-caps=${list}`, `--bounding-set=-all,${list}`];
  const { stdout, stderr } = await look(
    "/usr/bin/setpriv",
    [...become, ...sets, launcher, ...RUN],
    (pid) => {
      expect(fieldOf(`/proc/${pid}/status`, "Uid").split("\t")[0]).toBe("65534");
      expect(rights(`/proc/${pid}/status`, "CapEff")).toBe(maskOf(README));
      for (const parser of parsersOf(pid)) {
        const status = `/proc/${parser}/status`;
        for (const set of ["CapEff", "CapPrm", "CapAmb"]) expect(rights(status, set)).toBe(0n);
        expect(fieldOf(status, "Seccomp")).toBe("2");
      }
    },
  );
  expect(stderr).not.toMatch(/is not read|cannot be read/);
  const refreshes = stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Snapshot);
  // A refresh behind a late one is short, and may have no sample of the program.
  const named = refreshes.filter(({ runtimes }) => (runtimes.perl ?? 0) > 0);
  expect(named.length).toBeGreaterThan(0);
  for (const { stacks } of named) expect(stacks.complete).toBeGreaterThan(0);
});

/** What the functions of test/workloads/split.c may be called: by their names, or by where they are. */
const MAY_APPEAR = /^(_start|main|sixty|thirty|ten)$|^\[|\+0x[0-9a-f]+$/;

test("whoever kills its parsers gets no wrong name, and the right ones afterwards", {
  timeout: 90_000,
}, async (context) => {
  needsSampling(context);
  if (process.geteuid?.() !== 0) context.skip("needs root");
  const program = workload("split.c");
  const load = spawn(program);
  let killer: NodeJS.Timeout | undefined;
  let killed = 0;
  let printed = 0;
  const kill = (pid: number): void => {
    try {
      for (const parser of parsersOf(pid)) {
        process.kill(parser, "SIGKILL");
        killed++;
      }
    } catch {
      // It has ended meanwhile.
    }
  };
  const { status, stdout } = await polytop(RUN, {
    timeoutMs: 80_000,
    onStart: (pid) => {
      killer = setInterval(() => kill(pid), 15);
    },
    onStdout: (text, pid) => {
      printed += text.split("\n").length - 1;
      if (printed <= 4) return;
      clearInterval(killer);
      if (text.includes('"sixty"')) process.kill(pid, "SIGTERM");
    },
  });
  clearInterval(killer);
  load.kill();
  expect(status).toBe(0);
  expect(killed).toBeGreaterThan(20);
  const names = stdout
    .trim()
    .split("\n")
    .flatMap((line) => JSON.parse(line).functions as { name: string; module: string }[])
    .filter(({ module }) => module === basename(program))
    .map(({ name }) => name);
  expect(names).toContain("sixty");
  expect(names.filter((name) => !MAY_APPEAR.test(name))).toEqual([]);
});

test("what is written under sudo belongs to who called it, and is still for nobody else", async (context) => {
  needsSampling(context);
  const folder = mkdtempSync(join(tmpdir(), "polytop-sudo-"));
  const [recording, profile] = [join(folder, "a.polytop"), join(folder, "a.pb.gz")];
  const env = { SUDO_UID: "65534", SUDO_GID: "65533" };
  try {
    const args = ["record", "-o", recording, "--pprof", profile, "-n", "1", "-d", "0.2"];
    expect(await polytop(args, { env, timeoutMs: 60_000 })).toMatchObject({ status: 0 });
    for (const path of [recording, profile]) {
      const { uid, gid, mode } = statSync(path);
      expect([uid, gid, mode & 0o777]).toEqual([65534, 65533, 0o600]);
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
});
