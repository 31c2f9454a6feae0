/** What goes wrong around polytop while it samples: a counted loss or a clear word, and it goes on. */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { expect, test } from "vitest";
import { SECOND_CPU } from "../support/cpu-time.ts";
import { compileLoop, perlLoop } from "../support/loads.ts";
import { isRunning, launcher, needsSampling, polytop } from "../support/polytop.ts";
import { during, type Snapshot, sampleJson, sleep, start } from "../support/profile.ts";
import { descendants } from "../support/watched.ts";
import { workload } from "../support/workloads.ts";

const PERL = "sub spin_here { my $n = 0; $n += $_ for 1 .. 1000 } spin_here() while 1";
const LAST_PID = "/proc/sys/kernel/ns_last_pid";

test("a CPU goes offline and comes back", async (context) => {
  needsSampling(context);
  if (!existsSync(SECOND_CPU)) return context.skip("no CPU can be taken offline here");
  // A run that was killed may have left it offline.
  writeFileSync(SECOND_CPU, "1");
  const count = cpus().length;
  try {
    const sums = await during([start(workload("split.c"))], () =>
      sampleJson({
        seconds: 4,
        delay: 0.5,
        onLine: (line) => {
          if (line === 2) writeFileSync(SECOND_CPU, "0");
          if (line === 5) writeFileSync(SECOND_CPU, "1");
        },
      }),
    );
    const seen = sums.snapshots.map((it) => it.cpus);
    expect(seen).toContain(count - 1);
    expect(seen.at(-1)).toBe(count);
    for (const { samples } of sums.snapshots) expect(samples).toBeGreaterThan(0);
  } finally {
    writeFileSync(SECOND_CPU, "1");
  }
});

test("nobody takes what was counted: what does not fit is missed, and counted as such", {
  timeout: 90_000,
}, async (context) => {
  needsSampling(context);
  const resume = async (pid: number): Promise<void> => {
    process.kill(pid, "SIGSTOP");
    await sleep(5);
    process.kill(pid, "SIGCONT");
  };
  let resumed: Promise<void> | undefined;
  const sums = await during([compileLoop(), perlLoop()], () =>
    sampleJson({
      seconds: 5,
      delay: 0.5,
      frequency: 1999,
      onLine: (line, pid) => {
        if (line === 3) resumed = resume(pid);
      },
    }),
  );
  await resumed;
  const { SamplesLostCountsFull = 0, SamplesLostRingFull = 0 } = sums.metrics;
  expect(SamplesLostCountsFull + SamplesLostRingFull).toBeGreaterThan(0);
  expect(sums.missed).toBeGreaterThanOrEqual(SamplesLostCountsFull + SamplesLostRingFull);
  // It is as before afterwards.
  const last = sums.snapshots.at(-1);
  expect(last?.samples).toBeGreaterThan(0);
  expect(last?.metrics.SamplesLostCountsFull).toBe(0);
  expect(last?.metrics.SamplesLostRingFull).toBe(0);
});

test("at the default rate, a refresh that comes three seconds late loses nothing", {
  timeout: 60_000,
}, async (context) => {
  needsSampling(context);
  let resumed: Promise<void> | undefined;
  const sums = await during([compileLoop(), compileLoop()], () =>
    sampleJson({
      seconds: 6,
      frequency: 99,
      onLine: (line, pid) => {
        if (line !== 2) return;
        process.kill(pid, "SIGSTOP");
        resumed = sleep(3).then(() => void process.kill(pid, "SIGCONT"));
      },
    }),
  );
  await resumed;
  const late = Math.max(...sums.snapshots.map((it) => it.intervalSeconds));
  if (late > 5) return context.skip("others kept it waiting longer");
  expect(late).toBeGreaterThan(3);
  expect(sums.metrics.SamplesLostCountsFull).toBe(0);
  expect(sums.metrics.SamplesLostRingFull).toBe(0);
});

