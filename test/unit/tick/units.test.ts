/** Weights that are no samples: a made-up source of waiting threads, of allocations, of what nobody knows yet. */
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { Profile } from "pprof-format";
import { describe, expect, test } from "vitest";
import { aggregate } from "../../../src/model/aggregate.ts";
import { CallTree } from "../../../src/model/call-tree.ts";
import { foldedSink } from "../../../src/output/folded.ts";
import { jsonSink } from "../../../src/output/json.ts";
import { pprofFile } from "../../../src/output/pprof.ts";
import { runPlain } from "../../../src/output/run.ts";
import { RunProfile } from "../../../src/output/run-profile.ts";
import type { Sink, SinkOptions } from "../../../src/output/sink.ts";
import { speedscopeFile } from "../../../src/output/speedscope.ts";
import { textSink } from "../../../src/output/text.ts";
import type { TickSource } from "../../../src/tick/source.ts";
import type { Tick } from "../../../src/tick/tick.ts";
import { inFolder, plain, readRecording, writeRecording } from "../../support/recordings.ts";
import { type SpeedscopeFile, speedscopeErrors } from "../../support/speedscope.ts";
import { makeTick, StoreMaker, TickMaker, task } from "../../support/ticks.ts";

const OPTIONS: SinkOptions = {
  sort: "self",
  rows: 0,
  kernel: true,
  nativeFrames: false,
  counters: [],
};

/** Two refreshes whose weights are in some unit; the sum of each is more than 32 bits hold. */
function ticksIn(event: string, unit: string): Tick[] {
  const make = new TickMaker();
  const lock = make.stack(["n:futex_wait@libc.so.6", "n:worker@app", "n:main@app"]);
  const read = make.stack(["k:io_schedule@kernel", "n:read@libc.so.6", "n:main@app"]);
  const counts = [
    { stack: lock, task: task(7, "app"), count: 5_250_000_000 },
    { stack: read, task: task(8, "app"), count: 1_749_999_999 },
    { stack: read, task: task(9, "job"), count: 1 },
  ];
  const maker = new StoreMaker();
  return [1, 2].map((second) =>
    makeTick(counts, { event, unit, frequency: 0, time: second * 1000 }, maker),
  );
}

const SUM = 7_000_000_000;

/** A source that brings these ticks and ends. */
const sourceOf = (ticks: readonly Tick[]): TickSource => ({
  counters: [],
  subscribe: (listener) => {
    for (const tick of ticks) listener({ tick });
    return () => {};
  },
  setInterval: () => {},
  ended: Promise.resolve(),
});

/** What a sink prints of a source. */
async function printed(sink: Sink, ticks: readonly Tick[]): Promise<string> {
  let text = "";
  await runPlain({
    source: sourceOf(ticks),
    sink,
    iterations: ticks.length,
    signal: new AbortController().signal,
    write: (more) => {
      text += more;
    },
    warn: () => {},
  });
  return text;
}

function profileOf(ticks: readonly Tick[]): RunProfile {
  const profile = new RunProfile(OPTIONS);
  for (const tick of ticks) profile.add(tick);
  return profile;
}

/** The unit, what the text says of an amount, and what the files of profilers call it. */
const UNITS = [
  ["wait", "nanoseconds", "7.00 s", "time", "nanoseconds", "nanoseconds"],
  ["allocation", "bytes", "7000000000 bytes", "space", "bytes", "bytes"],
  ["page-fault", "events", "7000000000 events", "events", "count", "none"],
  ["weather", "raindrops", "7000000000 raindrops", "raindrops", "count", "none"],
] as const;

