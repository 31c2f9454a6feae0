/** What polytop costs, and the rate that follows from it. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  type BudgetState,
  budgetNotice,
  FLOOR_HZ,
  spend,
  startBudget,
} from "../../../src/collector/budget.ts";

/** The state after refreshes of a second that cost so much at each rate. */
function run(
  state: BudgetState,
  seconds: number,
  percentAt: (frequency: number) => number,
  seen: (state: BudgetState) => void = () => {},
): BudgetState {
  let now = state;
  for (let i = 0; i < seconds; i++) {
    now = spend(now, 1, percentAt(now.frequency));
    seen(now);
  }
  return now;
}

describe("the rate", () => {
  test("stays while the cost does", () => {
    const state = run(startBudget(99, 3), 3600, () => 2.9);
    expect(state.frequency).toBe(99);
    expect(budgetNotice(state)).toBeUndefined();
  });

  test("is halved until the cost fits, and says so", () => {
    const perHz = 8 / 99;
    const state = run(startBudget(99, 3), 60, (hz) => hz * perHz);
    expect(state.frequency).toBe(24);
    expect(budgetNotice(state)).toBe(
      "24 Hz, not 99: polytop took over 3 % of a CPU, 4.0 % at 49 Hz",
    );
  });

  test("is not changed by what takes a moment at any rate: the tables of big files", () => {
    let at = 0;
    const state = run(startBudget(99, 3), 300, () => (at++ % 30 < 3 ? 60 : 1.3));
    expect(state.frequency).toBe(99);
  });

  test("is not judged by the start, and then by ten seconds", () => {
    expect(run(startBudget(99, 3), 14, () => 50).frequency).toBe(99);
    expect(run(startBudget(99, 3), 15, () => 50).frequency).toBe(49);
  });

  test("has a floor", () => {
    expect(run(startBudget(9999, 3), 3600, () => 50).frequency).toBe(FLOOR_HZ);
    expect(run(startBudget(5, 3), 3600, () => 50).frequency).toBe(5);
  });

  test("comes back when the load has gone", () => {
    const low = run(startBudget(99, 3), 60, () => 10);
    expect(low.frequency).toBe(FLOOR_HZ);
    const back = run(low, 300, () => 0.5);
    expect(back.frequency).toBe(99);
    expect(budgetNotice(back)).toBeUndefined();
  });

  test("is tried less and less often when it does not fit", () => {
    let raises = 0;
    let last = 0;
    const cost = (hz: number): number => (hz > 49 ? 4 : 1);
    run(startBudget(99, 3), 3600, cost, ({ frequency }) => {
      if (frequency > last && last > 0) raises++;
      last = frequency;
    });
    expect(raises).toBeGreaterThan(3);
    expect(raises).toBeLessThan(14);
  });

  test("has no limit with a budget of 0", () => {
    expect(run(startBudget(99, 0), 600, () => 100).frequency).toBe(99);
  });

  test("is between the floor and what was asked for, whatever the costs", () => {
    const refresh = fc.tuple(
      fc.double({ min: 0, max: 60, noNaN: true }),
      fc.double({ min: 0, max: 400, noNaN: true }),
    );
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 9999 }), fc.array(refresh), (wanted, refreshes) => {
        let state = startBudget(wanted, 3);
        for (const [seconds, percent] of refreshes) {
          state = spend(state, seconds, percent);
          expect(state.frequency).toBeLessThanOrEqual(wanted);
          expect(state.frequency).toBeGreaterThanOrEqual(Math.min(FLOOR_HZ, wanted));
        }
      }),
    );
  });
});
