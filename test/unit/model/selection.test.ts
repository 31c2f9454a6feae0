/** What is shown and what it adds up to, against the same said in the plainest words over objects. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { type Aggregate, aggregate } from "../../../src/model/aggregate.ts";
import { type Choice, KEY_PLACE, KEY_RUNTIME, selectionOf } from "../../../src/model/selection.ts";
import { SORT_KEYS, sortFunctions, topFunctions } from "../../../src/model/sort.ts";
import { threadRows } from "../../../src/model/threads.ts";
import { LIMITS } from "../../../src/recording/format.ts";
import { KERNEL_ONLY, NO_FRAMES } from "../../../src/tick/functions.ts";
import { EVERY_RUNTIME, RUNTIME_ROWS, type Runtime } from "../../../src/tick/runtimes.ts";
import type { Frame } from "../../../src/tick/store.ts";
import type { FunctionInfo, Tick } from "../../../src/tick/tick.ts";
import { type RandomRefresh, refreshes, ticksOf } from "../../support/random-ticks.ts";
import { filterOf, type Stack, type StackCount } from "../../support/ticks.ts";

/** The frames of a stack that are shown. */
function shownFrames({ frames }: Stack, { kernel, nativeFrames }: Choice): readonly Frame[] {
  const isKernel = (frame: Frame): boolean => frame.function.runtime === "kernel";
  const shown = frames.filter((frame) =>
    isKernel(frame) ? kernel : nativeFrames || !frame.folded,
  );
  if (shown.length > 0) return shown;
  if (frames.length === 0) return [{ function: NO_FRAMES }];
  return frames.some(isKernel) ? [{ function: KERNEL_ONLY }] : frames;
}

/** The counts that are chosen. */
const chosen = (counts: readonly StackCount[], { filter }: Choice): StackCount[] =>
  counts.filter((one) => one.count > 0 && (!filter || filter.matchesTask(one.task)));

const sum = (counts: readonly StackCount[]): number =>
  counts.reduce((all, { count }) => all + count, 0);

/** Lists by a key, in the order in which keys are met. */
function groups<T>(list: readonly T[], keyOf: (one: T) => string): T[][] {
  const made = new Map<string, T[]>();
  for (const one of list) {
    const group = made.get(keyOf(one)) ?? [];
    made.set(keyOf(one), group);
    group.push(one);
  }
  return [...made.values()];
}

const isComplete = ({ stack }: StackCount): boolean => stack.outcome === "complete";
const isGuessed = ({ stack }: StackCount): boolean => stack.outcome === "guessed";
const named = ({ runtime, name, module }: FunctionInfo): string => `${runtime} ${name} ${module}`;

/** Rows of functions, with all notes that a row may have. */
function functionRows(counts: readonly StackCount[], choice: Choice) {
  const shown = counts.map((one) => ({ ...one, frames: shownFrames(one.stack, choice) }));
  const infos = new Map(
    shown.flatMap(({ frames }) => frames.map((it) => [named(it.function), it.function] as const)),
  );
  const { filter } = choice;
  const wanted = [...infos].filter(([, info]) => !filter || filter.matchesFunction(info));
  return wanted.map(([key, info]) => {
    const isOf = (frame: Frame | undefined): boolean =>
      frame !== undefined && named(frame.function) === key;
    const having = shown.filter(({ frames }) => frames.some(isOf));
    const innermost = having.filter(({ frames }) => isOf(frames[0]));
    // The line of a stack is that of the function's innermost frame.
    const lined = having.flatMap((one) => {
      const line = one.frames.find(isOf)?.line;
      return line === undefined ? [] : [{ ...one, line }];
    });
    const [busiest] = groups(lined, ({ line }) => String(line)).sort(
      (a, b) => sum(b) - sum(a) || (a[0]?.line ?? 0) - (b[0]?.line ?? 0),
    );
    // A pid that was used again is another process.
    const pids = groups(having, ({ task }) => `${task.pid} ${task.startTime}`).map((list) => ({
      pid: list[0]?.task.pid ?? 0,
      count: sum(list),
    }));
    return {
      runtime: info.runtime,
      name: info.name,
      module: info.module,
      self: sum(innermost),
      total: sum(having),
      line: busiest?.[0]?.line,
      notes: [...new Set(innermost.flatMap(({ frames }) => frames[0]?.note ?? []))].sort(),
      pids: pids.sort((a, b) => b.count - a.count || a.pid - b.pid),
      processCount: pids.length,
    };
  });
}

