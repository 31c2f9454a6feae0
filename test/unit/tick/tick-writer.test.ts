/** Ticks of what a source counts: everything that was counted comes out as it went in, also of a store that ended. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { FIRST_FUNCTION, Functions, NO_FRAMES, STAND_INS } from "../../../src/tick/functions.ts";
import { EVERY_RUNTIME, PLACES } from "../../../src/tick/runtimes.ts";
import type { Frame } from "../../../src/tick/store.ts";
import { type FunctionInfo, OUTCOMES, type Task, type Tick } from "../../../src/tick/tick.ts";
import { TickWriter } from "../../../src/tick/tick-writer.ts";
import { makeTick, type StackCount, stackCounts, task } from "../../support/ticks.ts";

const info = (number: number): FunctionInfo => ({
  id: FIRST_FUNCTION + number,
  runtime: EVERY_RUNTIME[number % EVERY_RUNTIME.length] ?? "native",
  name: `function ${number}`,
  module: "program",
});

const { counts: _counts, store: _store, ...header } = makeTick([]);
const worker = task(1, "worker");

/** So many frames fill a store. */
const TOO_MANY_FRAMES = 100_001;

function fill(writer: TickWriter): void {
  for (let i = 0; i < TOO_MANY_FRAMES; i++) writer.frame(FIRST_FUNCTION);
}

test("frames carry what they say beside their function", () => {
  const writer = new TickWriter();
  writer.addFunctions([info(0), info(1)]);
  const id = FIRST_FUNCTION;
  const frames = [writer.frame(id + 1), writer.frame(id, { line: 7, note: "match" })];
  frames.push(writer.frame(id), writer.frame(id, { line: 0, body: "match", folded: true }));
  writer.count(writer.stack(frames, 2), writer.task(worker), 9);
  const made = writer.take(header);
  expect(stackCounts(made)).toEqual([
    {
      stack: {
        outcome: "broken",
        frames: [
          { function: info(1) },
          { function: info(0), line: 7, note: "match" },
          { function: info(0) },
          { function: info(0), line: 0, body: "match", folded: true },
        ],
      },
      task: worker,
      count: 9,
    },
  ]);
  expect(made).toMatchObject(header);
});

test("a store holds everything once", () => {
  const writer = new TickWriter();
  writer.addFunctions([info(0), info(1)]);
  const leaf = writer.frame(FIRST_FUNCTION, { note: "text" });
  const outer = writer.frame(FIRST_FUNCTION + 1, { body: "text" });
  writer.count(writer.stack([leaf, outer], 0), writer.task(worker), 1);
  const first = writer.take(header);
  const { nodeCount } = first.store;
  const ended = { ...worker, comm: "renamed" };
  writer.count(writer.stack([leaf, outer], 0), writer.task({ ...worker }), 2);
  writer.count(writer.stack([outer], 0), writer.task(ended), 3);
  const second = writer.take(header);
  expect(second.store).toBe(first.store);
  expect(second.store.texts).toEqual(["text"]);
  expect(second.store.tasks).toEqual([worker, ended]);
  // A stack that ends in a node of another one brings nothing but itself.
  expect([second.store.stackCount, second.store.nodeCount]).toEqual([2, nodeCount]);
  expect(second.counts.stacks[0]).toBe(first.counts.stacks[0]);
  expect(second.counts.tasks[0]).toBe(first.counts.tasks[0]);
  expect(stackCounts(second).map((one) => [one.stack.frames.length, one.task, one.count])).toEqual([
    [2, worker, 2],
    [1, ended, 3],
  ]);
});

test("a function that was never added is shown as none, not as another", () => {
  const writer = new TickWriter();
  writer.addFunctions([info(0)]);
  writer.count(writer.stack([writer.frame(99)], 0), writer.task(worker), 1);
  const tick = writer.take(header);
  expect(stackCounts(tick)[0]?.stack.frames).toEqual([{ function: NO_FRAMES }]);
});

test("functions are found by their ids, and each has the place of its runtime", () => {
  const functions = new Functions();
  const infos = Array.from({ length: 3000 }, (_, i) => info(i));
  functions.append(infos.slice(0, 700));
  functions.append(infos.slice(700));
  for (const one of [...STAND_INS, ...infos]) {
    expect(functions.info(one.id)).toBe(one);
    expect(functions.runtimes[one.id]).toBe(PLACES[one.runtime]);
  }
  expect(functions.length).toBe(FIRST_FUNCTION + 3000);
});

