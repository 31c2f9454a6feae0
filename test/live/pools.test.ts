/** Threads that are met at bad moments, and in processes that want to be misread. */
import { expect, test } from "vitest";
import { needsSampling, polytop } from "../support/polytop.ts";
import { during, sleep, start } from "../support/profile.ts";
import type { WaitSnapshot } from "../support/waits.ts";
import { workload } from "../support/workloads.ts";

const KINDS = ["exits", "unreadable", "names"] as const;

test("threads that end, unreadable futexes and stacks, names with escapes", async (context) => {
  needsSampling(context);
  const pools = [
    ...KINDS.map((kind) => start(workload("pool.c"), [kind])),
    start(workload("away.c"), ["userfaultfd"]),
  ];
  await during(pools, async ([exits = -1, unreadable = -1, names = -1, absent = -1]) => {
    await sleep(1.5);
    const pids = [exits, unreadable, absent, names].join();
    const { status, stdout, stderr } = await polytop(
      ["-e", "wait", "--json", "--idle", "--rows", "0", "-n", "3", "-p", pids],
      { timeoutMs: 60_000 },
    );
    expect(status).toBe(0);
    const found = stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as WaitSnapshot);
    for (const { samples, stacks, functions, processes, waiting } of found) {
      const { complete, guessed, truncated, broken } = stacks;
      expect(complete + guessed + truncated + broken).toBe(samples);
      expect(functions.reduce((sum, { self }) => sum + self, 0)).toBe(samples);
      expect(processes.map(({ pid }) => pid)).toEqual(
        expect.arrayContaining([exits, unreadable, absent, names]),
      );
      expect(waiting.deadlocks).toEqual([]);
      expect(waiting.longWaits.filter(({ owner }) => owner !== undefined)).toEqual([]);
    }
    const last = found.at(-1);
    const why = (name: string) => last?.functions.find((it) => it.name === name)?.why;
    expect(why("wait_at")).toBe("futex");
    // The stack of that thread ends at the page that is not there, which no visit brings in.
    expect(last?.stacks.broken).toBeGreaterThan(0);
    expect(stdout + stderr).not.toMatch(/\\u001b|\\u009b|\p{Cc}(?<!\n)/u);
  });
});
