/** What a refresh adds to a store, made and put together again: everything that was counted comes out as it went in. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { DeltaWriter, TickAssembler, type TickDelta } from "../../../src/tick/delta.ts";
import { FIRST_FUNCTION, Functions, NO_FRAMES, STAND_INS } from "../../../src/tick/functions.ts";
import { EVERY_RUNTIME, PLACES } from "../../../src/tick/runtimes.ts";
import type { Frame } from "../../../src/tick/store.ts";
import { type FunctionInfo, OUTCOMES, type Task, type Tick } from "../../../src/tick/tick.ts";
import { makeTick, type StackCount, stackCounts, task } from "../../support/ticks.ts";

const info = (number: number): FunctionInfo => ({
  id: FIRST_FUNCTION + number,
  runtime: EVERY_RUNTIME[number % EVERY_RUNTIME.length] ?? "native",
  name: `function ${number}`,
  module: "program",
});

const { counts: _counts, store: _store, ...header } = makeTick([]);
const worker = task(1, "worker");

const buffersOf = ({ columns, counts, others = [] }: TickDelta): ArrayBuffer[] =>
  [columns, counts, ...others].flatMap((one) => Object.values(one).map(({ buffer }) => buffer));

/** As it arrives where the sender has nothing of it any more. */
const sent = (delta: TickDelta): TickDelta =>
  structuredClone(delta, { transfer: buffersOf(delta) });

/** So many frames fill a store. */
const TOO_MANY_FRAMES = 100_001;

function fill(writer: DeltaWriter): void {
  for (let i = 0; i < TOO_MANY_FRAMES; i++) writer.frame(FIRST_FUNCTION);
}

test("frames carry what they say beside their function", () => {
  const writer = new DeltaWriter();
  const id = FIRST_FUNCTION;
  const frames = [writer.frame(id + 1), writer.frame(id, { line: 7, note: "match" })];
  frames.push(writer.frame(id), writer.frame(id, { line: 0, body: "match", folded: true }));
  writer.count(writer.stack(frames, 2), writer.task(worker), 9);
  const made = new TickAssembler().assemble(sent(writer.take(header, [info(0), info(1)])));
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

test("what is new comes once", () => {
  const writer = new DeltaWriter();
  const assembler = new TickAssembler();
  const leaf = writer.frame(FIRST_FUNCTION, { note: "text" });
  const outer = writer.frame(FIRST_FUNCTION + 1);
  writer.count(writer.stack([leaf, outer], 0), writer.task(worker), 1);
  const first = assembler.assemble(writer.take(header, [info(0), info(1)]));
  const ended = { ...worker, comm: "renamed" };
  writer.count(writer.stack([leaf, outer], 0), writer.task({ ...worker }), 2);
  writer.count(writer.stack([outer], 0), writer.task(ended), 3);
  const delta = writer.take(header, []);
  expect(delta).toMatchObject({ renewed: false, texts: [], tasks: [ended] });
  const lengths = Object.entries(delta.columns).filter(([, column]) => column.length > 0);
  // A stack that ends in a node of another one brings nothing but itself.
  expect(lengths.map(([name, { length }]) => [name, length])).toEqual([
    ["stackLeaves", 1],
    ["stackOutcomes", 1],
    ["stackWaits", 1],
  ]);
  const second = assembler.assemble(delta);
  expect(second.store).toBe(first.store);
  expect(second.counts.stacks[0]).toBe(first.counts.stacks[0]);
  expect(second.counts.tasks[0]).toBe(first.counts.tasks[0]);
  expect(stackCounts(second).map((one) => [one.stack.frames.length, one.task, one.count])).toEqual([
    [2, worker, 2],
    [1, ended, 3],
  ]);
});

test("a function that was never sent is shown as none, not as another", () => {
  const writer = new DeltaWriter();
  writer.count(writer.stack([writer.frame(99)], 0), writer.task(worker), 1);
  const tick = new TickAssembler().assemble(writer.take(header, [info(0)]));
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
      const writer = new DeltaWriter();
      const assembler = new TickAssembler();
      const made: { tick: Tick; expected: StackCount[] }[] = [];
      let numbers = new Map<Frame, number>();
      let functions = 0;
      let generation = 0;
      for (const { counts, isFilled } of list) {
        if (generation !== writer.generation) numbers = new Map();
        generation = writer.generation;
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
        // Functions of the later refreshes come later.
        const more = functions === 0 ? 10 : 1;
        const news = Array.from({ length: more }, (_, i) => info(functions + i));
        functions += more;
        const delta = writer.take(header, news);
        expect(writer.generation).toBe(generation + (isFilled ? 1 : 0));
        made.push({ tick: assembler.assemble(sent(delta)), expected });
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
  const ways: ((writer: DeltaWriter, i: number) => void)[] = [
    (writer, i) => writer.task(task(i, "x")),
    (writer, i) => writer.stack([i], 0),
    (writer, i) => writer.frame(FIRST_FUNCTION, { note: `note ${i}` }),
  ];
  for (const way of ways) {
    const writer = new DeltaWriter();
    for (let i = 0; i < TOO_MANY_FRAMES; i++) way(writer, i);
    expect(writer.take(header, []).renewed).toBe(true);
    expect(writer.generation).toBe(1);
    expect(writer.take(header, []).renewed).toBe(true);
    expect(writer.take(header, []).renewed).toBe(false);
    expect(writer.generation).toBe(1);
  }
});

test("a machine of very many threads does not begin a new store with each refresh", () => {
  const writer = new DeltaWriter();
  const refresh = (): boolean => {
    const stack = writer.stack([FIRST_FUNCTION], 0);
    for (let tid = 1; tid <= 30_000; tid++) writer.count(stack, writer.task(task(tid, "x")), 1);
    return writer.take(header, []).renewed;
  };
  expect([refresh(), refresh(), refresh()]).toEqual([true, false, false]);
  expect(writer.generation).toBe(0);
});
