import { setImmediate } from "node:timers/promises";
import fc from "fast-check";
import { expect, test } from "vitest";
import { aggregate } from "../../../src/model/aggregate.ts";
import { CallTree, ROOT, trunk } from "../../../src/model/call-tree.ts";
import { Covered } from "../../../src/model/covered.ts";
import { FunctionSums } from "../../../src/model/function-sums.ts";
import { History } from "../../../src/model/history.ts";
import { Trails } from "../../../src/model/trails.ts";
import { ASCII_GLYPHS } from "../../../src/text/format.ts";
import { drawTrail, level } from "../../../src/text/trail.ts";
import { NO_FRAMES } from "../../../src/tick/functions.ts";
import type { Store } from "../../../src/tick/store.ts";
import type { Tick } from "../../../src/tick/tick.ts";
import { TickGenerator } from "../../screen/generate.ts";
import {
  functionInfo,
  makeTick,
  type StackCount,
  StoreMaker,
  stackCounts,
  TickMaker,
  task,
} from "../../support/ticks.ts";

const SHOW = { kernel: true, nativeFrames: false };

/** Turns of the event loop: stores are compressed beside this thread. */
async function someTurns(): Promise<void> {
  for (let i = 0; i < 3; i++) await setImmediate();
}

test("a tick whose store was compressed comes back as it was", async () => {
  const generator = new TickGenerator();
  const maker = new StoreMaker();
  const history = new History();
  const expected: StackCount[][] = [];
  const ticks = Array.from({ length: 200 }, (_, i) => {
    const { time, metrics, ...made } = generator.next();
    if (i % 40 === 0) maker.renew();
    const counts = stackCounts({ time, metrics, ...made });
    expected.push(counts);
    return makeTick(counts, { time, metrics }, maker);
  });
  const [first] = ticks;
  for (const tick of ticks) history.push(tick);
  const before = first?.store.bytes ?? 0;
  await expect.poll(() => first?.store.bytes).toBeLessThan(before / 2);
  expect(history.length).toBe(200);
  for (const [i, tick] of ticks.entries()) {
    expect(history.at(i)).toBe(tick);
    expect(stackCounts(tick)).toEqual(expected[i]);
    expect(history.placeAfter(tick.time)).toBe(i + 1);
  }
  const shown = ticks[80] as Tick;
  expect(history.last(10, shown).map(({ time }) => time)).toEqual(
    ticks.slice(71, 81).map(({ time }) => time),
  );
});

test("a store is compressed 20 seconds after its last tick, and not before", async () => {
  const maker = new StoreMaker();
  const history = new History();
  const stack = new TickMaker().stack(["n:leaf", "n:main"]);
  const push = (second: number): Tick => {
    const tick = makeTick(
      [{ stack, task: task(1, "x"), count: second }],
      { time: second * 1000 },
      maker,
    );
    history.push(tick);
    return tick;
  };
  const [old] = [push(0), push(30)] as [Tick, Tick];
  maker.renew();
  push(31);
  const { bytes } = old.store;
  push(50);
  await someTurns();
  expect(old.store.bytes).toBe(bytes);
  push(51);
  await expect.poll(() => old.store.bytes).toBeLessThan(bytes);
  expect(history.at(1)?.store).toBe(old.store);
  expect(stackCounts(old)).toMatchObject([{ stack: { frames: [{}, {}] }, count: 0 }]);
});

test("what is forgotten takes no memory any more, with the store of its last tick", () => {
  const maker = new StoreMaker();
  const history = new History({ seconds: 10, bytes: 1e9 });
  const stack = new TickMaker().stack(["n:leaf", "n:main"]);
  const counts = [{ stack, task: task(1, "x"), count: 1 }];
  const sizes: number[] = [];
  for (let second = 0; second < 100; second++) {
    if (second % 5 === 0) maker.renew();
    history.push(makeTick(counts, { time: second * 1000 }, maker));
    sizes.push(history.bytes);
  }
  expect(history.length).toBe(11);
  const stores = new Set(Array.from({ length: 11 }, (_, i) => history.at(i)?.store));
  const sum = [...stores].reduce((all, store) => all + (store?.bytes ?? 0), 0);
  // A count takes 16 bytes.
  expect(history.bytes).toBe(sum + 11 * 16);
  expect(Math.max(...sizes.slice(50))).toBe(Math.max(...sizes.slice(20, 50)));
});