describe.each(UNITS)("%s in %s", (event, unit, amount, type, pprofUnit, speedscopeUnit) => {
  const ticks = ticksIn(event, unit);

  test("the text says how much, and no share of CPUs", async () => {
    const [first = "", ...lines] = (await printed(textSink(OPTIONS), ticks)).split("\n");
    expect(first).toContain(`${event} `);
    expect(first).toContain(`  ${amount} in 1.0 s`);
    expect(first).not.toContain("busy");
    expect(first).not.toContain("samples");
    expect(lines.find((line) => line.includes("futex_wait"))).toMatch(/^ +75\.0 +75\.0 native/);
    expect(lines.find((line) => line.includes("io_schedule"))).toMatch(/^ +25\.0 +25\.0 kernel/);
  });

  test("an empty table says what there is in all", () => {
    const words = { hasTaskTerms: true, hasFunctionTerms: false, hasWaitTerms: false };
    const filter = { text: "none", asksForIdle: false, ...words };
    const tests = { matchesTask: () => false, matchesFunction: () => true };
    const nobody = { ...filter, ...tests, matchesWait: () => true };
    const text = textSink({ ...OPTIONS, filter: nobody }).tick(ticks[0] as Tick);
    expect(text).toContain(`# nothing matched none in 1.0 s; ${amount} in all`);
  });

  test("JSON names its events and their unit in a form of its own", async () => {
    const lines = (await printed(jsonSink(OPTIONS), ticks)).trim().split("\n");
    expect(lines).toHaveLength(2);
    for (const line of lines) {
      const snapshot = JSON.parse(line);
      expect(snapshot).toMatchObject({
        schema: "polytop.snapshot/2",
        event,
        events: [{ name: event, unit, period: 1 }],
        samples: SUM,
        runtimes: { perl: 0, dotnet: 0, native: 5_250_000_000, kernel: 1_750_000_000 },
        stacks: { unique: 2, complete: SUM, guessed: 0, truncated: 0, broken: 0 },
      });
      expect(snapshot.functions[0]).toMatchObject({ name: "futex_wait", self: 5_250_000_000 });
      expect(snapshot.processes.map(({ samples }: { samples: number }) => samples)).toEqual([
        5_250_000_000, 1_749_999_999, 1,
      ]);
    }
  });

  test("collapsed stacks have the weights", async () => {
    expect(await printed(foldedSink(OPTIONS), ticks)).toBe(
      [
        "app;main;read;io_schedule_[k] 3499999998",
        "app;main;worker;futex_wait 10500000000",
        "job;main;read;io_schedule_[k] 2",
        "",
      ].join("\n"),
    );
  });

  test("pprof has one value for each stack, of its type and unit", () => {
    const decoded = Profile.decode(gunzipSync(pprofFile(profileOf(ticks))));
    const text = (at: number | bigint): string => decoded.stringTable.strings[Number(at)] ?? "";
    expect(decoded.sampleType.map((one) => [text(one.type), text(one.unit)])).toEqual([
      [type, pprofUnit],
    ]);
    expect(text(decoded.defaultSampleType)).toBe(type);
    expect(decoded.sample.map(({ value }) => value.map(Number))).toEqual([
      [10_500_000_000],
      [3_499_999_998],
      [2],
    ]);
  });

  test("speedscope has the same sums in its own word for the unit", () => {
    const file = JSON.parse(speedscopeFile(profileOf(ticks))) as SpeedscopeFile;
    expect(speedscopeErrors(file)).toEqual([]);
    expect(file.profiles.map((one) => [one.name, one.unit, one.endValue])).toEqual([
      ["all of web-3", speedscopeUnit, 2 * SUM],
      ["app", speedscopeUnit, 2 * SUM - 2],
      ["job", speedscopeUnit, 2],
    ]);
  });

  test("a recording keeps unit and weights", () => {
    const { ticks: read, problem } = inFolder((folder) => {
      writeRecording(join(folder, "a"), ticks);
      return readRecording(join(folder, "a"));
    });
    expect(problem).toBeUndefined();
    expect(read.map(plain)).toEqual(ticks.map(plain));
    expect(read.map((tick) => [tick.event, tick.unit])).toEqual([
      [event, unit],
      [event, unit],
    ]);
  });

  test("lists and trees have the weights", () => {
    const all = aggregate(ticks, OPTIONS);
    const tree = new CallTree(OPTIONS, false);
    for (const tick of ticks) tree.add(tick, 1);
    expect([all.samples, tree.samples, tree.total(0)]).toEqual([2 * SUM, 2 * SUM, 2 * SUM]);
    const lock = all.functions.find((row) => row.function.name === "futex_wait");
    expect(lock).toMatchObject({ self: 10_500_000_000, pids: [{ pid: 7, count: 10_500_000_000 }] });
  });
});

test("samples are what they were: a form without units, seconds of CPUs, two values", () => {
  const make = new TickMaker();
  const counts = [{ stack: make.stack(["n:main@app"]), task: task(7, "app"), count: 99 }];
  const tick = makeTick(counts);
  const snapshot = JSON.parse(jsonSink(OPTIONS).tick(tick));
  expect(snapshot.schema).toBe("polytop.snapshot/1");
  expect(snapshot).not.toHaveProperty("events");
  expect(textSink(OPTIONS).tick(tick)).toContain(
    "cpu-clock 99 Hz  2 CPUs 50 % busy  99 samples in",
  );
  const decoded = Profile.decode(gunzipSync(pprofFile(profileOf([tick]))));
  expect(decoded.sample.map(({ value }) => value.map(Number))).toEqual([[99, 1e9]]);
});
