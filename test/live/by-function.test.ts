/** Plain outputs tell no addresses apart: stacks of the same functions are one there, of any language. */
import { describe, expect, test } from "vitest";
import { countsOf, type Stack, type StackCount, type Tick } from "../../src/tick/tick.ts";
import { liveTicks } from "../support/live-ticks.ts";
import { needsSampling } from "../support/polytop.ts";
import { during, type Running, start } from "../support/profile.ts";
import { workload } from "../support/workloads.ts";

const PERL =
  "sub leaf { my $n = shift; return $n * 3 % 7 + length sprintf '%d', $n } sub middle { my $s = 0; $s += leaf($_) for 1 .. 100; return $s } middle() while 1;";

/** Everything that a reader can see of a stack. */
const appearance = ({ frames, outcome }: Stack): string =>
  JSON.stringify([outcome, frames.map(({ function: { id }, ...rest }) => [id, rest])]);

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
    const merged = countsOf(await sample(program, true));
    const apart = countsOf(await sample(program, false));

    for (const list of [merged, apart]) {
      expect(list.reduce((sum, { count }) => sum + count, 0)).toBeGreaterThan(1000);
      expect(list.filter(({ stack }) => stack.outcome === "broken")).toEqual([]);
    }
    const seen = (list: readonly StackCount[]): Set<string> =>
      new Set(list.map(({ stack }) => appearance(stack)));
    const stacks = (list: readonly StackCount[]): Set<number> =>
      new Set(list.map(({ stack }) => stack.id));
    // Different functions may have the same name: an interpreter has some.
    expect(stacks(merged).size).toBeLessThanOrEqual(1.1 * seen(merged).size);
    expect(stacks(apart).size).toBeGreaterThan(2 * seen(apart).size);
  });

  test("are counted once in a thread and refresh", async (context) => {
    needsSampling(context);
    for (const tick of await sample(() => start(workload("deep.c"), ["20", "waves"]), true)) {
      const pairs = Array.from(tick.counts, ({ stack, task }) => `${stack.id} in ${task.tid}`);
      expect(new Set(pairs).size).toBe(pairs.length);
    }
  });
});
