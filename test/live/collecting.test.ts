/** What is asked of a live source at any time: what is asked during a drain waits for its end. */
import { expect, test } from "vitest";
import type { Tick } from "../../src/tick/tick.ts";
import { openSource } from "../support/live-ticks.ts";
import { needsSampling } from "../support/polytop.ts";
import { during, sleep, start } from "../support/profile.ts";
import { workload } from "../support/workloads.ts";

const pidsOf = ({ counts, store }: Tick): Set<number> =>
  new Set(Array.from(counts.tasks, (task) => store.tasks[task]?.pid ?? 0));

test("all that is asked at once is done in its order", async (context) => {
  needsSampling(context);
  const programs = [start(workload("split.c")), start(workload("deep.c"))];
  await during(programs, async ([one = -1, two = -1]) => {
    const ticks: Tick[] = [];
    const errors: unknown[] = [];
    const source = await openSource({ frequency: 999 });
    source.ended.catch((error) => errors.push(error));
    source.subscribe((event) => {
      if ("tick" in event) ticks.push(event.tick);
    });
    try {
      // No refresh comes by itself, however long anything takes.
      source.setInterval(600);
      await sleep(0.5);
      // The first begins a drain; the others come while it is under way, each with a refresh of its own.
      const asked = [
        source.flush(),
        source.setPids([one]),
        source.lookUp(undefined),
        source.watchWaits(),
        source.flush(),
        source.setPids([two]),
      ];
      source.setInterval(0.2);
      expect(await Promise.all(asked)).toEqual(asked.map(() => undefined));
      expect(ticks).toHaveLength(4);
      source.setInterval(600);
      await sleep(0.5);
      await source.flush();
      const [last] = ticks.slice(-1);
      // The refresh behind what narrows is of that process alone.
      expect(last && [...pidsOf(last)]).toEqual([two]);
      await sleep(0.3);
    } finally {
      void source.flush();
      // Its drain is under way by then.
      await new Promise(setImmediate);
      const closed = source.close();
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