const FUNCTIONS = Array.from({ length: 5000 }, (_, number) =>
  functionInfo({ runtime: "native", name: `f${number}`, module: "m" }),
);
const FRAMES = FUNCTIONS.map((info) => ({ function: info }));

/** So many ticks of a busy machine share a store: a source begins a new one about as often. */
const TICKS_OF_STORE = 60;

/** A busy machine: stacks that never come again. */
function busyTick(maker: StoreMaker, second: number, stacks: number, frames: number): Tick {
  const counts: StackCount[] = Array.from({ length: stacks }, (_, i) => ({
    stack: {
      outcome: "complete",
      frames: Array.from(
        { length: frames },
        (_, f) => FRAMES[(i * 31 + f * 7 + second) % 5000] ?? { function: NO_FRAMES },
      ),
    },
    task: task(1000 + (i % 50), "cc1plus", { tid: 5000 + i }),
    count: 1,
  }));
  return makeTick(counts, { time: second * 1000, intervalSeconds: 1 }, maker);
}

test("ten minutes of a busy machine stay within their bound", async () => {
  const history = new History();
  const maker = new StoreMaker();
  for (let second = 0; second < 700; second++) {
    if (second % TICKS_OF_STORE === 0) maker.renew();
    history.push(busyTick(maker, second, 200, 30));
    await someTurns();
  }
  expect(history.length).toBeGreaterThanOrEqual(600);
  expect(history.bytes).toBeLessThan(24e6);
});

test("a flood of stacks is bounded by memory, and leaves more than the moment", async () => {
  const history = new History();
  const maker = new StoreMaker();
  const stores = new Set<Store>();
  for (let second = 0; second < 100; second++) {
    // Sixty thousand frames a second: the store is full every few ticks.
    const tick = busyTick(maker, second, 1000, 60);
    stores.add(tick.store);
    history.push(tick);
    expect(history.bytes).toBeLessThan(24e6);
    await setImmediate();
  }
  expect(stores.size).toBeGreaterThan(15);
  expect(history.length).toBeGreaterThan(15);
  expect(history.length).toBeLessThan(100);
  expect(history.at(0)?.counts).toHaveLength(1000);
  const tiny = new History({ seconds: 600, bytes: 1 });
  for (let second = 0; second < 3; second++) tiny.push(busyTick(maker, second, 10, 10));
  expect(tiny.length).toBe(1);
});

test("a sliding tree is the tree of its window, whatever was added and taken out", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 30 }), fc.boolean(), (count, bottomUp) => {
      const generator = new TickGenerator();
      const history = new History();
      const sliding = new Covered(() => new CallTree(SHOW, bottomUp), true);
      let tick: Tick | undefined;
      for (let i = 0; i < count; i++) {
        tick = generator.next();
        history.push(tick);
        sliding.update(history, tick.time - 10_000, tick, 1e9);
      }
      if (!tick) return;
      const fresh = new CallTree(SHOW, bottomUp);
      for (const one of history.last(10, tick)) fresh.add(one, 1);
      const walk = (tree: CallTree, node: number): unknown[] => [
        tree.path(node),
        tree.total(node),
        tree.self(node),
        tree.childrenByName(node).map((child) => walk(tree, child)),
      ];
      expect(walk(sliding.sum, ROOT)).toEqual(walk(fresh, ROOT));
      expect(sliding.sum.samples).toBe(aggregate(history.last(10, tick), SHOW).samples);
    }),
    { numRuns: 12 },
  );
});

test("a tree knows parents, shares, and its hottest path", () => {
  const maker = new TickMaker();
  const [a, b] = [maker.stack(["n:leaf", "n:mid", "n:main"]), maker.stack(["n:other", "n:main"])];
  const one = task(1, "x");
  const tick = makeTick([
    { stack: a, task: one, count: 3 },
    { stack: b, task: one, count: 1 },
  ]);
  const tree = new CallTree(SHOW, false);
  tree.add(tick, 1);
  const [main = 0] = tree.children(ROOT);
  expect(tree.functionOf(main).name).toBe("main");
  expect([tree.total(main), tree.self(main)]).toEqual([4, 0]);
  const names = trunk(tree, 9).map((path) => tree.functionOf(tree.find(path) ?? 0).name);
  expect(names).toEqual(["main", "mid", "leaf"]);
  const up = new CallTree(SHOW, true);
  up.add(tick, 1);
  expect(up.children(ROOT).map((node) => up.functionOf(node).name)).toEqual(["leaf", "other"]);
});

