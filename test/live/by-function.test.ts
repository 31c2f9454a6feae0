/** Plain outputs tell no addresses apart: stacks of the same functions are one there, of any language. */
import { describe, expect, test } from "vitest";
import type { Store } from "../../src/tick/store.ts";
import type { Tick } from "../../src/tick/tick.ts";
import { liveTicks } from "../support/live-ticks.ts";
import { needsSampling } from "../support/polytop.ts";
import { during, type Running, start } from "../support/profile.ts";
import { type Stack, type StackCount, stackCounts } from "../support/ticks.ts";
import { workload } from "../support/workloads.ts";

const PERL =
  "sub leaf { my $n = shift; return $n * 3 % 7 + length sprintf '%d', $n } sub middle { my $s = 0; $s += leaf($_) for 1 .. 100; return $s } middle() while 1;";

/** Everything that a reader can see of a stack. */
const appearance = ({ frames, outcome }: Stack): string =>
  JSON.stringify([outcome, frames.map(({ function: { id }, ...rest }) => [id, rest])]);

/** Whether a sample came before the table of its file. */
const isEarly = ({ stack }: StackCount): boolean =>
  stack.frames.some(({ function: it }) => it.name === "[native: unwind table being built]");

/** How many stacks look different to a reader. */
const lookCount = (ticks: readonly Tick[]): number =>
  new Set(stackCounts(...ticks).map(({ stack }) => appearance(stack))).size;

/** How many stacks are told apart. */
function stackCount(ticks: readonly Tick[]): number {
  const stacks = new Map<Store, Set<number>>();
  for (const { store, counts } of ticks) {
    const known = stacks.get(store) ?? new Set();
    stacks.set(store, known);
    for (const stack of counts.stacks) known.add(stack);
  }
  return [...stacks.values()].reduce((sum, { size }) => sum + size, 0);
}

async function sample(program: () => Running, byFunction: boolean): Promise<Tick[]> {
  return during([program()], ([pid = -1]) =>
    liveTicks({ seconds: 3, frequency: 999, pids: [pid], byFunction }),
  );
}

describe("stacks of the same functions", () => {
  const programs: readonly [string, () => Running][] = [
    ["C", () => start(workload("deep.c"), ["20", "waves"])],
    ["Perl", () => start("/usr/bin/perl", ["-e", PERL])],
  ];

  test.for(programs)("are one: %s", async ([, program], context) => {
    needsSampling(context);
    const merged = await sample(program, true);
    const apart = await sample(program, false);

    for (const list of [merged, apart].map((ticks) => stackCounts(...ticks))) {
      const met = list.filter((it) => !isEarly(it));
      expect(met.reduce((sum, { count }) => sum + count, 0)).toBeGreaterThan(500);
      expect(met.filter(({ stack }) => stack.outcome === "broken")).toEqual([]);
    }
    // Different functions may have the same name: an interpreter has some.
    expect(stackCount(merged)).toBeLessThanOrEqual(1.1 * lookCount(merged));
    expect(stackCount(apart)).toBeGreaterThan(2 * lookCount(apart));
  });

  test("are counted once in a thread and refresh", async (context) => {
    needsSampling(context);
    for (const tick of await sample(() => start(workload("deep.c"), ["20", "waves"]), true)) {
      const pairs = Array.from(
        tick.counts.stacks,
        (stack, i) => `${stack} in ${tick.counts.tasks[i]}`,
      );
      expect(new Set(pairs).size).toBe(pairs.length);
    }
  });
});
