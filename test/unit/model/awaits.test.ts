/** Those that await, in place of the scheduler's frames: totals, callers, trees and exports, and the other way. */
import { gunzipSync } from "node:zlib";
import { Profile } from "pprof-format";
import { expect, test } from "vitest";
import { aggregate } from "../../../src/model/aggregate.ts";
import { CallTree, ROOT } from "../../../src/model/call-tree.ts";
import { functionDetail } from "../../../src/model/detail.ts";
import { foldedSink } from "../../../src/output/folded.ts";
import { jsonSink } from "../../../src/output/json.ts";
import { pprofFile } from "../../../src/output/pprof.ts";
import { RunProfile } from "../../../src/output/run-profile.ts";
import { speedscopeFile } from "../../../src/output/speedscope.ts";
import { inFolder, readRecording, writeRecording } from "../../support/recordings.ts";
import { COUNTERS, makeTick, TickMaker, task } from "../../support/ticks.ts";

const make = new TickMaker();
const SCHEDULER = ["-d:Box.MoveNext@Core", "-d:Dispatch@Core", "-n:start_thread@libc.so.6"];
const HELPER = ["d:Spin@app", "d:Helper.MoveNext@app"];

/** Two endpoints that await one helper, 60 and 40 times, and a call of one of them that is no await. */
const tick = makeTick([
  {
    stack: make.stack([...HELPER, "~d:Sixty@app", "=d:[thread pool]", ...SCHEDULER]),
    task: task(1, "web"),
    count: 60,
  },
  {
    stack: make.stack([...HELPER, "~d:Forty@app", "=d:[thread pool]", ...SCHEDULER]),
    task: task(1, "web"),
    count: 40,
  },
  {
    stack: make.stack(["d:Spin@app", "d:Forty@app", "d:Main@app"]),
    task: task(1, "web"),
    count: 10,
  },
]);

const SHOW = { kernel: true, nativeFrames: false };
const PHYSICAL = { ...SHOW, physical: true };
const sinkOptions = { ...SHOW, sort: "self", rows: 0, counters: COUNTERS, stacks: 5 } as const;

test("awaiting functions count in totals, and nothing in self changes", () => {
  const rows = aggregate([tick], SHOW).functions;
  const of = (name: string) => rows.find((row) => row.function.name === name);
  expect(of("Sixty")).toMatchObject({ self: 0, total: 60, awaits: true });
  // It calls as well.
  expect(of("Forty")).toMatchObject({ self: 0, total: 50 });
  expect(of("Forty")?.awaits).toBeUndefined();
  expect(of("[thread pool]")).toMatchObject({ self: 0, total: 100 });
  expect(of("Dispatch")).toBeUndefined();
  expect(of("Spin")).toMatchObject({ self: 110, total: 110 });
});

test("the physical stack has the scheduler's frames, and no other", () => {
  const rows = aggregate([tick], PHYSICAL).functions;
  const totals = new Map(rows.map((row) => [row.function.name, row.total]));
  expect(totals).toEqual(
    new Map([
      ["Spin", 110],
      ["Helper.MoveNext", 100],
      ["Box.MoveNext", 100],
      ["Dispatch", 100],
      ["start_thread", 100],
      ["Forty", 10],
      ["Main", 10],
    ]),
  );
});

test("the callers of the helper are those that await it", () => {
  const id = make.function("dotnet", "Helper.MoveNext", "app").id;
  const callers = functionDetail([tick], id, SHOW).callers;
  expect(callers.map(({ function: it, awaits, count }) => [it?.name, awaits, count])).toEqual([
    ["Sixty", true, 60],
    ["Forty", true, 40],
  ]);
  const physical = functionDetail([tick], id, PHYSICAL).callers;
  expect(physical.map(({ function: it, count }) => [it?.name, count])).toEqual([
    ["Box.MoveNext", 100],
  ]);
});

test("a tree tells an awaiting function from the same one that calls", () => {
  const tree = new CallTree(SHOW, true);
  tree.add(tick, 1);
  const [spin = ROOT] = tree.children(ROOT);
  const names = tree
    .children(spin)
    .flatMap((child) => [
      [tree.functionOf(child).name, tree.awaits(child), tree.total(child)],
      ...tree
        .children(child)
        .map((it) => [tree.functionOf(it).name, tree.awaits(it), tree.total(it)]),
    ]);
  expect(names).toEqual([
    ["Helper.MoveNext", false, 100],
    ["Sixty", true, 60],
    ["Forty", true, 40],
    ["Forty", false, 10],
    ["Main", false, 10],
  ]);
});

test("collapsed stacks mark them, and leave the scheduler's row alone", () => {
  const sink = foldedSink(sinkOptions);
  sink.tick(tick);
  expect(sink.end().trim().split("\n")).toEqual([
    "web;Main;Forty;Spin 10",
    "web;[thread pool];Forty_[a];Helper.MoveNext;Spin 40",
    "web;[thread pool];Sixty_[a];Helper.MoveNext;Spin 60",
  ]);
  const physical = foldedSink({ ...sinkOptions, physical: true });
  physical.tick(tick);
  expect(physical.end()).toContain(
    "web;start_thread;Dispatch;Box.MoveNext;Helper.MoveNext;Spin 100\n",
  );
});

test("frames in JSON say that they await", () => {
  const { functions } = JSON.parse(jsonSink(sinkOptions).tick(tick));
  const [stack] = functions.find(({ name }: { name: string }) => name === "Sixty").stacks;
  expect(stack.frames).toEqual([
    { runtime: "dotnet", name: "Spin", module: "app" },
    { runtime: "dotnet", name: "Helper.MoveNext", module: "app" },
    { runtime: "dotnet", name: "Sixty", module: "app", awaiting: true },
    { runtime: "dotnet", name: "[thread pool]", module: "" },
  ]);
});

test("profiles say it as they can", () => {
  const profile = new RunProfile(SHOW);
  profile.add(tick);
  const decoded = Profile.decode(gunzipSync(pprofFile(profile)));
  const text = (index: number | bigint): string => decoded.stringTable.strings[Number(index)] ?? "";
  const awaited = decoded.sample.map(({ label }) =>
    label.some(({ key, str }) => text(key) === "async" && text(str) === "awaited"),
  );
  expect(awaited).toEqual([true, true, false]);
  const { shared } = JSON.parse(speedscopeFile(profile));
  const names = shared.frames.map(({ name }: { name: string }) => name);
  expect(names).toContain("~Forty");
  expect(names).toContain("Forty");
});

test("a recording keeps both pictures", () => {
  const [again] = inFolder((folder) => {
    writeRecording(`${folder}/r`, [tick]);
    return readRecording(`${folder}/r`).ticks;
  });
  if (!again) throw new Error("no tick");
  for (const choice of [SHOW, PHYSICAL]) {
    const totals = (one: typeof tick) =>
      aggregate([one], choice)
        .functions.map((row) => `${row.function.name} ${row.total} ${row.awaits ?? false}`)
        .sort();
    expect(totals(again)).toEqual(totals(tick));
  }
});
