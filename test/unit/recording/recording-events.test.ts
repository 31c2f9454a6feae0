/** Recordings of several events. */
import { join } from "node:path";
import { expect, test } from "vitest";
import { ofEvent } from "../../../src/model/events.ts";
import type { Tick } from "../../../src/tick/tick.ts";
import { inFolder, readRecording, writeRecording } from "../../support/recordings.ts";
import { makeTick, TickMaker, task } from "../../support/ticks.ts";

function tickOfTwo(): Tick {
  const make = new TickMaker();
  const [main, write] = [make.stack(["n:main@app"]), make.stack(["n:write@libc", "n:main@app"])];
  const info = { period: 1.5, missed: 3 };
  const counts = [
    { stack: main, task: task(7, "app"), count: 5, event: 0 },
    { stack: write, task: task(8, "job"), count: 2 ** 40, event: 1 },
  ];
  return makeTick(counts, {
    events: [
      { ...info, name: "page-faults", unit: "events", samples: 5 },
      { ...info, name: "block:block_rq_issue/bytes/", unit: "bytes", samples: 2 ** 40 },
    ],
  });
}

test("events and the counts of each are kept", () => {
  const tick = tickOfTwo();
  const { ticks, problem } = inFolder((folder) => {
    writeRecording(join(folder, "a"), [tick]);
    return readRecording(join(folder, "a"));
  });
  expect(problem).toBeUndefined();
  const [read] = ticks;
  expect(read?.events).toEqual(tick.events);
  expect(read && [...ofEvent(read, 1).counts.weights]).toEqual([2 ** 40]);
  expect(read && ofEvent(read, 1)).toMatchObject({ unit: "bytes", samples: 2 ** 40, missed: 3 });
});
