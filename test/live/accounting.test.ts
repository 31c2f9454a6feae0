/** Whether what ran is accounted for as the user of the machine sees it: idle CPUs, lost CPUs, pids, ends. */
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { expect, test } from "vitest";
import { SECOND_CPU } from "../support/cpu-time.ts";
import { launcher, needsSampling, polytop } from "../support/polytop.ts";
import { during, type Snapshot, sampleJson, start } from "../support/profile.ts";
import { workload } from "../support/workloads.ts";

test("a CPU that goes and comes within a refresh is sampled on", async (context) => {
  needsSampling(context);
  if (!existsSync(SECOND_CPU)) return context.skip("no CPU can be taken offline here");
  const programs = cpus().map(() => start(workload("deep.c"), ["10"]));
  try {
    const { snapshots } = await during(programs, () =>
      sampleJson({
        seconds: 6,
        onLine: (line) => {
          if (line !== 2) return;
          writeFileSync(SECOND_CPU, "0");
          writeFileSync(SECOND_CPU, "1");
        },
      }),
    );
    // After two seconds.
    for (const { samples, missed, intervalSeconds, cpus: count } of snapshots.slice(4)) {
      expect(count).toBe(cpus().length);
      expect(samples + missed).toBeGreaterThan(0.85 * 99 * count * intervalSeconds);
    }
  } finally {
    writeFileSync(SECOND_CPU, "1");
  }
});

test("in a PID namespace of its own, a pid is the one that its user sees", (context) => {
  needsSampling(context);
  const script = `perl -e 'sub seen_inside { my $n = 0; $n += $_ for 1 .. 1000 } seen_inside() while getppid() == $ARGV[0]' $$ & pid=$!; echo $pid; ${launcher} --json -n 2 -d 0.5 -p $pid; kill $pid`;
  const { status, stdout, stderr } = spawnSync(
    "unshare",
    ["--pid", "--fork", "--mount-proc", "sh", "-c", script],
    { encoding: "utf8" },
  );
  if (/unshare/.test(stderr)) return context.skip(stderr);
  expect(status, stderr).toBe(0);
  const [number, ...lines] = stdout.trim().split("\n");
  const pid = Number(number);
  expect(pid).toBeLessThan(50);
  for (const line of lines) {
    const { processes, functions, samples } = JSON.parse(line) as Snapshot;
    expect(samples).toBeGreaterThan(0);
    expect(processes.map((it) => it.pid)).toEqual([pid]);
    expect(functions.map(({ name }) => name)).toContain("main::seen_inside");
  }
});

test("what runs out of memory says so, and ends with status 1", async (context) => {
  needsSampling(context);
  if (spawnSync("prlimit", ["--version"]).error) return context.skip("prlimit is not installed");
  let isLimited = false;
  const { status, stderr } = await polytop(["--json", "-d", "0.2", "-F", "999"], {
    onStdout: (_, pid) => {
      if (isLimited) return;
      isLimited = true;
      execFileSync("prlimit", [`--pid=${pid}`, "--data=1000000"]);
    },
  });
  expect(status).toBe(1);
  expect(stderr).toMatch(/^polytop: (ended|sampling has ended): .*memory/m);
  expect(stderr).not.toContain("unsettled");
});
