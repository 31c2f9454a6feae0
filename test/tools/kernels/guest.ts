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
import {
  type Findings,
  MARK,
  PROGRAMS_FILE,
  type Program,
  type ProgramFindings,
  WAITS_FILE,
  type WaitFindings,
} from "./findings.ts";

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

/** The refreshes of a program's waits, and why there are not enough. */
async function waitsOf(pid: number): Promise<{ snapshots: WaitSnapshot[]; error: string }> {
  const args = ["--json", "-e", "wait", "--rows", "0", "-n", String(REFRESHES), "-p", String(pid)];
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
    waitsOf(pid),
  );
  const shares = await during([start(copy, ["shares", "8", SHARES_UNIT_MS])], ([pid = -1]) =>
    waitsOf(pid),
  );
  return {
    wrong: [error, shares.error, ...wrongKinds(kinds)].filter(Boolean),
    shares: sharesOf(shares.snapshots),
    complete: add(kinds.map(({ stacks }) => stacks.complete)) / add(kinds.map((it) => it.samples)),
    hasDeadlock: kinds.some(({ waiting }) => waiting.deadlocks.length === 1),
  };
}

async function find(): Promise<Findings> {
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
    };
  });
}

console.log(MARK + JSON.stringify(await find()));
