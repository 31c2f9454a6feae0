/** The header says of threads what the refresh that is looked at says of them. */
import { expect, test } from "vitest";
import { aggregate } from "../../../src/model/aggregate.ts";
import { headerLines } from "../../../src/screen/header.ts";
import { initialState } from "../../../src/screen/state/state.ts";
import { makeTheme, NO_COLOURS } from "../../../src/screen/theme.ts";
import { viewOf } from "../../../src/screen/views/registry.ts";
import type { Tick } from "../../../src/tick/tick.ts";
import { makeTick } from "../../support/ticks.ts";

const choice = { kernel: true, nativeFrames: false };

/** The lines of a header of 120 columns; waits for work are asked for. */
function header(tick: Tick): string {
  const state = initialState({
    ...choice,
    idle: true,
    filterText: "",
    pids: [],
    sort: "self",
    delaySeconds: 1,
  });
  const all = aggregate([tick], choice);
  const fixed = { host: "web-3", view: viewOf(state), now: tick.time, isReplay: false };
  const nothing = { error: undefined, notices: [], sinceSeconds: 0, steadySeconds: 0 };
  const theme = makeTheme(NO_COLOURS, false);
  return headerLines({ tick, all, state, ...fixed, ...nothing }, 120, 24, theme).join("\n");
}

test("threads are counted where waits are looked at, and not beside other events", () => {
  const processes = [
    { pid: 1, startTime: 1, threads: 3, running: 0, runnable: 0, blocked: 3e9 },
  ] as const;
  const waiting = { processes, longWaits: [], sweeps: 10, lost: 0 };
  const of = (event: string, unit: string): string =>
    header({ ...makeTick([]), intervalSeconds: 1, event, unit, waiting });
  expect(of("wait", "nanoseconds")).toMatch(/threads 3: .*blocked 3.*idle too/s);
  for (const text of [of("page-faults", "events"), of("cpu-clock", "samples")]) {
    expect(text).toContain("2 CPUs");
    expect(text).not.toMatch(/threads|idle/);
  }
});