/** Frames by numbers of functions, some of which say more. */
const frame = fc
  .record({
    number: fc.nat(9),
    line: fc.option(fc.nat(1000), { nil: undefined }),
    note: fc.option(fc.constantFrom("", "add", "match"), { nil: undefined }),
    body: fc.option(fc.constantFrom("tier 0", "add"), { nil: undefined }),
    folded: fc.boolean(),
  })
  .map(
    ({ number, line, note, body, folded }): Frame => ({
      function: info(number),
      ...(line === undefined ? {} : { line }),
      ...(note === undefined ? {} : { note }),
      ...(body === undefined ? {} : { body }),
      ...(folded ? { folded } : {}),
    }),
  );

const refreshes = fc.array(frame, { minLength: 1, maxLength: 12 }).chain((frames) =>
  fc.array(
    fc.record({
      counts: fc.array(
        fc.record({
          frames: fc.array(fc.constantFrom(...frames), { maxLength: 10 }),
          outcome: fc.constantFrom(...OUTCOMES),
          tid: fc.nat(3),
          comm: fc.constantFrom("a", "b"),
          count: fc.oneof(fc.nat(100), fc.maxSafeNat()),
        }),
        { maxLength: 8 },
      ),
      isFilled: fc.nat(3).map((it) => it === 0),
    }),
    { maxLength: 6 },
  ),
);

test("whatever is counted is in the tick, now and later, over all stores", () => {
  fc.assert(
    fc.property(refreshes, (list) => {
      const writer = new TickWriter();
      const made: { tick: Tick; expected: StackCount[] }[] = [];
      let numbers = new Map<Frame, number>();
      let functions = 0;
      let { store } = writer;
      for (const { counts, isFilled } of list) {
        if (store !== writer.store) numbers = new Map();
        store = writer.store;
        // Functions of the later refreshes come later.
        const more = functions === 0 ? 10 : 1;
        writer.addFunctions(Array.from({ length: more }, (_, i) => info(functions + i)));
        functions += more;
        // A stack of a thread is counted once in a refresh.
        const pairs = new Map<string, StackCount>();
        for (const { frames, outcome, tid, comm, count } of counts) {
          const whose: Task = task(tid, comm);
          const numbered = frames.map((one) => {
            const { function: named, ...detail } = one;
            const number = numbers.get(one) ?? writer.frame(named.id, detail);
            numbers.set(one, number);
            return number;
          });
          const stack = writer.stack(numbered, OUTCOMES.indexOf(outcome));
          expect(writer.stack(numbered, OUTCOMES.indexOf(outcome))).toBe(stack);
          const thread = writer.task(whose);
          writer.count(stack, thread, count);
          const before = pairs.get(`${stack} ${thread}`)?.count ?? 0;
          const sum = { stack: { frames, outcome }, task: whose, count: before + count };
          pairs.set(`${stack} ${thread}`, sum);
        }
        const expected = [...pairs.values()];
        if (isFilled) fill(writer);
        const tick = writer.take(header);
        expect(tick.store).toBe(store);
        expect(writer.store !== store).toBe(isFilled);
        made.push({ tick, expected });
      }
      for (const { tick, expected } of made) {
        expect(stackCounts(tick)).toEqual(expected);
        expect(tick.store.functions).toBe(made[0]?.tick.store.functions);
      }
      const renewals = list.slice(0, -1).filter(({ isFilled }) => isFilled).length;
      expect(new Set(made.map(({ tick }) => tick.store)).size).toBe(
        made.length > 0 ? renewals + 1 : 0,
      );
    }),
    { numRuns: 60 },
  );
});

test("a new store begins when threads, stacks or texts are many, too", () => {
  const ways: ((writer: TickWriter, i: number) => void)[] = [
    (writer, i) => writer.task(task(i, "x")),
    (writer, i) => writer.stack([i], 0),
    (writer, i) => writer.frame(FIRST_FUNCTION, { note: `note ${i}` }),
  ];
  for (const way of ways) {
    const writer = new TickWriter();
    for (let i = 0; i < TOO_MANY_FRAMES; i++) way(writer, i);
    const [full, next, last] = [writer.take(header), writer.take(header), writer.take(header)];
    expect(next.store).not.toBe(full.store);
    expect(last.store).toBe(next.store);
  }
});

test("a machine of very many threads does not begin a new store with each refresh", () => {
  const writer = new TickWriter();
  const refresh = (): Tick => {
    const stack = writer.stack([FIRST_FUNCTION], 0);
    for (let tid = 1; tid <= 30_000; tid++) writer.count(stack, writer.task(task(tid, "x")), 1);
    return writer.take(header);
  };
  expect(new Set([refresh(), refresh(), refresh()].map(({ store }) => store)).size).toBe(1);
});