test("sums over a stretch are those of its ticks, a part at a time", () => {
  const generator = new TickGenerator();
  const history = new History();
  const ticks = Array.from({ length: 40 }, () => generator.next());
  for (const tick of ticks) history.push(tick);
  const last = ticks.at(-1) as Tick;
  const from = (ticks[9] as Tick).time;
  const covered = new Covered(() => new FunctionSums((tick) => aggregate([tick], SHOW)), false);
  let steps = 0;
  while (!covered.update(history, from, last, 300)) steps++;
  expect(steps).toBeGreaterThan(3);
  const all = aggregate(ticks.slice(10), SHOW);
  expect(covered.sum.samples).toBe(all.samples);
  expect(covered.seconds).toBe(30);
  for (const row of all.functions) {
    expect(covered.sum.of(row.function.id)).toMatchObject({ self: row.self, total: row.total });
  }
  // Back in time: only what was then.
  covered.update(history, from, ticks[19] as Tick, 1e9);
  expect(covered.sum.samples).toBe(aggregate(ticks.slice(10, 20), SHOW).samples);
});

test("sums since the start keep the functions with the most samples where there are very many", () => {
  const maker = new StoreMaker();
  const stacks = new TickMaker();
  const many = Array.from({ length: 20_001 }, (_, i) => ({
    stack: stacks.stack([`n:made_${i}`]),
    task: task(1, "x"),
    count: i === 7 ? 1000 : 1,
  }));
  const sums = new FunctionSums((tick) => aggregate([tick], SHOW));
  sums.add(makeTick(many.slice(1), { time: 1000 }, maker), 1);
  sums.forgetLeast();
  const now = aggregate([makeTick([], { time: 2000 }, maker)], SHOW);
  expect(sums.rows(now)).toHaveLength(20_000);
  sums.add(makeTick(many.slice(0, 1), { time: 2000 }, maker), 1);
  sums.forgetLeast();
  const rows = sums.rows(now);
  expect(rows).toHaveLength(10_000);
  expect(rows.find((row) => row.function.name === "made_7")).toMatchObject({ total: 1000 });
  expect(sums.samples).toBe(21_000);
});

test("sums since the start keep fewer functions where their names are long", () => {
  const maker = new StoreMaker();
  const stacks = new TickMaker();
  const many = Array.from({ length: 8_000 }, (_, i) => ({
    stack: stacks.stack([`n:${`made_${i}`.padEnd(512, "_")}`]),
    task: task(1, "x"),
    count: 1 + i,
  }));
  const sums = new FunctionSums((tick) => aggregate([tick], SHOW));
  const now = aggregate([makeTick([], { time: 2000 }, maker)], SHOW);
  sums.add(makeTick(many.slice(0, 7_000), { time: 1000 }, maker), 1);
  sums.forgetLeast();
  expect(sums.rows(now)).toHaveLength(7_000);
  sums.add(makeTick(many.slice(7_000), { time: 2000 }, maker), 1);
  sums.forgetLeast();
  const rows = sums.rows(now);
  expect(rows).toHaveLength(3_906);
  expect(Math.min(...rows.map((row) => row.total))).toBe(8_000 - 3_905);
});

test("history lines stand still within a stretch and step by doublings", () => {
  expect([0, 0.1, 0.5, 0.9, 1.7, 100].map((share) => level(share, 8))).toEqual([0, 1, 2, 3, 4, 8]);
  expect(drawTrail([undefined, 0, 0.5, 100], ASCII_GLYPHS)).toBe("  :#");
  const maker = new TickMaker();
  const stack = maker.stack(["n:f"]);
  const { id = 0 } = stack.frames[0]?.function ?? {};
  const history = new History();
  const trails = new Trails(history, (tick) => aggregate([tick], SHOW));
  const lines: string[] = [];
  for (let second = 1; second <= 8; second++) {
    const counts = [{ stack, task: task(1, "x"), count: 1 }];
    const tick = makeTick(counts, { time: second * 1000, intervalSeconds: 1 });
    history.push(tick);
    trails.update(tick);
    lines.push(drawTrail(trails.shares("self", id, 4), ASCII_GLYPHS));
  }
  expect(lines).toEqual(["   #", "   #", "   #", "  ##", "  ##", "  ##", "  ##", " ###"]);
  expect(trails.shares("pids", 1, 1)).toEqual([100]);
});
