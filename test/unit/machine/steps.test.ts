/** Work in steps. */
import { expect, test } from "vitest";
import { atOnce, inTurns } from "../../../src/machine/steps.ts";

let clock = 0;
const now = (): number => clock;

/** Steps that take so long each, and what they return. */
function* steps(count: number, milliseconds: number, done: number[]): Generator<void, string> {
  for (let step = 0; step < count; step++) {
    clock += milliseconds;
    done.push(step);
    yield;
  }
  return "all";
}

/** How many steps were done at each turn of others, until all are. */
async function turnsBetween(milliseconds: number): Promise<number[]> {
  const done: number[] = [];
  const seen: number[] = [];
  const look = (): void => {
    seen.push(done.length);
    if (done.length < 10) setImmediate(look);
  };
  setImmediate(look);
  expect(await inTurns(steps(10, milliseconds, done), now)).toBe("all");
  expect(done).toHaveLength(10);
  return seen;
}

test("others have their turns between steps that take long", async () => {
  expect(await turnsBetween(12)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
});

test("steps that take a little are done in few turns", async () => {
  expect(await turnsBetween(4)).toEqual([3, 6, 9]);
  expect(await turnsBetween(0)).toEqual([]);
});

test("all at once gives what the steps return, and what they throw", async () => {
  const done: number[] = [];
  expect(atOnce(steps(3, 0, done))).toBe("all");
  expect(done).toEqual([0, 1, 2]);
  const fails = function* (): Generator<void, void> {
    yield;
    throw new Error("no");
  };
  expect(() => atOnce(fails())).toThrow("no");
  await expect(inTurns(fails())).rejects.toThrow("no");
});
