/** The registry of runtimes, and what is shown of a runtime that it does not know. */
import { expect, test } from "vitest";
import { jsonSink } from "../../../src/output/json.ts";
import { textSink } from "../../../src/output/text.ts";
import { complete } from "../../../src/screen/state/complete.ts";
import {
  byRuntime,
  EVERY_RUNTIME,
  listed,
  RUNTIME_NUMBERS,
  RUNTIME_ROWS,
  RUNTIMES,
  runtimeNamed,
  runtimeOfNumber,
} from "../../../src/tick/runtimes.ts";
import { filterOf, makeTick, TickMaker, task } from "../../support/ticks.ts";

test("numbers of recordings and labels tell runtimes apart, and fit where they are written", () => {
  const rows = Object.values(RUNTIME_ROWS);
  expect(new Set(rows.map(({ number }) => number)).size).toBe(rows.length);
  expect(new Set(rows.map(({ label }) => label)).size).toBe(rows.length);
  for (const { label, number } of rows) {
    expect(label.length).toBeLessThanOrEqual(6);
    expect(number).toBeLessThan(RUNTIME_NUMBERS);
  }
});

test("recordings keep the numbers that they were written with", () => {
  expect([0, 1, 2, 3].map(runtimeOfNumber)).toEqual(["perl", "dotnet", "native", "kernel"]);
  for (const id of EVERY_RUNTIME) expect(runtimeOfNumber(RUNTIME_ROWS[id].number)).toBe(id);
});

test("a number that no row has is of the runtime that is unknown, not of another", () => {
  expect(runtimeOfNumber(126)).toBe("unknown");
});

test("a runtime is asked for by its name and its label", () => {
  expect(runtimeNamed(".NET")).toBe("dotnet");
  expect(runtimeNamed("dotnet")).toBe("dotnet");
  expect(runtimeNamed("cobol")).toBeUndefined();
  const offers = complete("filter", "lang:", { processes: [], threads: [] });
  expect(offers.words).toEqual(RUNTIMES.map((id) => `lang:${id}`));
});

test("outputs list the runtime that is unknown where it was met, and only there", () => {
  const maker = new TickMaker();
  const options = {
    filter: undefined,
    sort: "self",
    rows: 50,
    kernel: true,
    nativeFrames: false,
    counters: [],
  } as const;
  const native = { stack: maker.stack(["n:work"]), task: task(7, "app"), count: 3 };
  const frame = { function: maker.function("unknown", "loop") };
  const stack = { id: 99, frames: [frame], outcome: "complete" as const };
  const met = makeTick([native, { stack, task: task(7, "app"), count: 2 }]);
  const plain = makeTick([native]);

  const json = JSON.parse(jsonSink(options).tick(met));
  expect(json.runtimes).toEqual({ ...byRuntime(() => 0), native: 3, unknown: 2 });
  expect(json.functions[1]).toMatchObject({ runtime: "unknown", name: "loop" });
  expect(json.processes[0].runtimes).toEqual(["native", "unknown"]);
  expect(Object.keys(JSON.parse(jsonSink(options).tick(plain)).runtimes)).toEqual(RUNTIMES);

  expect(textSink(options).tick(met)).toMatch(/other 40\.0 %/);
  expect(textSink(options).tick(plain)).not.toContain("other");
  expect(filterOf("lang:unknown").matchesFunction(frame.function)).toBe(true);
  expect(listed(byRuntime(() => 0))).toEqual(RUNTIMES);
});
