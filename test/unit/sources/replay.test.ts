/** A recording as a source of ticks: pace, end, narrowing. */
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { runPlain } from "../../../src/output/run.ts";
import { openReplay, type ReplayOptions, type ReplaySource } from "../../../src/sources/replay.ts";
import type { SourceEvent } from "../../../src/tick/source.ts";
import type { Tick } from "../../../src/tick/tick.ts";
import { example, inFolder, plain, writeRecording } from "../../support/recordings.ts";

/** A recording of these ticks; its file is open, and gone. */
const open = (list: readonly Tick[], options: Partial<ReplayOptions> = {}): ReplaySource =>
  inFolder((folder) => {
    writeRecording(join(folder, "a"), list);
    return openReplay(join(folder, "a"), { pids: [], pace: "full", ...options });
  });

/** Ticks until the end. */
async function play(source: ReplaySource): Promise<Tick[]> {
  const got: Tick[] = [];
  const unsubscribe = source.subscribe((event) => {
    if ("tick" in event) got.push(event.tick);
  });
  await source.ended;
  unsubscribe();
  await source.close();
  return got;
}

/** As fast as tests can wait for. */
const quick = (count: number): Tick[] =>
  example(count).map((tick) => ({ ...tick, intervalSeconds: 0.1 }));

describe("at full pace", () => {
  test("brings every tick, and nothing else", async () => {
    const list = example(10);
    expect((await play(open(list))).map(plain)).toEqual(list.map(plain));
  });

  test("waits for whoever takes them", async () => {
    let taken = 0;
    const source = open(example(5), {
      ready: async () => {
        await sleep(1);
        taken++;
      },
    });
    const at: number[] = [];
    source.subscribe(() => at.push(taken));
    await source.ended;
    expect(at).toEqual([0, 1, 2, 3, 4]);
  });

  test("stops with its listener", async () => {
    const source = open(example(50));
    const lines: string[] = [];
    await runPlain({
      source,
      sink: { tick: () => "tick", end: () => "end" },
      iterations: 3,
      signal: new AbortController().signal,
      write: (text) => lines.push(text),
      warn: () => {},
    });
    expect(lines).toEqual(["tick", "tick", "tick", "end"]);
  });

  test("ends a plain run with the recording", async () => {
    const lines: string[] = [];
    await runPlain({
      source: open(example(2)),
      sink: { tick: () => "tick", end: () => "end" },
      iterations: undefined,
      signal: new AbortController().signal,
      write: (text) => lines.push(text),
      warn: () => {},
    });
    expect(lines).toEqual(["tick", "tick", "end"]);
  });
});

describe("at the recorded pace", () => {
  test("the end is told of the recording, and is no part of a refresh", async () => {
    const source = open(quick(3), { pace: "recorded" });
    const events: SourceEvent[] = [];
    source.subscribe((event) => events.push(event));
    await source.ended;
    await source.close();
    expect(events).toHaveLength(4);
    expect(events[3]).toEqual({ notice: "the recording ends here" });
    expect(events.flatMap((it) => ("tick" in it ? it.tick.notices : []))).toEqual([]);
  });

  test("each takes its time, and less when it is told to", async () => {
    const begin = performance.now();
    await play(open(quick(6), { pace: "recorded" }));
    const usual = performance.now() - begin;
    expect(usual).toBeGreaterThanOrEqual(480);
    const list = example(6);
    const source = open(list, { pace: "recorded" });
    expect(source.recordedSeconds).toBe(1);
    source.setInterval(0.001);
    expect(await play(source)).toHaveLength(6);
  });

  test("the first look of a screen says nothing about the pace", () => {
    const [first, ...rest] = example(3) as [Tick, ...Tick[]];
    expect(open([{ ...first, intervalSeconds: 0.4 }, ...rest]).recordedSeconds).toBe(1);
  });
});

describe("narrowed to processes", () => {
  test("the others are left out, and the sums are right", async () => {
    const [tick] = await play(open(example(1), { pids: [8] }));
    expect(tick).toMatchObject({ pids: [8], samples: 0, counts: { length: 0 } });
    const [all] = await play(open(example(1), { pids: [7] }));
    expect(all?.samples).toBe(example(1)[0]?.samples);
  });
});

test("a recording without a refresh is refused", () => {
  expect(() => open([])).toThrow("holds no refresh");
});
