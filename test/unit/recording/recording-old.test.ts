/** Recordings of other versions: what an older polytop wrote is shown as it was, what a newer one says is not mistaken. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { jsonSink } from "../../../src/output/json.ts";
import { textSink } from "../../../src/output/text.ts";
import { ByteWriter } from "../../../src/recording/bytes.ts";
import { packChunk, prefix } from "../../../src/recording/chunks.ts";
import {
  FLAG_RENEWED,
  FRAME_ALWAYS,
  KIND_END,
  KIND_HEADER,
  KIND_TICKS,
  VERSION,
} from "../../../src/recording/format.ts";
import type { Tick } from "../../../src/tick/tick.ts";
import { root } from "../../support/polytop.ts";
import { HEADER, inFolder, plain, readRecording } from "../../support/recordings.ts";
import {
  functionInfo,
  makeTick,
  type Stack,
  stackCounts,
  TickMaker,
  task,
} from "../../support/ticks.ts";

/** The ticks of test/fixtures/recording-1.polytop; polytop 0.1.0 wrote them in version 1. */
function oldTicks(): Tick[] {
  const make = new TickMaker();
  const cart = make.frame("d:Shop.Cart`1.Total@Shop.Core");
  const reason = functionInfo({
    runtime: "native",
    name: "[native: no unwind row]",
    module: "",
    whyUnnamed: "no row",
  });
  const stacks: Stack[] = [
    {
      frames: [
        { ...make.frame("p:Ledger::Post::entry@/srv/ledger.pl:12"), note: "match" },
        make.frame("!n:Perl_runops@perl"),
        make.frame("n:main@perl"),
      ],
      outcome: "complete",
    },
    {
      frames: [
        { ...cart, body: "tier 1" },
        { ...cart, body: "tier 0" },
        make.frame("n:start_thread@libc.so.6"),
      ],
      outcome: "complete",
    },
    { frames: [make.frame("k:copy_page@kernel"), { function: reason }], outcome: "broken" },
    { frames: [], outcome: "truncated" },
  ];
  return Array.from({ length: 9 }, (_, i) =>
    makeTick(
      stacks.slice(i % 3).map((stack, at) => ({
        stack,
        task: task(7 + at, "größe", { tid: 70 + at + (i % 2), thread: "名前", startTime: 0.5 }),
        count: 1 + i * 100_000_000 * at,
      })),
      {
        time: 1e12 + i * 1000,
        intervalSeconds: 1 + i / 8,
        event: i < 5 ? "cpu-clock" : "cycles",
        pids: i === 3 ? [7, 8] : [],
        missed: i,
        metrics: i % 2 === 0 ? { SamplesTaken: i } : { SamplesTaken: i, Half: i / 2 },
        notices: i === 4 ? ["a fallback is in use"] : [],
      },
    ),
  );
}

test("version 1 is read as before: its weights are samples, and numbering begins anew twice", () => {
  const { ticks, problem } = readRecording(`${root}test/fixtures/recording-1.polytop`);
  expect(problem).toBeUndefined();
  expect(ticks.map(plain)).toEqual(oldTicks().map(plain));
  expect(ticks.map(({ unit }) => unit)).toEqual(Array(9).fill("samples"));
  const stores = [...new Set(ticks.map(({ store }) => store))];
  expect(stores.map((store) => ticks.filter((tick) => tick.store === store).length)).toEqual([
    5, 2, 2,
  ]);
  const functions = stackCounts(...ticks).flatMap(({ stack }) => stack.frames);
  const ids = functions.map(({ function: { runtime, name, id } }) => `${runtime} ${name} ${id}`);
  // A function keeps its id when numbering begins anew.
  expect(new Set(ids).size).toBe(7);
});

/** A recording of one tick with one sample of a function of runtime `number`, made by hand. */
function recordingOf(number: number, unit: string): Buffer {
  const out = new ByteWriter();
  const texts = ["loop", "app", "wait", unit, "web-3", "1"];
  out.uint(texts.length);
  for (const text of texts) out.text(text);
  // A function: runtime, name, module, no reason. A frame of it: no line, no note, no flag but the one that all have.
  for (const value of [1, number, 0, 1, 0]) out.uint(value);
  for (const value of [1, 0, 0, 0, FRAME_ALWAYS]) out.uint(value);
  // A stack: complete, on no other one, one frame. A thread.
  for (const value of [1, 0, 0, 1, 0]) out.uint(value);
  for (const value of [1, 7, 7, 1, 1, 1, 0, 5]) out.uint(value);
  out.number(70);
  // Nothing of its process.
  out.uint(0);
  // Time, interval, event, unit, frequency, CPUs, host, no pids.
  for (const value of [1e12, 1]) out.number(value);
  for (const value of [2, 3]) out.uint(value);
  out.number(99);
  for (const value of [2, 4, 0]) out.uint(value);
  // Sum and missed, own cost; no notices, a new list of no counters.
  for (const value of [5, 0, 0, 0, 0, 0]) out.number(value);
  for (const value of [0, 0, 0]) out.uint(value);
  // Nothing of waiting: no activity, no threads.
  for (const value of [0, 0]) out.uint(value);
  // One count: stack, thread, weight.
  out.uint(1);
  out.signed(0);
  out.signed(0);
  out.uint(5);
  // No events beside the CPU's time.
  out.uint(0);
  const chunk = (kind: number, data: Buffer, flags = 0) => packChunk({ kind, flags, data });
  return Buffer.concat([
    prefix(VERSION),
    chunk(KIND_HEADER, Buffer.from(JSON.stringify(HEADER))),
    chunk(KIND_TICKS, out.take(), FLAG_RENEWED),
    chunk(KIND_END, Buffer.from('{"ticks":1}')),
  ]);
}

const read = (bytes: Buffer) =>
  inFolder((folder) => {
    writeFileSync(join(folder, "a"), bytes);
    return readRecording(join(folder, "a"));
  });

const OPTIONS = {
  sort: "self",
  rows: 0,
  kernel: true,
  nativeFrames: false,
  counters: [],
} as const;

test("a runtime that is not known yet is shown as unknown, not as another", () => {
  const { ticks, problem } = read(recordingOf(77, "samples"));
  expect(problem).toBeUndefined();
  const [tick] = ticks as [Tick];
  expect(stackCounts(tick)).toMatchObject([
    { stack: { frames: [{ function: { runtime: "unknown", name: "loop", module: "app" } }] } },
  ]);
  expect(JSON.parse(jsonSink(OPTIONS).tick(tick))).toMatchObject({
    runtimes: { perl: 0, dotnet: 0, native: 0, kernel: 0, unknown: 5 },
    functions: [{ runtime: "unknown", name: "loop", self: 5 }],
  });
});

test("a unit that is not known yet is kept as its word", () => {
  const { ticks, problem } = read(recordingOf(2, "widgets"));
  expect(problem).toBeUndefined();
  const [tick] = ticks as [Tick];
  expect(tick).toMatchObject({ unit: "widgets", event: "wait", samples: 5 });
  expect(textSink(OPTIONS).tick(tick)).toContain("5 widgets in 1.0 s");
  expect(JSON.parse(jsonSink(OPTIONS).tick(tick))).toMatchObject({
    schema: "polytop.snapshot/2",
    events: [{ name: "wait", unit: "widgets" }],
  });
});
