/** Programs with ever new functions: those that ran out are forgotten, and are what they were when they come again. */
import { expect, test } from "vitest";
import type { Store } from "../../src/tick/store.ts";
import type { Tick } from "../../src/tick/tick.ts";
import { openSource } from "../support/live-ticks.ts";
import { needsSampling } from "../support/polytop.ts";
import { during, sleep, start } from "../support/profile.ts";
import { stackCounts } from "../support/ticks.ts";
import { warm } from "../support/warm.ts";
import { workload } from "../support/workloads.ts";

/** By when a busy machine has met enough of them, and forgotten them. */
const MOST_SECONDS = 60;

const MODULE = "many";

const OWN = /^(a_name_\w+__\d+|steady|call|work|main|_start)$/;

test("functions that were forgotten come again as the same ones, by their own names", async (context) => {
  needsSampling(context);
  const ids = new Map<string, Set<number>>();
  /** Ids of functions in the present store, and in the one before it: what came earlier alone was forgotten. */
  let [present, before] = [new Set<number>(), new Set<number>()];
  let store: Store | undefined;
  const again = new Set<number>();
  const names = new Set<string>();
  const errors: unknown[] = [];
  let broken = 0;
  let steady = 0;
  const receive = (tick: Tick): void => {
    if (store !== tick.store) [present, before] = [new Set(), present];
    store = tick.store;
    for (const { stack, count } of stackCounts(tick)) {
      if (stack.outcome === "broken") broken += count;
      const own = stack.frames.filter(({ function: { module } }) => module === MODULE);
      if (own.some(({ function: { name } }) => name === "steady")) steady += count;
      for (const { function: it } of own) {
        const known = ids.get(it.name) ?? new Set();
        if (known.has(it.id) && !present.has(it.id) && !before.has(it.id)) again.add(it.id);
        ids.set(it.name, known.add(it.id));
        present.add(it.id);
        names.add(it.name);
      }
    }
  };
  await during([start(workload("many.c"))], async (pids) => {
    warm(pids);
    const source = await openSource({ frequency: 1999, pids, byFunction: true });
    source.ended.catch((error) => errors.push(error));
    source.subscribe((event) => {
      if ("tick" in event) receive(event.tick);
    });
    try {
      for (let second = 0; second < MOST_SECONDS && again.size < 100; second++) await sleep(1);
    } finally {
      await source.close();
    }
  });
  expect(errors).toEqual([]);
  expect(again.size).toBeGreaterThanOrEqual(100);
  expect([...names].filter((name) => !OWN.test(name))).toEqual([]);
  expect([...ids].filter(([, { size }]) => size > 1)).toEqual([]);
  expect(broken).toBe(0);
  expect(steady).toBeGreaterThan(0);
});