/** What some counts amount to; `stores` tells those of each store apart. */
function reference(stores: readonly (readonly StackCount[])[], choice: Choice) {
  const counts = stores.flatMap((list) => chosen(list, choice));
  const leafOf = ({ stack }: StackCount): Runtime =>
    shownFrames(stack, choice)[0]?.function.runtime ?? "native";
  const holds = ({ stack }: StackCount, runtime: Runtime): boolean =>
    stack.frames.some((frame) => frame.function.runtime === runtime);
  const processes = groups(counts, ({ task }) => `${task.pid} ${task.startTime}`).map((list) => ({
    pid: list[0]?.task.pid,
    startTime: list[0]?.task.startTime,
    samples: sum(list),
    complete: sum(list.filter(isComplete)),
    guessed: sum(list.filter(isGuessed)),
    runtimes: EVERY_RUNTIME.filter((runtime) =>
      list.some(
        (one) =>
          leafOf(one) === runtime || (RUNTIME_ROWS[runtime].isManaged && holds(one, runtime)),
      ),
    ),
  }));
  const ofOutcome = (outcome: string): number =>
    sum(counts.filter(({ stack }) => stack.outcome === outcome));
  const unique = stores.map(
    (list) => new Set(chosen(list, choice).map(({ stack }) => JSON.stringify(stack))).size,
  );
  return {
    samples: sum(counts),
    functions: functionRows(counts, choice).sort((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1)),
    processes: processes.sort(byPid),
    outcomes: {
      complete: ofOutcome("complete"),
      guessed: ofOutcome("guessed"),
      truncated: ofOutcome("truncated"),
      broken: ofOutcome("broken"),
    },
    runtimes: EVERY_RUNTIME.map((it) => sum(counts.filter((one) => leafOf(one) === it))),
    health: EVERY_RUNTIME.map((it) => {
      const held = counts.filter((one) => holds(one, it));
      return {
        samples: sum(held),
        complete: sum(held.filter(isComplete)),
        guessed: sum(held.filter(isGuessed)),
      };
    }),
    uniqueStacks: unique.reduce((a, b) => a + b, 0),
  };
}

interface Named {
  readonly runtime: Runtime;
  readonly name: string;
  readonly module: string;
}
const nameOf = ({ runtime, name, module }: Named): string => `${runtime} ${name} ${module}`;

interface Lived {
  readonly pid: number | undefined;
  readonly startTime: number | undefined;
}
const byPid = (a: Lived, b: Lived): number =>
  (a.pid ?? 0) - (b.pid ?? 0) || (a.startTime ?? 0) - (b.startTime ?? 0);

/** The same of an aggregate. */
const said = (all: Aggregate) => ({
  samples: all.samples,
  functions: all.functions
    .map(({ function: info, self, total, line, pids, processCount }) => {
      const { runtime, name, module } = info;
      return { runtime, name, module, self, total, line, pids: [...pids], processCount };
    })
    .sort((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1)),
  processes: all.processes
    .map(({ pid, startTime, samples, complete, guessed, runtimes }) => {
      return { pid, startTime, samples, complete, guessed, runtimes: [...runtimes] };
    })
    .sort(byPid),
  outcomes: all.outcomes,
  runtimes: EVERY_RUNTIME.map((it) => all.runtimes[it]),
  health: EVERY_RUNTIME.map((it) => all.health[it]),
  uniqueStacks: all.uniqueStacks,
});

/** The counts of refreshes, those of one store together. */
function byStore(list: readonly RandomRefresh[]): StackCount[][] {
  const stores: StackCount[][] = [];
  for (const [i, { counts, isRenewed }] of list.entries()) {
    if (isRenewed || i === 0) stores.push([]);
    stores.at(-1)?.push(...counts);
  }
  return stores;
}

const CHOICES: readonly (readonly [string, Choice])[] = [
  ["everything", { kernel: true, nativeFrames: true }],
  ["without the kernel", { kernel: false, nativeFrames: true }],
  ["without native frames", { kernel: true, nativeFrames: false }],
  ["without the kernel and native frames", { kernel: false, nativeFrames: false }],
  ["some processes", { kernel: true, nativeFrames: true, filter: filterOf("!pid:2") }],
  ["a language", { kernel: true, nativeFrames: false, filter: filterOf("lang:perl") }],
  [
    "a language of one process",
    { kernel: false, nativeFrames: false, filter: filterOf("lang:native pid:1") },
  ],
];

