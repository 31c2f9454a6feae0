import { describe, expect, test } from "vitest";
import { aggregate } from "../../../../src/model/aggregate.ts";
import { parseFilter } from "../../../../src/model/filter/filter.ts";
import { isWaiting, ofActivity } from "../../../../src/model/waits/activity.ts";
import { threadStates, waitAges } from "../../../../src/model/waits/states.ts";
import { deadlocks, ringText } from "../../../../src/model/waits/stuck.ts";
import { jsonSink } from "../../../../src/output/json.ts";
import { textSink } from "../../../../src/output/text.ts";
import type { FunctionInfo, Task, Tick } from "../../../../src/tick/tick.ts";
import { TickWriter } from "../../../../src/tick/tick-writer.ts";
import { REASONS, WAIT_IDLE, type Waiting } from "../../../../src/tick/waits.ts";
import { makeTick, TickMaker, task } from "../../../support/ticks.ts";

const maker = new TickMaker();
const CHOICE = { kernel: true, nativeFrames: false };
const lock = REASONS.indexOf("lock");
const poll = REASONS.indexOf("poll");
const D = 0x80 | REASONS.indexOf("child");

/** Two threads that hold each other's lock, one that runs, one that waits for work, one in state D. */
function machine(): Tick {
  const texts = ["n:lock_wait@libc.so.6", "n:work@app", "n:poll@libc.so.6", "n:loop@app"];
  const functions: FunctionInfo[] = texts.map((text, i) => ({
    ...maker.frame(text).function,
    id: 2 + i,
  }));
  const writer = new TickWriter();
  writer.addFunctions(functions);
  const [wait = 0, work = 0, polled = 0, loop = 0] = functions.map(({ id }) => writer.frame(id));
  const threads = [11, 12, 13, 14, 15].map((tid): Task => task(10, "app", { tid }));
  const [one = 0, two = 0, three = 0, four = 0, five = 0] = threads.map((it) => writer.task(it));
  const held = writer.stack([wait, work], 0, lock);
  const idle = writer.stack([polled, loop], 0, poll | WAIT_IDLE);
  const stuck = writer.stack([work], 0, D);
  const runs = writer.stack([work], 0);
  writer.count(held, one, 1e9);
  writer.count(held, two, 1e9);
  writer.count(runs, three, 10);
  writer.count(idle, four, 0.9e9);
  writer.count(stuck, five, 1e9);
  const waiting: Waiting = {
    processes: [
      { pid: 10, startTime: 1, threads: 5, running: 0.1e9, runnable: 0.2e9, blocked: 4.7e9 },
    ],
    longWaits: [
      { task: one, stack: held, seconds: 5, owner: 12 },
      { task: two, stack: held, seconds: 3, owner: 11 },
      { task: five, stack: stuck, seconds: 70, owner: 0 },
    ],
    sweeps: 10,
    lost: 5,
  };
  const header = { ...makeTick([]), frequency: 100, samples: 10, missed: 1, intervalSeconds: 1 };
  const { counts: _counts, store: _store, ...rest } = header;
  return writer.take({ ...rest, event: "cpu-clock", unit: "samples", waiting });
}

const tick = machine();

describe("activities", () => {
  test("what runs is counted in samples", () => {
    expect(ofActivity(tick)).toMatchObject({ event: "cpu-clock", unit: "samples", samples: 10 });
  });

  test("what waits is counted in nanoseconds", () => {
    const waits = ofActivity(tick, "waiting");
    expect(waits).toMatchObject({ event: "wait", unit: "nanoseconds", samples: 3.9e9, missed: 5 });
    expect(waits.frequency).toBe(10);
    expect(isWaiting(waits)).toBe(true);
  });

  test("of both, a sample stands for its period", () => {
    expect(ofActivity(tick, "both")).toMatchObject({
      event: "wall",
      samples: 4e9,
      missed: 1e7 + 5,
    });
  });

  test("a tick is made once, and one without waits is what it was", () => {
    expect(ofActivity(tick, "waiting")).toBe(ofActivity(tick, "waiting"));
    const plain = makeTick([]);
    expect(ofActivity(plain)).toBe(plain);
  });
});

