/** What holds for every run: sums that agree, two at a time, nothing left behind. */
import { spawn } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import counterFile from "../../bpf/counters.json" with { type: "json" };
import { loaded } from "../support/bpftool.ts";
import { once } from "../support/live.ts";
import { hotLoops, perlLoop } from "../support/loads.ts";
import { cleanEnvironment, launcher, needsSampling } from "../support/polytop.ts";
import { during, sampleJson, sleep, start } from "../support/profile.ts";
import { workload } from "../support/workloads.ts";

const busy = once(() =>
  during([...hotLoops(), perlLoop()], () => sampleJson({ seconds: 5, delay: 0.5, frequency: 499 })),
);

describe("the sums of a busy machine", () => {
  test("of each refresh", async (context) => {
    needsSampling(context);
    for (const { samples, stacks, functions, processes, runtimes } of (await busy()).snapshots) {
      const add = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0);
      expect(samples).toBeGreaterThan(0);
      expect(add(functions.map(({ self }) => self))).toBe(samples);
      expect(add(Object.values(runtimes))).toBe(samples);
      expect(add(processes.map((row) => row.samples))).toBe(samples);
      expect(add(processes.map((row) => row.complete))).toBe(stacks.complete);
      expect(stacks.complete + stacks.guessed + stacks.truncated + stacks.broken).toBe(samples);
      for (const { self, total } of functions) {
        expect(total).toBeGreaterThanOrEqual(self);
        expect(total).toBeLessThanOrEqual(samples);
      }
    }
  });

  test("of the counters: every attempt has one outcome", async (context) => {
    needsSampling(context);
    const { metrics, samples } = await busy();
    for (const runtime of new Set(counterFile.counters.map((counter) => counter.runtime))) {
      const ours = counterFile.counters.filter((counter) => counter.runtime === runtime);
      const count = (...kinds: readonly string[]): number =>
        ours
          .filter(({ kind }) => kinds.includes(kind))
          .reduce((sum, { name }) => sum + (metrics[name] ?? 0), 0);
      const outcomes =
        count("complete", "guessed", "truncated", "error", "loss") -
        // These were no runs of the program, or were counted by it before they got lost.
        (runtime === "sampler"
          ? (metrics.SamplesLostSkipped ?? 0) + (metrics.SamplesLostStackUnknown ?? 0)
          : 0);
      // The counters are read while the programs run: one on each CPU may be under way at either end.
      expect([runtime, Math.abs(count("attempt") - outcomes) <= 4]).toEqual([runtime, true]);
    }
    expect(Math.abs((metrics.SamplesCounted ?? 0) - samples)).toBeLessThan(samples / 50);
  });
});

test("two at the same time see the same", async (context) => {
  needsSampling(context);
  const program = start(workload("split.c"));
  const runs = await during([program], (pids) => {
    const options = { seconds: 2, delay: 0.5, frequency: 499, pids };
    return Promise.all([sampleJson(options), sampleJson(options)]);
  });
  for (const { complete, samples, self } of runs) {
    expect(samples).toBeGreaterThan(0);
    expect(complete).toBeGreaterThanOrEqual(samples * 0.99);
    expect([...self.keys()]).toEqual(expect.arrayContaining(["sixty", "thirty", "ten"]));
  }
});

/** Ids of the BPF programs and maps of a process. */
function heldBy(pid: number): { programs: number[]; maps: number[] } {
  const texts = readdirSync(`/proc/${pid}/fdinfo`).map((fd) => {
    try {
      return readFileSync(`/proc/${pid}/fdinfo/${fd}`, "latin1");
    } catch {
      return "";
    }
  });
  const ids = (key: string): number[] =>
    texts.flatMap((text) => {
      const id = new RegExp(`^${key}:\\s*(\\d+)`, "m").exec(text)?.[1];
      return id === undefined ? [] : [Number(id)];
    });
  return { programs: ids("prog_id"), maps: ids("map_id") };
}

test.for(["SIGKILL", "SIGTERM"] as const)(
  "%s leaves nothing of it in the kernel",
  async (signal, context) => {
    needsSampling(context);
    const child = spawn(launcher, ["--json", "-d", "0.2"], {
      env: cleanEnvironment(),
      stdio: ["ignore", "pipe", "ignore"],
    });
    const exited = new Promise<number | null>((resolve) => child.on("exit", resolve));
    await new Promise((resolve) => child.stdout.once("data", resolve));
    const held = heldBy(child.pid ?? -1);
    expect(held.programs.length).toBeGreaterThan(0);
    expect(held.maps.length).toBeGreaterThan(5);
    child.kill(signal);
    expect(await exited).toBe(signal === "SIGTERM" ? 0 : null);

    const left = (): number[] =>
      [
        ...loaded("prog").filter(({ id }) => held.programs.includes(id)),
        ...loaded("map").filter(({ id }) => held.maps.includes(id)),
      ].map(({ id }) => id);
    // The kernel frees them some time after the last descriptor is closed.
    for (let wait = 0; wait < 50 && left().length > 0; wait++) await sleep(0.1);
    expect(left()).toEqual([]);
  },
);
