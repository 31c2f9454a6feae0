/** Code that a JIT compiler writes and names while it is sampled. */
import { rmSync } from "node:fs";
import { expect, test } from "vitest";
import { ownNode } from "../support/node.ts";
import { needsSampling } from "../support/polytop.ts";
import { during, sampleJson, start } from "../support/profile.ts";

/**
 * A function more every 0.4 s, four in all: whatever moment its /tmp/perf-PID.map is read at, some are compiled
 * after that and sampled before the next time.
 */
const PROGRAM = `
const turns = [];
let number = 0;
const add = () => {
  const name = "late" + ++number;
  turns.push(eval("(function " + name + "() { let sum = 1; for (let i = 0; i < 3e6; i++) sum = (sum * 31 + i) | 0; return sum })"));
  if (number < 4) setTimeout(add, 400);
};
const run = () => { for (const turn of turns) turn(); setImmediate(run); };
setTimeout(() => { add(); run(); }, 1000);
`;

test("functions of Node that were sampled before their name was read", async (context) => {
  needsSampling(context);
  const program = start(ownNode, ["--perf-basic-prof", "-e", PROGRAM]);
  try {
    const sums = await during([program], (pids) =>
      sampleJson({ seconds: 15, delay: 1, frequency: 199, pids }),
    );
    const last = sums.snapshots.slice(-3).flatMap((it) => it.functions);
    const self = (isIt: (name: string) => boolean): number =>
      last.filter(({ name }) => isIt(name)).reduce((sum, row) => sum + row.self, 0);
    const named = self((name) => /\blate[1-4]\b/.test(name));
    expect(named).toBeGreaterThan(0);
    // One that was missed for good would have a quarter.
    expect(self((name) => name === "[generated code]")).toBeLessThan(named / 20);
  } finally {
    rmSync(`/tmp/perf-${program.pid}.map`, { force: true });
  }
});
