/** What polytop itself costs has a budget: above it, the rate goes down and is said to. */
import { cpus } from "node:os";
import { expect, test } from "vitest";
import { needsSampling, polytop } from "../support/polytop.ts";
import { during, type Snapshot, start } from "../support/profile.ts";

test("above its budget polytop samples less, and says so", async (context) => {
  needsSampling(context);
  const loops = cpus().map(() => start("/bin/sh", ["-c", "while :; do :; done"]));
  const { status, stdout, stderr } = await during(loops, () =>
    polytop(["--json", "--rows", "1", "-n", "19"], { env: { POLYTOP_BUDGET: "0.001" } }),
  );
  expect(status).toBe(0);
  expect(stderr).toBe("polytop: 49 Hz, not 99: polytop took over 0.001 % of a CPU\n");
  const snapshots = stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Snapshot);
  const rates = snapshots.map(({ frequency }) => frequency);
  expect([...new Set(rates)]).toEqual([99, 49]);
  // Both rates are what they say: the CPUs are as busy at the one as at the other.
  const busy = (hz: number): number => {
    const chosen = snapshots.filter(({ frequency }) => frequency === hz);
    const possible = chosen.reduce((sum, it) => sum + it.intervalSeconds * it.cpus * hz, 0);
    return chosen.reduce((sum, it) => sum + it.samples + it.missed, 0) / possible;
  };
  expect(busy(49) / busy(99)).toBeGreaterThan(0.8);
  expect(busy(49) / busy(99)).toBeLessThan(1.25);
});
