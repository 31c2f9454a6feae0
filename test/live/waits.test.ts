/** Threads that wait: where, for what, for how long, and who will never go on. */
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { withFolder } from "../support/live.ts";
import { needsSampling, polytop, root } from "../support/polytop.ts";
import { during, sleep, start } from "../support/profile.ts";
import {
  IDLE_KINDS,
  sharesOf,
  WAIT_KINDS,
  type WaitSnapshot,
  wrongKinds,
} from "../support/waits.ts";
import { workload } from "../support/workloads.ts";

const kinds = () => start(workload("waits.c"), ["kinds"]);

/** A polytop whose program for waits asks the kernel for a field that it does not have. */
function withoutWaits(folder: string): string {
  for (const part of ["bin", "dist", "package.json"])
    cpSync(join(root, part), join(folder, part), { recursive: true });
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  const path = join(folder, "dist/wait.bpf.o");
  const object = readFileSync(path);
  object.write("xn_cpu", object.indexOf("\0on_cpu\0") + 1);
  writeFileSync(path, object);
  return join(folder, "bin/polytop");
}

test("a kernel that refuses the program for waits is told of it, and its CPUs are sampled", async (context) => {
  needsSampling(context);
  await withFolder(async (folder) => {
    const options = { command: withoutWaits(folder), timeoutMs: 60_000 };
    const { status, stderr } = await polytop(["--once", "-e", "wait"], options);
    expect(status).toBe(3);
    expect(stderr).toMatch(
      /the CPU's time can: the kernel refused the BPF program sweep \(.*xn_cpu/,
    );
    const told = await polytop(["doctor"], options);
    expect(told.status).toBe(0);
    expect(told.stdout).toMatch(/^ok +programs /m);
    expect(told.stdout).toMatch(/^warn +waits .*BPF program sweep/m);
    expect(told.stdout).toContain("polytop can run here, but cannot sample waits (-e wait");
    expect((await polytop(["--once", "-d", "0.2"], options)).status).toBe(0);
  });
});

/** Threads of test/workloads/waits.c with `kinds`: one for each kind, and the main one. */
const THREADS = Object.keys({ ...WAIT_KINDS, ...IDLE_KINDS }).length + 1;

async function waits(pid: number, ...args: string[]): Promise<WaitSnapshot[]> {
  const { status, stdout } = await polytop(
    ["-e", "wait", "--json", "--rows", "0", "-p", String(pid), ...args],
    { timeoutMs: 60_000 },
  );
  expect(status).toBe(0);
  const lines = stdout.trim().split("\n");
  return lines.map((line) => JSON.parse(line) as WaitSnapshot);
}

test("every kind of wait has its reason, and what waits for work is left out", async (context) => {
  needsSampling(context);
  await during([kinds()], async ([pid = -1]) => {
    await sleep(1.5);
    const snapshots = await waits(pid, "-n", "3");
    expect(wrongKinds(snapshots)).toEqual([]);
    const names = new Set(snapshots.flatMap((it) => it.functions.map(({ name }) => name)));
    expect(Object.keys(IDLE_KINDS).filter((name) => names.has(name))).toEqual([]);
    const idle = await waits(pid, "-n", "3", "-f", "state:idle");
    expect(wrongKinds(idle, IDLE_KINDS)).toEqual([]);
    for (const { samples, stacks, functions } of snapshots) {
      expect(stacks.complete + stacks.truncated + stacks.broken).toBe(samples);
      expect(functions.reduce((sum, { self }) => sum + self, 0)).toBe(samples);
    }
  });
});

test("a ring of lock owners is told of in the first refresh", async (context) => {
  needsSampling(context);
  await during([kinds()], async ([pid = -1]) => {
    await sleep(0.5);
    const { status, stdout, stderr } = await polytop([
      ...["-e", "wait", "--json", "--once", "-p", String(pid)],
    ]);
    expect(status).toBe(0);
    const { waiting } = JSON.parse(stdout) as WaitSnapshot;
    const [ring = []] = waiting.deadlocks;
    expect(ring).toHaveLength(2);
    expect(stderr).toContain(`deadlock: ${ring.join(" ↔ ")}`);
    const [first = 0, second = 0] = ring;
    const owners = new Map(waiting.longWaits.map(({ tid, owner }) => [tid, owner]));
    expect([owners.get(first), owners.get(second)]).toEqual([second, first]);
  });
});

test("all time of all threads is counted", async (context) => {
  needsSampling(context);
  await during([kinds()], async ([pid = -1]) => {
    await sleep(1.5);
    const snapshots = await waits(pid, "-n", "3", "--idle");
    for (const { samples, missed, intervalSeconds, waiting } of snapshots) {
      expect(missed).toBe(0);
      expect(samples / 1e9 / intervalSeconds).toBeGreaterThan(THREADS * 0.97);
      expect(samples / 1e9 / intervalSeconds).toBeLessThan(THREADS * 1.03);
      expect(waiting.threads).toBe(THREADS);
    }
  });
});

test("shares of sleeping functions, in every output and after a replay", async (context) => {
  needsSampling(context);
  const folder = mkdtempSync(join(tmpdir(), "polytop-waits-"));
  context.onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, "waits.polytop");
  await during([start(workload("waits.c"), ["shares", "16", "3"])], async ([pid]) => {
    const recorded = await polytop(
      ["record", "-o", file, "-e", "wait", "-p", String(pid), "-n", "6"],
      { timeoutMs: 60_000 },
    );
    expect(recorded.status).toBe(0);
  });
  const json = await polytop(["replay", file, "--json", "--rows", "0"]);
  const lines = json.stdout.trim().split("\n");
  const snapshots = lines.map((line) => JSON.parse(line) as WaitSnapshot);
  expect(snapshots).toHaveLength(6);
  const [sixty = 0, thirty = 0, ten = 0] = sharesOf(snapshots);
  expect(sixty).toBeGreaterThan(50);
  expect(thirty).toBeGreaterThan(20);
  expect(ten).toBeGreaterThan(3);
  expect(snapshots[0]).toMatchObject({ schema: "polytop.snapshot/2", event: "wait" });
  const folded = await polytop(["replay", file, "--folded"]);
  expect(folded.stdout).toMatch(/;sleep_in_turn;six_units;[^ ]*nanosleep[^ ]* \d{9,}\n/);
});

test("both halves add up to the time of all threads", async (context) => {
  needsSampling(context);
  await during([start(workload("split.c"))], async ([pid = -1]) => {
    const { stdout } = await polytop(["-e", "wall", "--json", "-n", "4", "-p", String(pid)]);
    const snapshots = stdout.trim().split("\n").slice(1);
    const times = snapshots.map((line) => JSON.parse(line) as WaitSnapshot);
    const sum = times.reduce((all, { samples }) => all + samples, 0) / 1e9;
    const seconds = times.reduce((all, { intervalSeconds }) => all + intervalSeconds, 0);
    expect(sum / seconds).toBeGreaterThan(0.8);
    expect(sum / seconds).toBeLessThan(1.2);
    expect(times.flatMap((it) => it.functions.map(({ name }) => name))).toContain("sixty");
  });
});
