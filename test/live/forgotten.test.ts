/** Programs with ever new functions: those that ran out are forgotten, and are what they were when they come again. */
import { expect, test } from "vitest";
import { TickAssembler, type TickDelta } from "../../src/tick/delta.ts";
import { beginCollecting } from "../support/live-ticks.ts";
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
  const forgotten = new Set<number>();
  const again = new Set<number>();
  const names = new Set<string>();
  const errors: unknown[] = [];
  let broken = 0;
  let steady = 0;
  const assembler = new TickAssembler();
  const receive = (delta: TickDelta): void => {
    for (const { runtime, module, name, id } of delta.functions) {
      const key = [runtime, module, name].join(" ");
      ids.set(key, (ids.get(key) ?? new Set()).add(id));
      if (forgotten.has(id)) again.add(id);
    }
    for (const id of delta.forgotten ?? []) forgotten.add(id);
    const tick = assembler.assemble(delta);
    for (const { stack, count } of stackCounts(tick)) {
      if (stack.outcome === "broken") broken += count;
      const own = stack.frames.filter(({ function: { module } }) => module === MODULE);
      if (own.some(({ function: { name } }) => name === "steady")) steady += count;
      for (const { function: it } of own) names.add(it.name);
    }
  };
  await during([start(workload("many.c"))], async (pids) => {
    warm(pids);
    const collecting = await beginCollecting(
      { frequency: 1999, pids, byFunction: true },
      { tick: receive, failed: (error) => errors.push(error) },
    );
    try {
      for (let second = 0; second < MOST_SECONDS && again.size < 100; second++) await sleep(1);
    } finally {
      await collecting.close();
    }
  });
  expect(errors).toEqual([]);
  expect(again.size).toBeGreaterThanOrEqual(100);
  expect([...names].filter((name) => !OWN.test(name))).toEqual([]);
  expect([...ids].filter(([, { size }]) => size > 1)).toEqual([]);
  expect(broken).toBe(0);
  expect(steady).toBeGreaterThan(0);
});
