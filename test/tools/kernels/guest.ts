/**
 * What runs inside of the virtual machine: samples the programs as a user would, and writes what came out to
 * the console, as one line of JSON.
 */
import { copyFileSync, readFileSync } from "node:fs";
import { release, tmpdir } from "node:os";
import { basename, join } from "node:path";
import type { Diagnosis } from "../../../src/doctor/doctor.ts";
import { polytop } from "../../support/polytop.ts";
import { during, type Snapshot, sleep, start } from "../../support/profile.ts";
import { sharesOf, type WaitSnapshot, wrongKinds } from "../../support/waits.ts";
import { findChanges } from "./changes.ts";
import {
  EVENTS_FILE,
  type EventFindings,
  type Findings,
  MARK,
  PROGRAMS_FILE,
  type Program,
  type ProgramFindings,
  WAITS_FILE,
  type WaitFindings,
} from "./findings.ts";
import { findSoftirqs } from "./softirqs.ts";

/** Until the slowest program, emulated, does what it is for. */
const WARM_UP_SECONDS = 15;
/** The first hold what is not known yet: files whose tables are being built. */
const REFRESHES_TO_LEARN = 2;
const REFRESHES = 6;
const TIMEOUT_SECONDS = 300;

type EventSnapshot = Snapshot & { readonly event: string };

const add = (values: readonly number[]): number => values.reduce((sum, it) => sum + it, 0);

function judge(program: Program, pid: number, snapshots: readonly Snapshot[]): ProgramFindings {
  const processes = snapshots.flatMap((it) => it.processes.filter((row) => row.pid === pid));
  const functions = snapshots.flatMap((it) => it.functions.filter((row) => row.pids.includes(pid)));
  const unnamed = functions.filter(({ name }) => name.startsWith("["));
  const samples = add(processes.map((row) => row.samples));
  return {
    name: program.name,
    samples,
    complete: add(processes.map((row) => row.complete)),
    named: samples - add(unnamed.map((row) => row.self)),
    hasFunction: functions.some(({ name }) => name === program.function),
  };
}

async function complaints(): Promise<string[]> {
  const { status, signal, stdout, stderr } = await polytop(["doctor", "--json"], {
    timeoutMs: TIMEOUT_SECONDS * 1000,
  });
  if (!stdout) throw new Error(`the doctor ended with ${signal ?? status}: ${stderr}`);
  const { checks } = JSON.parse(stdout) as Diagnosis;
  const bad = checks.filter(({ state }) => state === "fail" || state === "warn");
  return bad.map(({ id, state, text }) => `${state} ${id}: ${text}`);
}

/** The unit of the shares, long beside what an emulated CPU needs to switch. */
const SHARES_UNIT_MS = "20";
/** Sweeps are dear on an emulated CPU, and so rare: threads are met as often as elsewhere in a few seconds. */
const SHARES_REFRESHES = 38;

/** The refreshes of a program's waits, and why there are not enough. */
async function waitsOf(
  pid: number,
  refreshes: number,
): Promise<{ snapshots: WaitSnapshot[]; error: string }> {
  const args = ["--json", "-e", "wait", "--rows", "0", "-n", String(refreshes), "-p", String(pid)];
  const { status, signal, stdout, stderr } = await polytop(args, {
    env: { POLYTOP_DEBUG: "1" },
    timeoutMs: TIMEOUT_SECONDS * 1000,
  });
  const lines = stdout.split("\n").filter((line) => line.endsWith("}"));
  const snapshots = lines.map((line) => JSON.parse(line) as WaitSnapshot);
  return {
    snapshots: snapshots.slice(REFRESHES_TO_LEARN),
    error: status === 0 ? "" : `ended with ${status ?? signal}: ${stderr}`,
  };
}

async function findWaits(): Promise<WaitFindings> {
  const copy = join(tmpdir(), basename(WAITS_FILE));
  copyFileSync(WAITS_FILE, copy);
  const { snapshots: kinds, error } = await during([start(copy, ["kinds"])], ([pid = -1]) =>
    waitsOf(pid, REFRESHES),
  );
  const shares = await during([start(copy, ["shares", "8", SHARES_UNIT_MS])], ([pid = -1]) =>
    waitsOf(pid, SHARES_REFRESHES),
  );
  return {
    wrong: [error, shares.error, ...wrongKinds(kinds)].filter(Boolean),
    shares: sharesOf(shares.snapshots),
    complete: add(kinds.map(({ stacks }) => stacks.complete)) / add(kinds.map((it) => it.samples)),
    hasDeadlock: kinds.some(({ waiting }) => waiting.deadlocks.length === 1),
  };
}

