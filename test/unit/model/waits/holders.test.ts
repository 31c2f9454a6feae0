import { stripVTControlCharacters } from "node:util";
import { expect, test } from "vitest";
import { ofActivity } from "../../../../src/model/waits/activity.ts";
import { holderIn, waitingThreads } from "../../../../src/model/waits/holders.ts";
import { makeTheme, NO_COLOURS } from "../../../../src/screen/theme.ts";
import { waitLines } from "../../../../src/screen/views/function-waits.ts";
import type { FunctionInfo, Tick } from "../../../../src/tick/tick.ts";
import { TickWriter } from "../../../../src/tick/tick-writer.ts";
import { REASONS, type Reason } from "../../../../src/tick/waits.ts";
import { makeTick, TickMaker, task } from "../../../support/ticks.ts";

const maker = new TickMaker();
const CHOICE = { kernel: true, nativeFrames: false };
const NAMES = {
  kernel: "k:futex_wait",
  lock: "n:pthread_mutex_lock@libc.so.6",
  write: "n:pthread_rwlock_wrlock@libc.so.6",
  want: "n:want@app",
  compute: "n:compute@app",
  flock: "n:flock@libc.so.6",
};
const functions: Record<keyof typeof NAMES, FunctionInfo> = Object.fromEntries(
  Object.entries(NAMES).map(([key, text], i) => [
    key,
    { ...maker.frame(text).function, id: 2 + i },
  ]),
) as Record<keyof typeof NAMES, FunctionInfo>;

/** Threads 11 and 12 want the mutex of 13, which runs; 14 waits for readers; 15 for a file that process 99 has locked. */
function machine(): Tick {
  const writer = new TickWriter();
  writer.addFunctions(Object.values(functions));
  const frames = (...keys: (keyof typeof NAMES)[]) =>
    keys.map((key) => writer.frame(functions[key].id));
  const wait = (reason: Reason): number => REASONS.indexOf(reason);
  const [one = 0, two = 0, three = 0, four = 0, five = 0] = [11, 12, 13, 14, 15].map((tid) =>
    writer.task(task(10, "app", { tid, thread: `thread-${tid}` })),
  );
  const held = writer.stack(frames("kernel", "lock", "want"), 0, wait("lock"));
  const readers = writer.stack(frames("kernel", "write", "want"), 0, wait("lock"));
  const file = writer.stack(frames("kernel", "flock", "want"), 0, wait("file-lock"));
  const runs = writer.stack(frames("kernel", "compute"), 0);
  const queues = writer.stack(frames("want"), 0, wait("cpu"));
  writer.count(held, one, 1e9);
  writer.count(held, two, 0.5e9);
  writer.count(runs, three, 90);
  writer.count(queues, three, 0.1e9);
  writer.count(readers, four, 1e9);
  writer.count(file, five, 1e9);
  const waiting = {
    processes: [],
    longWaits: [
      { task: one, stack: held, seconds: 65, owner: 13 },
      { task: two, stack: held, seconds: 0.5, owner: 13 },
      { task: four, stack: readers, seconds: 3, owner: 0 },
      { task: five, stack: file, seconds: 2, owner: 99 },
    ],
    sweeps: 10,
    lost: 0,
  };
  const { counts: _counts, store: _store, ...rest } = makeTick([]);
  const header = { ...rest, frequency: 100, event: "cpu-clock", unit: "samples", waiting };
  return writer.take(header);
}

const tick = machine();
const waits = ofActivity(tick, "waiting");
const found = waitingThreads(waits, functions.want.id, CHOICE);

test("threads, the longest wait first, with their place in the kernel", () => {
  expect(found.map((it) => [it.task.tid, it.seconds, it.kernel.join()])).toEqual([
    [11, 65, "futex_wait"],
    [14, 3, "futex_wait"],
    [15, 2, "futex_wait"],
    [12, 0.5, "futex_wait"],
    [13, undefined, ""],
  ]);
});

test("a holder that runs is told by its samples", () => {
  const [first] = found;
  expect(first?.holder).toMatchObject({ tid: 13, does: "runs", isProcess: false });
  expect(first?.holder?.stack.map(({ name }) => name)).toEqual(["compute"]);
  // What waits alone was collected: then the thread has no stack, and still runs.
  expect(holderIn(tick, 77, false)).toEqual({ tid: 77, isProcess: false, does: "runs", stack: [] });
});

test("a lock without an owner says why", () => {
  const of = (tid: number) => found.find(({ task: { tid: it } }) => it === tid);
  expect(of(14)?.whyNoHolder).toBe("readers hold it, who leave no number");
  expect(of(15)?.holder).toEqual({ tid: 99, isProcess: true, stack: [] });
  expect(of(13)?.whyNoHolder).toBeUndefined();
});

test("on the screen", () => {
  const theme = makeTheme(NO_COLOURS, false);
  const lines = waitLines(found, 100, 12, theme).map(stripVTControlCharacters);
  expect(lines).toEqual([
    " WAITING  5 threads in this refresh: lock, file lock, cpu queue, the longest for 1:05",
    "    1:05  11 thread-11             futex_wait",
    "          held by 13 thread-13, which runs: compute",
    "    0:03  14 thread-14             futex_wait",
    "          holder not known: readers hold it, who leave no number",
    "    0:02  15 thread-15             futex_wait",
    "          held by process 99, which was not met in this refresh",
    "   < 1 s  12 thread-12             futex_wait",
    "          held by 13 thread-13, which runs: compute",
    "   < 1 s  13 thread-13             not in the kernel",
  ]);
  expect(waitLines(found, 40, 5, theme).at(-1)).toBe("   and 4 more");
  expect(waitLines(found, 40, 5, theme).every((line) => line.length <= 48)).toBe(true);
  expect(waitLines([], 40, 5, theme)).toEqual([]);
});
