/** Stacks and the tree of their frames: whatever the order, each stack has one number, and the tree holds it whole. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { Numbers } from "../../../src/tick/columns/numbers.ts";
import { ROOT } from "../../../src/tick/prefix-tree.ts";
import { StackNumbers } from "../../../src/tick/stack-numbers.ts";
import { eachColumn } from "../../../src/tick/store.ts";

/** A stack as it is numbered, its frames leaf first. */
interface Entered {
  readonly frames: readonly number[];
  readonly outcome: number;
  readonly wait: number;
}

/** Numbers stacks in one store and makes stacks of its columns again. */
function enter(stacks: readonly Entered[]) {
  const columns = eachColumn(() => new Numbers());
  const numbers = new StackNumbers(columns);
  const given = stacks.map(({ frames, outcome, wait }) =>
    // What is left of longer stacks does not count.
    numbers.number([...frames, 99, 98], frames.length, outcome, wait),
  );
  const backs = [0, ...columns.nodeBacks.take()];
  const nodeFrames = [0, ...columns.nodeFrames.take()];
  const [outcomes, waits] = [columns.stackOutcomes.take(), columns.stackWaits.take()];
  const made = [...columns.stackLeaves.take()].map((leaf, number) => {
    const frames: number[] = [];
    for (let node = leaf; node !== ROOT; node -= backs[node] ?? node)
      frames.push(nodeFrames[node] ?? 0);
    return { frames, outcome: outcomes[number] ?? 0, wait: waits[number] ?? 0 };
  });
  return { given, made, numbers, nodes: backs.length };
}

const entered = fc.record({
  frames: fc.array(fc.nat(3), { maxLength: 8 }),
  outcome: fc.nat(3),
  wait: fc.nat(2),
});

test("each stack has one number, under which its columns hold it", () => {
  fc.assert(
    fc.property(fc.array(entered, { maxLength: 60 }), (stacks) => {
      const { given, made, numbers } = enter(stacks);
      expect(given.map((number) => made[number])).toEqual(stacks);
      expect(made).toHaveLength(new Set(stacks.map((one) => JSON.stringify(one))).size);
      expect(numbers.size).toBe(made.length);
    }),
  );
});

test("stacks in the order of their outer frames make the smallest tree", () => {
  const key = (frames: readonly number[]): string => frames.toReversed().join("");
  fc.assert(
    fc.property(fc.array(fc.array(fc.nat(9), { maxLength: 8 }), { maxLength: 60 }), (stacks) => {
      const sorted = stacks.toSorted((a, b) => (key(a) < key(b) ? -1 : 1));
      const { nodes } = enter(sorted.map((frames) => ({ frames, outcome: 0, wait: 0 })));
      const ways = stacks.flatMap((frames) => frames.map((_, at) => key(frames.slice(at))));
      expect(nodes).toBe(new Set(["", ...ways]).size);
    }),
  );
});

test("many stacks, and deep ones, keep their numbers; a new store begins at the first", () => {
  let columns = eachColumn(() => new Numbers());
  const numbers = new StackNumbers(columns);
  const deep = Array.from({ length: 5000 }, (_, at) => at % 7);
  const number = (at: number): number => numbers.number([at, at % 13, 0], 3, 0, 0);
  for (let round = 0; round < 2; round++) {
    for (let at = 0; at < 20_000; at++) expect(number(at)).toBe(at);
    expect(numbers.number(deep, deep.length, 1, 0)).toBe(20_000);
    expect(numbers.number(deep, deep.length - 1, 1, 0)).toBe(20_001);
    for (let at = 0; at < 20_000; at++) expect(number(at)).toBe(at);
    expect(numbers.number(deep, deep.length, 1, 0)).toBe(20_000);
    expect(columns.stackLeaves.length).toBe(20_002);
    columns = eachColumn(() => new Numbers());
    numbers.renew(columns);
    expect(numbers.size).toBe(0);
  }
});