const ROUNDS = 200;

/** A copy of touches.c, so that its file is one of the virtual machine's own. */
const TOUCHES = join(tmpdir(), basename(EVENTS_FILE));

/** An event of each kind that the kernel tells of in a way of its own: who causes it, and how often in a round. */
const EVENTS = [
  { name: "page-faults", function: "touch_pages", each: 300 },
  { name: "syscalls:sys_enter_getppid", function: "ask", each: 20 },
  { name: "kprobe:__x64_sys_getppid", function: "ask", each: 20 },
  { name: `uprobe:${TOUCHES}:allocate`, function: "allocate", each: 1 },
] as const;

/** Counts around those that a program makes on purpose, of all hits. */
const NEAR = 0.02;

interface EventsSnapshot extends EventSnapshot {
  readonly functions: readonly (Snapshot["functions"][number] & {
    readonly by?: Readonly<Record<string, { readonly self: number; readonly total: number }>>;
  })[];
}

async function findEvents(): Promise<EventFindings> {
  copyFileSync(EVENTS_FILE, TOUCHES);
  const names: readonly string[] = EVENTS.map(({ name }) => name);
  const command = [TOUCHES, String(ROUNDS)];
  const { status, signal, stdout, stderr } = await polytop(
    ["--json", "--rows", "0", "-e", names.join(","), "--", ...command],
    { env: { POLYTOP_DEBUG: "1" }, timeoutMs: TIMEOUT_SECONDS * 1000 },
  );
  const lines = stdout.split("\n").filter((line) => line.startsWith('{"schema"'));
  const snapshots = lines.map((line) => JSON.parse(line) as EventsSnapshot);
  const first = EVENTS[0].name;
  const rows = snapshots.flatMap(({ functions }) =>
    functions.map((row) => ({
      ...row,
      by: new Map([[first, row], ...Object.entries(row.by ?? {})]),
    })),
  );
  const hits = names.map((name) => add(rows.map(({ by }) => by.get(name)?.self ?? 0)));
  const found = EVENTS.map(({ name, function: cause }) =>
    add(rows.filter((row) => row.name === cause).map(({ by }) => by.get(name)?.total ?? 0)),
  );
  const wrong = EVENTS.flatMap(({ name, function: cause, each }, at) => {
    const truth = ROUNDS * each;
    const is = found[at] ?? 0;
    return Math.abs(is / truth - 1) <= NEAR ? [] : [`${name} in ${cause}: ${is} of ${truth}`];
  });
  return {
    wrong: [...(status === 0 ? [] : [`ended with ${status ?? signal}: ${stderr}`]), ...wrong],
    hits: add(hits),
    complete: add(snapshots.map(({ stacks }) => stacks.complete)) / (hits[0] || 1),
    inFunction: add(found) / (add(hits) || 1),
  };
}

async function find(): Promise<Omit<Findings, "changes">> {
  const programs = JSON.parse(readFileSync(PROGRAMS_FILE, "utf8")) as Program[];
  const running = programs.map(({ command, args, isCopied }) => {
    const copy = join(tmpdir(), basename(command));
    if (isCopied) copyFileSync(command, copy);
    return start(isCopied ? copy : command, args);
  });
  return during(running, async (pids) => {
    await sleep(WARM_UP_SECONDS);
    const begin = performance.now();
    let startSeconds = 0;
    const args = ["--json", "--rows", "0", "-n", String(REFRESHES), "-p", pids.join(",")];
    const { status, signal, stdout, stderr } = await polytop(args, {
      env: { POLYTOP_DEBUG: "1" },
      timeoutMs: TIMEOUT_SECONDS * 1000,
      onStdout: () => {
        startSeconds ||= (performance.now() - begin) / 1000;
      },
    });
    const lines = stdout.split("\n").filter((line) => line.endsWith("}"));
    const snapshots = lines.map((line) => JSON.parse(line) as EventSnapshot);
    const learnt = snapshots.slice(REFRESHES_TO_LEARN);
    return {
      release: release(),
      doctor: await complaints(),
      error: status === 0 ? "" : `ended with ${status ?? signal}: ${stderr}`,
      event: snapshots[0]?.event ?? "",
      startSeconds,
      programs: programs.map((program, at) => judge(program, pids[at] ?? -1, learnt)),
      waits: await findWaits(),
      events: await findEvents(),
    };
  });
}

const found = await find();
// The time of day is changed last.
const softirqs = await findSoftirqs().catch((error: unknown) => ({
  what: "softirqs",
  wrong: [String(error)],
}));
console.log(MARK + JSON.stringify({ ...found, changes: [softirqs, ...(await findChanges())] }));
