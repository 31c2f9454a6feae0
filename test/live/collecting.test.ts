/** What is asked of a collector at any time: a drain goes on beside, and what is asked meanwhile waits for it. */
import { expect, test } from "vitest";
import { TickAssembler } from "../../src/tick/delta.ts";
import type { Tick } from "../../src/tick/tick.ts";
import { beginCollecting } from "../support/live-ticks.ts";
import { needsSampling } from "../support/polytop.ts";
import { during, sleep, start } from "../support/profile.ts";
import { workload } from "../support/workloads.ts";

const pidsOf = ({ counts, store }: Tick): Set<number> =>
  new Set(Array.from(counts.tasks, (task) => store.tasks[task]?.pid ?? 0));

test("all that is asked at once is done in its order", async (context) => {
  needsSampling(context);
  const programs = [start(workload("split.c")), start(workload("deep.c"))];
  await during(programs, async ([one = -1, two = -1]) => {
    const assembler = new TickAssembler();
    const ticks: Tick[] = [];
    const errors: unknown[] = [];
    const collecting = await beginCollecting(
      { frequency: 999 },
      {
        tick: (delta) => ticks.push(assembler.assemble(delta)),
        failed: (error) => errors.push(error),
      },
    );
    try {
      // No refresh comes by itself, however long anything takes.
      collecting.setSeconds(600);
      await sleep(0.5);
      // The first begins a drain; the others come while it is under way, each with a refresh of its own.
      const asked = [
        collecting.flush(),
        collecting.setTargets([one]),
        collecting.lookUp(undefined),
        collecting.watchWaits(),
        collecting.flush(),
        collecting.setTargets([two]),
      ];
      collecting.setSeconds(0.2);
      await Promise.all(asked);
      expect(ticks).toHaveLength(4);
      collecting.setSeconds(600);
      await sleep(0.5);
      await collecting.flush();
      const [last] = ticks.slice(-1);
      // The refresh behind what narrows is of that process alone.
      expect(last && [...pidsOf(last)]).toEqual([two]);
      await sleep(0.3);
    } finally {
      void collecting.flush();
      // Its drain is under way by then.
      await new Promise(setImmediate);
      const closed = collecting.close();
      const before = ticks.length;
      await closed;
      await sleep(0.3);
      expect(ticks.length - before).toBe(0);
    }
    expect(errors).toEqual([]);
    const times = ticks.map(({ time }) => time);
    expect(times).toEqual(times.toSorted((a, b) => a - b));
  });
});