test("who reads for it is stopped, and killed: it goes on, with names", {
  timeout: 60_000,
}, async (context) => {
  needsSampling(context);
  const READERS = ["polytop-parser", "polytop-reader"];
  const signalAll = (pid: number, signal: NodeJS.Signals): void => {
    for (const it of descendants(pid).filter(({ comm }) => READERS.includes(comm)))
      process.kill(it.pid, signal);
  };
  const programs = [start("/usr/bin/perl", ["-e", PERL]), start(workload("split.c"))];
  const { snapshots } = await during(programs, () =>
    sampleJson({
      seconds: 7,
      delay: 0.5,
      args: ["--no-cache"],
      onLine: (line, pid) => {
        if (line === 2) signalAll(pid, "SIGSTOP");
        // They are asked for something new, and do not answer.
        if (line === 3) programs.push(start(workload("deep.c"), ["5"]));
        if (line === 6) signalAll(pid, "SIGCONT");
        if (line === 8) signalAll(pid, "SIGKILL");
      },
    }),
  );
  expect(snapshots).toHaveLength(14);
  for (const { samples, functions, stacks } of snapshots) {
    const { complete, guessed, truncated, broken } = stacks;
    expect(complete + guessed + truncated + broken).toBe(samples);
    expect(functions.reduce((sum, it) => sum + it.self, 0)).toBe(samples);
  }
  const names = snapshots.slice(-2).flatMap((it) => it.functions.map(({ name }) => name));
  expect(names).toEqual(expect.arrayContaining(["main::spin_here", "sixty", "leaf"]));
});

test("another process gets the number of one that was asked for", async (context) => {
  needsSampling(context);
  const first = start(workload("split.c"));
  let second: ReturnType<typeof start> | undefined;
  /** A process gets the number behind the last one, if that is free; others start processes too. */
  const replace = async (): Promise<void> => {
    await first.stop();
    for (let attempt = 0; attempt < 50 && second?.pid !== first.pid; attempt++) {
      await second?.stop();
      writeFileSync(LAST_PID, String(first.pid - 1));
      second = start(workload("deep.c"), ["5"]);
    }
  };
  let replaced: Promise<void> | undefined;
  const args = ["--json", "--rows", "0", "-d", "0.5", "-n", "8", "-p", String(first.pid)];
  try {
    const { status, stdout, stderr } = await polytop(args, {
      onStdout: () => {
        replaced ??= replace();
      },
    });
    await replaced;
    if (second?.pid !== first.pid) return context.skip("its number went to somebody else");
    expect(status).toBe(0);
    expect(stderr).toMatch(new RegExp(`pid ${first.pid} has exited`));
    const lines = stdout.trimEnd().split("\n");
    const last = JSON.parse(lines.at(-1) ?? "") as Snapshot;
    expect(last.samples).toBe(0);
  } finally {
    await second?.stop();
    await first.stop();
  }
});

test("the terminal goes away", async (context) => {
  needsSampling(context);
  const tmux = (...args: readonly string[]): string =>
    execFileSync("tmux", ["-L", `polytop-faults-${process.pid}`, ...args], { encoding: "utf8" });
  tmux("-f", "/dev/null", "new-session", "-d", "-x", "100", "-y", "30", launcher);
  const pid = Number(tmux("display", "-p", "#{pane_pid}"));
  try {
    const shows = (): boolean => tmux("capture-pane", "-p").includes("SELF%");
    for (let wait = 0; wait < 100 && !shows(); wait++) await sleep(0.1);
    expect(shows()).toBe(true);
    expect(readFileSync(`/proc/${pid}/comm`, "latin1")).toMatch(/polytop|node/);
  } finally {
    tmux("kill-server");
  }
  for (let wait = 0; wait < 100 && isRunning(pid); wait++) await sleep(0.1);
  expect(isRunning(pid)).toBe(false);
});