describe("the picture", () => {
  const waits = ofActivity(tick, "waiting");
  const rows = (filter: string, more = {}) => {
    const parsed = parseFilter(filter);
    if ("error" in parsed) throw new Error(parsed.error);
    const sums = aggregate([waits], { ...CHOICE, filter: parsed.filter, ...more });
    return sums.functions
      .filter(({ self }) => self > 0)
      .map((row) => [row.function.name, row.self, row.why]);
  };

  test("self is the innermost function of the application; idle waits are left out", () => {
    expect(rows("")).toEqual([["work", 3e9, "lock"]]);
    expect(rows("", { idle: true })).toContainEqual(["loop", 0.9e9, "poll"]);
  });

  test("filter words about waits choose samples", () => {
    expect(rows("why:lock")).toEqual([["work", 2e9, "lock"]]);
    expect(rows("why:lock,child")).toEqual([["work", 3e9, "lock"]]);
    expect(rows("!why:lock")).toEqual([["work", 1e9, "child"]]);
    expect(rows("state:idle")).toEqual([["loop", 0.9e9, "poll"]]);
    expect(rows("state:blocked")).toEqual([["work", 3e9, "lock"]]);
    expect(rows("state:runnable")).toEqual([]);
    expect(parseFilter("why:nonsense")).toMatchObject({ error: expect.stringContaining("one of") });
  });

  test("threads by state, exact but for the idle part", () => {
    const { threads, ...states } = threadStates(waits).all;
    expect(threads).toBe(5);
    for (const [state, amount] of Object.entries({
      running: 0.1,
      runnable: 0.2,
      blocked: 3.8,
      idle: 0.9,
    })) {
      expect(states).toHaveProperty(state, expect.closeTo(amount, 6));
    }
  });

  test("ages are of the longest wait", () => {
    expect([...waitAges(waits, CHOICE).values()]).toEqual([70]);
  });
});

describe("threads that are stuck", () => {
  const waitsOf = (owners: Readonly<Record<number, number>>) =>
    Object.entries(owners).map(([tid, owner], i) => ({ tid: Number(tid), owner, task: i }));
  const one = (_tid: number) => 1;
  const rings = (
    owners: Readonly<Record<number, number>>,
    { pidOf = one, seconds = 1, why = lock, alone = [] as number[] } = {},
  ) => {
    const waits = waitsOf(owners);
    const store = {
      tasks: waits.map(({ tid }) => task(pidOf(tid), "app", { tid })),
      waitOf: () => why,
    };
    return deadlocks(
      store,
      waits.map((it) => ({ task: it.task, stack: 0, seconds, owner: it.owner })),
      new Set(alone),
    );
  };

  test("rings of owners", () => {
    expect(rings({ 2: 1, 1: 2 })).toEqual([[1, 2]]);
    expect(rings({ 3: 1, 1: 2, 2: 3, 9: 3 })).toEqual([[1, 2, 3]]);
    expect(rings({ 5: 5 })).toEqual([[5]]);
    expect(rings({ 1: 2, 2: 3 })).toEqual([]);
    expect(rings({ 1: 2, 2: 1, 3: 4, 4: 3 })).toEqual([
      [1, 2],
      [3, 4],
    ]);
  });

  test("a number of another process owns nothing here", () => {
    expect(rings({ 1: 2, 2: 1 }, { pidOf: (tid) => tid })).toEqual([]);
  });

  test("a ring of waits that began a moment ago may be made of two moments", () => {
    expect(rings({ 1: 2, 2: 1 }, { seconds: 0.05 })).toEqual([]);
  });

  test("processes of one thread that wait for each other's file lock", () => {
    const files = { pidOf: (tid: number) => tid, why: REASONS.indexOf("file-lock") };
    expect(rings({ 1: 2, 2: 1 }, { ...files, alone: [1, 2] })).toEqual([[1, 2]]);
    expect(rings({ 1: 2, 2: 1 }, { ...files, alone: [1] })).toEqual([]);
    expect(rings({ 1: 1 }, { ...files, pidOf: one })).toEqual([]);
  });

  test("in words", () => {
    expect(ringText([1, 2])).toBe("1 ↔ 2");
    expect(ringText([1, 2, 3])).toBe("1 → 2 → 3 → 1");
    expect(ringText([1])).toBe("1 → 1");
    expect(ofActivity(tick, "waiting").notices).toEqual([
      "deadlock: 11 ↔ 12 of app (10)",
      "thread 15 of app in state D for over 1 min, in work",
    ]);
  });
});

describe("plain output", () => {
  const OPTIONS = { ...CHOICE, sort: "self", rows: 0, counters: [] } as const;
  const waits = ofActivity(tick, "waiting");

  test("the text has the threads, what they wait for and since when", () => {
    const text = textSink(OPTIONS).tick(waits);
    expect(text).toContain("threads 5: running 0.10, runnable 0.20, blocked 3.80, idle 0.90");
    expect(text).toMatch(/100 +100 +3\.00 lock +1:10 native work/);
  });

  test("JSON names the unit, the reasons and who is stuck", () => {
    expect(JSON.parse(jsonSink(OPTIONS).tick(waits))).toMatchObject({
      schema: "polytop.snapshot/2",
      events: [{ name: "wait", unit: "nanoseconds" }],
      samples: 3e9,
      functions: [{ name: "work", self: 3e9, why: "lock", ageSeconds: 70 }, {}],
      processes: [{ pid: 10, threads: 5, blocked: 3.8, idle: 0.9 }],
      waiting: { threads: 5, deadlocks: [[11, 12]], longWaits: [{ tid: 11, owner: 12 }, {}, {}] },
    });
  });
});
