/** What the first refresh knows of programs that ran before polytop did. */
import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { folderOnDisk } from "../support/live.ts";
import { needsSampling } from "../support/polytop.ts";
import { during, sampleJson, sleep, start } from "../support/profile.ts";
import { workload } from "../support/workloads.ts";

/** More than come to run in the moment of fast sampling at the start. */
const PROGRAMS = 60;

test("the files of all that runs are read before anything is counted", async (context) => {
  needsSampling(context);
  const folder = folderOnDisk(context);
  const paths = Array.from({ length: PROGRAMS }, (_, at) => join(folder, `busy-${at}`));
  for (const path of paths) copyFileSync(workload("split.c"), path);
  await during(
    paths.map((path) => start(path)),
    async (pids) => {
      await sleep(0.5);
      const { snapshots } = await sampleJson({ seconds: 1, frequency: 499, pids });
      const sampled = snapshots[0]?.processes.filter(({ pid }) => pids.includes(pid)) ?? [];
      const whole = sampled.filter(({ samples, complete }) => complete === samples);
      expect(sampled.length).toBeGreaterThan(PROGRAMS / 2);
      expect(whole.length).toBeGreaterThanOrEqual(0.9 * sampled.length);
    },
  );
});
