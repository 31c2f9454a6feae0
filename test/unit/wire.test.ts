/** Ticks across threads: what is sent once is found again as long as it may be referred to. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { ArchivedNumbers } from "../../src/model/archived-numbers.ts";
import { FrameNumbers } from "../../src/tick/frame-numbers.ts";
import { StackTable } from "../../src/tick/stack-table.ts";
import { type FunctionInfo, OUTCOMES, type Stack } from "../../src/tick/tick.ts";
import { TickAssembler, type TickDelta } from "../../src/tick/wire.ts";
import { makeTick, task } from "../support/ticks.ts";

const info = (id: number): FunctionInfo => ({
  id,
  runtime: "native",
  name: `function ${id}`,
  module: "program",
});

const { counts: _, ...header } = makeTick([]);
const worker = task(1, "worker");

/** A stack as what it says, however it holds that. */
const plainly = (stack: Stack | undefined) =>
  stack && { id: stack.id, outcome: stack.outcome, frames: stack.frames };

/** The stack of a number, if it was counted. */
const stackOf = (table: StackTable, id: number): Stack | undefined =>
  [...table.counts(Uint32Array.of(id, 0, 1), [worker])][0]?.stack;

/** Frames 0 to 50, each of a function of its own; every seventh says more than that. */
function someFrames(): FrameNumbers {
  const numbers = Array.from({ length: 51 }, (_, i) => i);
  const frames = new FrameNumbers();
  frames.learn(numbers.map(info));
  const details = new Map(numbers.filter((i) => i % 7 === 6).map((line) => [line, { line }]));
  frames.add(0, { functions: Uint32Array.from(numbers), details });
  return frames;
}

function delta(parts: Partial<TickDelta>): TickDelta {
  const none = () => new Uint32Array(0);
  return {
    header,
    functions: [],
    firstFrame: 0,
    frames: { functions: none(), details: new Map() },
    stacks: none(),
    counts: none(),
    tasks: [worker],
    forgottenStacks: 0,
    forgottenFrames: 0,
    ...parts,
  };
}

test("frames carry what they say beside their function", () => {
  const details = new Map([[1, { line: 7, note: "match" }]]);
  const made = new TickAssembler().assemble(
    delta({
      functions: [info(0), info(1)],
      firstFrame: 100,
      frames: { functions: Uint32Array.of(1, 0, 0), details },
      stacks: Uint32Array.of(5, 2, 3, 100, 101, 102),
      counts: Uint32Array.of(5, 0, 9),
    }),
  );
  expect([...made.counts]).toEqual([
    {
      stack: {
        id: 5,
        outcome: "broken",
        frames: [
          { function: info(1) },
          { function: info(0), line: 7, note: "match" },
          { function: info(0) },
        ],
      },
      task: worker,
      count: 9,
    },
  ]);
});

test("stacks of plain frames keep them when these are forgotten, and make them once", () => {
  const assembler = new TickAssembler();
  const frames = { functions: Uint32Array.of(1, 0), details: new Map() };
  const made = assembler.assemble(
    delta({
      functions: [info(0), info(1)],
      firstFrame: 7,
      frames,
      stacks: Uint32Array.of(5, 0, 3, 7, 8, 7),
      counts: Uint32Array.of(5, 0, 2),
    }),
  );
  assembler.assemble(delta({ forgottenStacks: 6, forgottenFrames: 9, firstFrame: 9 }));
  const [stack] = [...made.counts].map((one) => one.stack);
  const [first, second] = [{ function: info(1) }, { function: info(0) }];
  expect(plainly(stack)).toEqual({ id: 5, outcome: "complete", frames: [first, second, first] });
  expect(stack?.frames).toBe(stack?.frames);
  expect([...made.counts][0]?.stack).toBe(stack);
});

test("a frame of a function that was never sent is an error", () => {
  const frames = { functions: Uint32Array.of(3), details: new Map() };
  expect(() => new TickAssembler().assemble(delta({ frames }))).toThrow("unknown function");
});

test("stacks are found by number until they are forgotten, however they came", () => {
  const known = someFrames();
  const frameOf = (id: number) => ({ function: info(id), ...(id % 7 === 6 ? { line: id } : {}) });
  const stack = fc.record({
    outcome: fc.nat(OUTCOMES.length - 1),
    frames: fc.array(fc.nat(50), { maxLength: 8 }),
  });
  const refresh = fc.record({
    stacks: fc.array(stack, { maxLength: 6 }),
    forgotten: fc.nat(8),
  });
  fc.assert(
    fc.property(fc.nat(1000), fc.array(refresh, { maxLength: 12 }), (start, refreshes) => {
      const table = new StackTable(known);
      const sent = new Map<number, { outcome: number; frames: number[] }>();
      let next = start;
      let forgotten = start;
      for (const { stacks, forgotten: more } of refreshes) {
        const words = stacks.flatMap(({ outcome, frames }) => {
          sent.set(next, { outcome, frames });
          return [next++, outcome, frames.length, ...frames];
        });
        table.add(Uint32Array.from(words));
        for (let id = forgotten; id < next; id++) {
          const { outcome = 0, frames = [] } = sent.get(id) ?? {};
          expect(plainly(stackOf(table, id))).toEqual({
            id,
            outcome: OUTCOMES[outcome],
            frames: frames.map(frameOf),
          });
        }
        expect(stackOf(table, next)).toBeUndefined();
        forgotten = Math.min(next, forgotten + more);
        table.endRefresh(forgotten);
      }
    }),
  );
});

test("a hot stack that says more than its functions is the same object in ticks that follow each other", () => {
  const table = new StackTable(someFrames());
  table.add(Uint32Array.of(1, 0, 1, 6));
  const first = stackOf(table, 1);
  expect(first).toBeDefined();
  table.endRefresh(0);
  expect(stackOf(table, 1)).toBe(first);
  table.endRefresh(0);
  table.endRefresh(0);
  expect(stackOf(table, 1)).not.toBe(first);
});

test("numbers in the archive are those that were put there, in less room", async () => {
  const values = Uint32Array.from({ length: 50_000 }, (_, i) => (i % 30) + (i % 7) * 70_000);
  const archived = new ArchivedNumbers(values);
  expect(archived.values()).toEqual(values);
  await expect.poll(() => archived.bytes).toBeLessThan(values.byteLength / 4);
  expect(archived.values()).toEqual(values);
});
