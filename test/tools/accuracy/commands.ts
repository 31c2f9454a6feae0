/** Commands that polytop starts: whether all of their CPU time is sampled, and whether they end as they would without it. */
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { withFolder } from "../../support/live.ts";
import { percent, type Row, ratio, type Section } from "../../support/measure.ts";
import { polytop } from "../../support/polytop.ts";
import type { Snapshot } from "../../support/profile.ts";
import { workload } from "../../support/workloads.ts";

const HZ = 999;
const BAR = 0.99;
/** What interrupts take while a command runs is in its samples, and not in what the kernel charges it. */
const MOST = 1.03;

interface Share {
  /** CPU time by the samples, and by the kernel. */
  readonly sampled: number;
  readonly seconds: number;
  readonly missed: number;
}

/** Runs a command below polytop, and has the kernel say what it took. */
async function share(folder: string, command: readonly string[]): Promise<Share> {
  const bill = join(folder, `bill-${process.hrtime.bigint()}`);
  const words = [workload("accounts.c"), "bill", bill, ...command];
  const run = await polytop(["--json", "--rows", "0", "-F", `${HZ}`, "--", ...words], {
    timeoutMs: 60_000,
  });
  if (run.status !== 0) throw new Error(`ended with ${run.status ?? run.signal}: ${run.stderr}`);
  const lines = run.stdout.split("\n").filter((line) => line.startsWith('{"schema"'));
  const snapshots = lines.map((line) => JSON.parse(line) as Snapshot);
  const [pid, microseconds = 0] = readFileSync(bill, "utf8").split(" ").map(Number);
  const samples = snapshots
    .flatMap(({ processes }) => processes.filter((row) => row.pid !== pid))
    .reduce((sum, row) => sum + row.samples, 0);
  const missed = snapshots.reduce((sum, one) => sum + one.missed, 0);
  return { sampled: samples / HZ, seconds: microseconds / 1e6, missed };
}

/** As many runs as make the beginning and end of each, a part of a sample, small beside all of them. */
async function sampled(what: string, runs: number, command: readonly string[]): Promise<Row> {
  return withFolder(async (folder) => {
    const found: Share[] = [];
    for (let run = 0; run < runs; run++) found.push(await share(folder, command));
    const sum = (of: (one: Share) => number): number => found.reduce((all, it) => all + of(it), 0);
    const [time, truth] = [sum((one) => one.sampled), sum((one) => one.seconds)];
    const missed = sum((one) => one.missed);
    return {
      what: `${what}, ${runs} runs: CPU time in samples at ${HZ} Hz, of wait4's`,
      bar: `${100 * BAR} to ${100 * MOST} %`,
      figure: `${percent(time, truth)} of ${truth.toFixed(2)} s, ${missed} missed`,
      samples: Math.round(time * HZ),
      ok: ratio(time, truth) >= BAR && ratio(time, truth) <= MOST,
    };
  });
}

/** How a shell command ends by itself, and below polytop. */
async function endsAlike(what: string, script: string): Promise<Row> {
  const alone = spawnSync("/bin/sh", ["-c", script]);
  const below = await polytop(["--json", "--", "/bin/sh", "-c", script]);
  const text = (status: number | null, signal: string | null): string => `${status ?? signal}`;
  const [wanted, found] = [text(alone.status, alone.signal), text(below.status, below.signal)];
  return { what, bar: wanted, figure: found, ok: found === wanted };
}

/** A signal to polytop is for the command, which may handle it. */
async function passesOn(): Promise<Row> {
  const script = "trap 'exit 9' TERM; while :; do sleep 0.05; done";
  const run = await polytop(["--json", "--", "/bin/sh", "-c", script], {
    onStdout: (_, pid) => process.kill(pid, "SIGTERM"),
  });
  return {
    what: "SIGTERM to polytop, for a command that ends by it with status 9",
    bar: "9",
    figure: `${run.status ?? run.signal}`,
    ok: run.status === 9,
  };
}

export const commands: readonly Section[] = [
  {
    name: "commands",
    about: "commands behind --: CPU time in samples, exit status and signals",
    run: async () => [
      await sampled("a command of 20 ms", 40, [workload("accounts.c"), "burn", "20"]),
      await sampled("a command of 20 ms of Perl", 20, ["perl", "-e", "$i++ while $i < 500_000"]),
      await sampled("a command of 3 s with children", 2, [
        workload("accounts.c"),
        ...["family", "300", "10"],
      ]),
      await sampled("a shell that starts 300 programs", 2, [
        "/bin/sh",
        ...["-c", "i=0; while [ $i -lt 300 ]; do /bin/true; i=$((i + 1)); done"],
      ]),
      await endsAlike("exit status 7", "exit 7"),
      await endsAlike("ended by SIGTERM", "kill -TERM $$"),
      await endsAlike("ended by SIGSEGV", "kill -SEGV $$"),
      await passesOn(),
    ],
  },
];
