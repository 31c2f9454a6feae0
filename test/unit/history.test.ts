import fc from "fast-check";
import { expect, test } from "vitest";
import { aggregate } from "../../src/model/aggregate.ts";
import { CallTree, ROOT, trunk } from "../../src/model/call-tree.ts";
import { Covered } from "../../src/model/covered.ts";
import { FunctionSums } from "../../src/model/function-sums.ts";
import { History } from "../../src/model/history.ts";
import { Trails } from "../../src/model/trails.ts";
import { ASCII_GLYPHS } from "../../src/text/format.ts";
import { drawTrail, level } from "../../src/text/trail.ts";
import type { FunctionInfo, StackCount, Tick } from "../../src/tick/tick.ts";
import { TickGenerator } from "../screen/generate.ts";
import { makeTick, TickMaker, task } from "../support/ticks.ts";

const SHOW = { kernel: true, nativeFrames: false };
const plain = ({ counts }: Tick) =>
  Array.from(counts, ({ stack, task: one, count }) => ({
    frames: stack.frames.map(({ function: info, line }) => [info.id, line]),
    outcome: stack.outcome,
    one,
    count,
  }));

test("a tick that was packed comes back as it was", () => {
  const generator = new TickGenerator();
  const history = new History();
  const ticks = Array.from({ length: 90 }, () => generator.next());
  for (const tick of ticks) history.push(tick);
  expect(history.length).toBe(90);
  for (const [i, tick] of ticks.entries()) {
    const back = history.at(i) as Tick;
    expect(plain(back)).toEqual(plain(tick));
    expect(back.metrics).toBe(tick.metrics);
    expect(history.placeAfter(tick.time)).toBe(i + 1);
  }
  expect(history.at(0)).not.toBe(ticks[0]);
  expect(history.at(89)).toBe(ticks[89]);
  const shown = ticks[80] as Tick;
  expect(history.last(10, shown).map(({ time }) => time)).toEqual(
    ticks.slice(71, 81).map(({ time }) => time),
  );
});

const FUNCTIONS = Array.from({ length: 5000 }, (_, id) => ({
  id,
  runtime: "native" as const,
  name: `f${id}`,
  module: "m",
}));

/** A busy machine: stacks that never come again. */
function busyTick(second: number, stacks: number, frames: number): Tick {
  const counts: StackCount[] = Array.from({ length: stacks }, (_, i) => ({
    stack: {
      id: second * stacks + i,
      outcome: "complete",
      frames: Array.from({ length: frames }, (_, f) => ({
        function: FUNCTIONS[(i * 31 + f * 7 + second) % 5000] as FunctionInfo,
      })),
    },
    task: task(1000 + (i % 50), "cc1plus", { tid: 5000 + i }),
    count: 1,
  }));
  return makeTick(counts, { time: second * 1000, intervalSeconds: 1 });
}

test("ten minutes of a busy machine stay within their bound", () => {
  const history = new History();
  for (let second = 0; second < 700; second++) history.push(busyTick(second, 200, 30));
  expect(history.length).toBeGreaterThanOrEqual(600);
  expect(history.bytes).toBeLessThan(24e6);
  const flood = new History({ seconds: 600, bytes: 1e6 });
  for (let second = 0; second < 400; second++) flood.push(busyTick(second, 200, 30));
  expect(flood.bytes).toBeLessThan(2e6);
  expect(flood.length).toBeGreaterThan(15);
  expect(flood.at(0)?.counts).toHaveLength(200);
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

test("history lines stand still within a stretch and step by doublings", () => {
  expect([0, 0.1, 0.5, 0.9, 1.7, 100].map((share) => level(share, 8))).toEqual([0, 1, 2, 3, 4, 8]);
  expect(drawTrail([undefined, 0, 0.5, 100], ASCII_GLYPHS)).toBe("  :#");
  const maker = new TickMaker();
  const stack = maker.stack(["n:f"]);
  const history = new History();
  const trails = new Trails(history, (tick) => aggregate([tick], SHOW));
  const lines: string[] = [];
  for (let second = 1; second <= 8; second++) {
    const counts = [{ stack, task: task(1, "x"), count: 1 }];
    const tick = makeTick(counts, { time: second * 1000, intervalSeconds: 1 });
    history.push(tick);
    trails.update(tick);
    lines.push(drawTrail(trails.shares("self", 0, 4), ASCII_GLYPHS));
  }
  expect(lines).toEqual(["   #", "   #", "   #", "  ##", "  ##", "  ##", "  ##", " ###"]);
  expect(trails.shares("pids", 1, 1)).toEqual([100]);
});
