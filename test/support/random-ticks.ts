/** Ticks at random that hold whatever views and outputs must agree on, over two stores and more. */
import fc from "fast-check";
import { EVERY_RUNTIME } from "../../src/tick/runtimes.ts";
import type { Frame } from "../../src/tick/store.ts";
import { OUTCOMES, type Tick } from "../../src/tick/tick.ts";
import { functionInfo, makeTick, type Stack, type StackCount, StoreMaker, task } from "./ticks.ts";

/** Three functions of each runtime. Their names tell them apart, some have no module. */
const FUNCTIONS = Array.from({ length: 3 * EVERY_RUNTIME.length }, (_, i) => {
  const runtime = EVERY_RUNTIME[i % EVERY_RUNTIME.length] ?? "native";
  const number = Math.floor(i / EVERY_RUNTIME.length);
  const module = runtime === "kernel" ? "kernel" : ["", "/opt/app", "lib.so"][number];
  return functionInfo({ runtime, name: `${runtime}${number}`, module: module ?? "" });
});

const frame = fc
  .record({
    at: fc.nat(FUNCTIONS.length - 1),
    line: fc.option(fc.integer({ min: 1, max: 3 }), { nil: undefined }),
    note: fc.option(fc.constantFrom("add", "match"), { nil: undefined }),
    folded: fc.boolean(),
  })
  .map(({ at, line, note, folded }): Frame => {
    const info = FUNCTIONS[at % FUNCTIONS.length];
    if (!info) throw new Error("there is no such function");
    const isNative = info.runtime === "native";
    return {
      function: info,
      ...(line === undefined || isNative ? {} : { line }),
      ...(note === undefined ? {} : { note }),
      // Only native frames stand for an interpreter.
      ...(folded && isNative ? { folded: true } : {}),
    };
  });

const isKernel = (one: Frame): boolean => one.function.runtime === "kernel";
const isFolded = (one: Frame): boolean => one.folded === true;

/** Frames of every kind, of the kernel alone, of the interpreter alone, and none. */
const frames = fc.oneof(
  { weight: 6, arbitrary: fc.array(frame, { maxLength: 8 }) },
  { weight: 1, arbitrary: fc.array(frame, { maxLength: 12 }).map((all) => all.filter(isKernel)) },
  {
    weight: 1,
    arbitrary: fc
      .array(frame, { maxLength: 16 })
      .map((all) => all.filter((one) => isFolded(one) || isKernel(one))),
  },
  { weight: 1, arbitrary: fc.array(frame, { maxLength: 20 }).map((all) => all.filter(isFolded)) },
);

const stack = fc.record({
  frames,
  outcome: fc.constantFrom(...OUTCOMES),
}) satisfies fc.Arbitrary<Stack>;

/** Threads of four processes; the fourth has the pid of the third, and began later. */
const thread = fc
  .record({ process: fc.nat(3), thread: fc.nat(1) })
  .map(({ process, thread: number }) => {
    const pid = Math.min(process, 2) + 1;
    const named = { tid: 10 * pid + number, thread: `thread${number}` };
    return task(pid, `program${pid % 2}`, { ...named, uid: pid, startTime: process });
  });

/** A refresh before it is in a store. */
export interface RandomRefresh {
  readonly counts: readonly StackCount[];
  readonly missed: number;
  /** Whether a new store begins with it. */
  readonly isRenewed: boolean;
}

/** A stack of a thread is counted once in a refresh. */
function oncePerThread(counts: readonly StackCount[]): StackCount[] {
  const pairs = new Map<string, StackCount>();
  for (const one of counts) {
    const key = JSON.stringify([one.stack, one.task]);
    pairs.set(key, { ...one, count: one.count + (pairs.get(key)?.count ?? 0) });
  }
  return [...pairs.values()];
}

/** Refreshes that share stacks. */
export const refreshes: fc.Arbitrary<RandomRefresh[]> = fc
  .array(stack, { minLength: 1, maxLength: 10 })
  .chain((stacks) =>
    fc.array(
      fc.record({
        counts: fc
          .array(fc.record({ stack: fc.constantFrom(...stacks), task: thread, count: fc.nat(9) }), {
            maxLength: 12,
          })
          .map(oncePerThread),
        missed: fc.nat(60),
        isRenewed: fc.boolean(),
      }),
      { minLength: 1, maxLength: 4 },
    ),
  );

/** The ticks of some refreshes, 100 samples a second, each made when it is asked for. */
export function* ticksOf(list: readonly RandomRefresh[]): Generator<Tick> {
  const maker = new StoreMaker();
  let time = 1e12;
  for (const { counts, missed, isRenewed } of list) {
    if (isRenewed) maker.renew();
    time += 1000;
    yield makeTick(counts, { time, missed, frequency: 100, cpus: 1, intervalSeconds: 1 }, maker);
  }
}