test.each(CHOICES)("an aggregate is what its stacks say, as its store grows: %s", (_, choice) => {
  fc.assert(
    fc.property(refreshes, (list) => {
      const ticks: Tick[] = [];
      for (const tick of ticksOf(list)) {
        ticks.push(tick);
        const { functions, ...expected } = reference(byStore(list.slice(0, ticks.length)), choice);
        const all = aggregate(ticks, choice);
        expect(said(all)).toEqual({
          ...expected,
          functions: functions.map(({ notes: _notes, ...row }) => row),
        });
        for (const row of all.functions) {
          const { notes = [] } = functions.find((it) => nameOf(it) === named(row.function)) ?? {};
          if (notes.length === 0) expect(row.note).toBeUndefined();
          else expect(notes).toContain(row.note);
        }
        expect(all.seconds).toBe(ticks.length);
      }
    }),
  );
});

test.each(CHOICES)("a selection shows what is left of stacks: %s", (_, choice) => {
  fc.assert(
    fc.property(refreshes, (list) => {
      const selection = selectionOf(choice);
      for (const [i, tick] of [...ticksOf(list)].entries()) {
        const expected = chosen(list[i]?.counts ?? [], choice);
        const found = [...selection.counts([tick])];
        expect(found.map(({ task, weight }) => [task, weight])).toEqual(
          expected.map(({ task, count }) => [task, count]),
        );
        for (const [at, { shown, stack }] of found.entries()) {
          const frames = shown.frames(stack).map((frame) => tick.store.frame(frame));
          expect(frames).toEqual(shownFrames((expected[at] as StackCount).stack, choice));
          expect(tick.store.frame(shown.leaf(stack))).toEqual(frames[0]);
          const { filter } = choice;
          const isNamed = frames.some((it) => filter?.matchesFunction(it.function));
          expect(shown.wants(stack)).toBe(!filter?.hasFunctionTerms || isNamed);
        }
      }
    }),
  );
});

test("the key of a frame has room for every runtime, and for as many functions as a recording may have", () => {
  expect(EVERY_RUNTIME.length).toBeLessThanOrEqual(KEY_RUNTIME + 1);
  expect(LIMITS.functions).toBeLessThan(KEY_PLACE);
});

test("threads add up to their processes, and know the runtimes of their leaves", () => {
  const choice = { kernel: false, nativeFrames: false };
  fc.assert(
    fc.property(refreshes, (list) => {
      const ticks = [...ticksOf(list)];
      const counts = list.flatMap((one) => chosen(one.counts, choice));
      const expected = groups(
        counts,
        ({ task }) => `${task.pid} ${task.startTime} ${task.thread}`,
      ).map((group) => ({
        tids: [...new Set(group.map(({ task }) => task.tid))],
        samples: sum(group),
        complete: sum(group.filter(isComplete)),
        runtimes: EVERY_RUNTIME.filter((runtime) =>
          group.some(({ stack }) => shownFrames(stack, choice)[0]?.function.runtime === runtime),
        ),
      }));
      const rows = [...threadRows(ticks, choice).values()].flat();
      const keyOf = (row: object): string => JSON.stringify(row);
      expect(
        rows
          .map(({ tids, samples, complete, runtimes }) => ({ tids, samples, complete, runtimes }))
          .map(keyOf)
          .sort(),
      ).toEqual(expected.map(keyOf).sort());
    }),
  );
});

test("the first rows are the first of all rows", () => {
  fc.assert(
    fc.property(refreshes, (list) => {
      const ticks = [...ticksOf(list)];
      const choice = { kernel: true, nativeFrames: true };
      const { functions } = aggregate(ticks, choice);
      for (const key of SORT_KEYS) {
        const sorted = sortFunctions(functions, key, false);
        for (const rows of [1, 2, 5]) {
          const first = sorted.slice(0, rows);
          expect(topFunctions(functions, key, rows)).toEqual(first);
          const reversed = sortFunctions(functions, key, true).slice(0, rows);
          expect(topFunctions(functions, key, rows, true)).toEqual(reversed);
          if (key !== "self" && key !== "total") continue;
          const ranked = aggregate(ticks, { ...choice, first: { by: key, count: rows } });
          expect(ranked.functions).toHaveLength(first.length);
          const top = topFunctions(ranked.functions, key, rows);
          expect(top.map((row) => row.function)).toEqual(first.map((row) => row.function));
        }
      }
    }),
  );
});
