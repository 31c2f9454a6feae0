/** What does not run for a minute, as a container that is frozen or a stopped job, goes on afterwards. */
import { expect, test } from "vitest";
import { needsSampling } from "../support/polytop.ts";
import { during, sampleJson, sleep, start } from "../support/profile.ts";
import { wrongSums } from "../support/sums.ts";
import { workload } from "../support/workloads.ts";

const MINUTE = 60;

test("polytop is stopped for a minute", { timeout: 150_000 }, async (context) => {
  needsSampling(context);
  let resumed: Promise<void> | undefined;
  const { snapshots } = await during([start(workload("split.c"))], () =>
    sampleJson({
      seconds: 6,
      spareSeconds: MINUTE + 30,
      onLine: (line, pid) => {
        if (line !== 2) return;
        process.kill(pid, "SIGSTOP");
        resumed = sleep(MINUTE).then(() => void process.kill(pid, "SIGCONT"));
      },
    }),
  );
  await resumed;
  expect(Math.max(...snapshots.map((it) => it.intervalSeconds))).toBeGreaterThan(MINUTE - 1);
  expect(snapshots.map(wrongSums)).toEqual(snapshots.map(() => ""));
  const last = snapshots.at(-1);
  expect(last?.functions.map(({ name }) => name)).toContain("sixty");
  expect(last?.intervalSeconds).toBeLessThan(MINUTE / 2);
  expect(last?.metrics).toMatchObject({ SamplesLostCountsFull: 0, SamplesLostRingFull: 0 });
});
