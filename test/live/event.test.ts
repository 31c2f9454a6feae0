/** What samples: cycles of a PMU where there is one that can be trusted, else the clock of each CPU. */
import { constants } from "node:os";
import { expect, test } from "vitest";
import { needsSampling, polytop } from "../support/polytop.ts";
import { during, type Snapshot, start } from "../support/profile.ts";
import { workload } from "../support/workloads.ts";

const { ENOENT, EOPNOTSUPP, EACCES } = constants.errno;

/** What a PMU may be like (test/workloads/pmu.c), and what must be sampled then. */
const PMUS: readonly (readonly [pmu: string, event: string])[] = [
  ["works", "cycles"],
  ["dead", "cpu-clock"],
  ["partial", "cpu-clock"],
  [String(ENOENT), "cpu-clock"],
  [String(EOPNOTSUPP), "cpu-clock"],
  [String(EACCES), "cpu-clock"],
];

test.for(PMUS)("with a PMU that is %s: %s", async ([pmu, event], context) => {
  needsSampling(context);
  const preload = workload("pmu.c", { as: "pmu.so", flags: ["-shared", "-fPIC"] });
  const program = start(workload("split.c"));
  await during([program], async ([pid]) => {
    const { status, stdout, stderr } = await polytop(
      ["--json", "--once", "-F", "499", "-p", String(pid)],
      { env: { LD_PRELOAD: preload, PMU: pmu } },
    );
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    const snapshot = JSON.parse(stdout) as Snapshot & { readonly event: string };
    expect(snapshot.event).toBe(event);
    expect(snapshot.samples).toBeGreaterThan(0);
    expect(snapshot.functions.map(({ name }) => name)).toContain("sixty");
  });
});
