/** Processes that change while they are sampled: libraries come and go, programs follow each other, pids end. */
import { copyFileSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { Sampler, SamplerOptions } from "../../src/addon/sampler.ts";
import { DrainedTasks } from "../../src/collector/drained-tasks.ts";
import { ProcessReader } from "../../src/collector/process-facts.ts";
import { EVENTS } from "../../src/tick/events.ts";
import { TickWriter } from "../../src/tick/tick-writer.ts";
import { hasEntryOf } from "../support/bpftool.ts";
import { ENOUGH, folderOnDisk, Stacks, sampleEnough } from "../support/live.ts";
import { liveTicks } from "../support/live-ticks.ts";
import { dist, isRunning, needsSampling, polytop } from "../support/polytop.ts";
import {
  during,
  type Snapshot,
  sampleFolded,
  sampleJson,
  sleep,
  start,
} from "../support/profile.ts";
import { plugin, workload } from "../support/workloads.ts";

test("libraries that are loaded in turns are not taken for each other", async (context) => {
  needsSampling(context);
  // They are equally large and lie at the same addresses, one after the other.
  const libraries = [plugin("in_first"), plugin("in_second")];
  const path = workload("plugins.c");
  const program = start(path, libraries);
  const stacks = await during([program], (pids) =>
    sampleEnough([path], { seconds: 3, frequency: 999, pids }),
  );
  expect(stacks.samples).toBeGreaterThanOrEqual(ENOUGH);
  expect(stacks.names).toContain("in_first");
  expect(stacks.names).toContain("in_second");
  const isMixed = (frames: readonly string[]): boolean =>
    (frames.includes("under_first") && frames.includes("in_second")) ||
    (frames.includes("under_second") && frames.includes("in_first"));
  expect(stacks.all.filter(({ frames }) => isMixed(frames))).toEqual([]);
  expect(stacks.complete).toBeGreaterThanOrEqual(0.97);
});

/** Two programs without address randomisation: whatever the other one was, it lay at the same addresses. */
test("a process that becomes another program, again and again", async (context) => {
  needsSampling(context);
  const build = (name: string, depth: number): string =>
    workload("execs.c", {
      as: `exec-${name}`,
      variant: "noPie",
      flags: [`-DFUNCTION=in_${name}`, `-DDEPTH=${depth}`],
    });
  const [one, two] = [build("one", 1), build("two", 2)];
  const program = start(one, [two]);
  const stacks = await during([program], (pids) =>
    sampleEnough([one, two], { seconds: 3, frequency: 999, pids }),
  );
  const depth = (frames: readonly string[], name: string): number =>
    frames.filter((frame) => frame === name).length;
  const inOne = (frames: readonly string[]): boolean => depth(frames, "in_one") > 0;
  const inTwo = (frames: readonly string[]): boolean => depth(frames, "in_two") > 0;
  // The process has one name in a refresh, so names of processes tell nothing here. How long the
  // kernel takes for an exec is the machine's, so shares are of what runs in either program.
  const inEither = new Stacks(stacks.all.filter(({ frames }) => inOne(frames) || inTwo(frames)));
  expect(inEither.samples).toBeGreaterThanOrEqual(ENOUGH);
  expect(inEither.share(inOne)).toBeGreaterThan(0.3);
  expect(inEither.share(inTwo)).toBeGreaterThan(0.3);
  // On its way in and out the second is as deep as the first, but hardly ever.
  const wrong = stacks.share(
    (frames) => depth(frames, "in_one") > 1 || (inTwo(frames) && depth(frames, "in_two") !== 2),
  );
  expect(wrong).toBeLessThan(0.01);
  expect(stacks.complete).toBeGreaterThanOrEqual(0.97);
});

test("children that run in their parent's memory until they exec", async (context) => {
  needsSampling(context);
  const path = workload("vforks.c");
  const stacks = await during([start(path)], async () => {
    const all = await sampleFolded({ seconds: 4, frequency: 999, args: ["-f", "comm:vforks"] });
    return new Stacks(all).of(path);
  });
  expect(stacks.samples).toBeGreaterThan(0);
  expect(stacks.names).toContain("between");
  // vfork() of the GNU C library keeps its return address in a register.
  expect(stacks.complete).toBeGreaterThanOrEqual(0.97);
});

test("threads that follow each other keep their own names", async (context) => {
  needsSampling(context);
  const ticks = await during([start(workload("successors.c"))], (pids) =>
    liveTicks({ seconds: 4, frequency: 999, samples: ENOUGH, pids }),
  );
  const names = new Map<string, Set<string>>();
  for (const { store, counts } of ticks) {
    for (let i = 0; i < counts.length; i++) {
      const frames = store.framesOf(counts.stacks[i] ?? 0);
      const own = frames.map((frame) => store.functionOf(frame).name).find((it) => /^in_/.test(it));
      if (own === undefined) continue;
      const known = names.get(own) ?? new Set();
      names.set(own, known.add(store.tasks[counts.tasks[i] ?? 0]?.thread ?? ""));
    }
  }
  expect(Object.fromEntries([...names].map(([own, threads]) => [own, [...threads]]))).toEqual({
    in_first: ["is_first"],
    in_second: ["is_second"],
  });
});

/** A sampler that samples these processes. */
function samplerOf(targets: readonly number[]): Pick<Sampler, "drain" | "setTargets" | "close"> {
  const addon = createRequire(import.meta.url)(`${dist}polytop.node`) as {
    Sampler: new (options: SamplerOptions) => Sampler;
  };
  return new addon.Sampler({
    objectPath: `${dist}polytop.bpf.o`,
    sources: EVENTS.cpu.sources,
    frequency: 499,
    drainSeconds: 1,
    targets,
  });
}

describe("the filter by pid", () => {
  test("says when its process has ended, and goes on", async (context) => {
    needsSampling(context);
    const program = start(workload("split.c"));
    const args = ["--json", "-d", "0.3", "-n", "12", "-p", String(program.pid)];
    const { status, stdout, stderr } = await polytop(args, {
      // A starved machine may not run the program at all in the first refresh.
      onStdout: (text) => {
        if (/"samples":[1-9]/.test(text)) void program.stop();
      },
    });
    await program.stop();
    expect(status).toBe(0);
    expect(stderr).toMatch(new RegExp(`pid ${program.pid} has exited`));
    const snapshots = stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as Snapshot);
    expect(snapshots).toHaveLength(12);
    expect(snapshots.some(({ samples }) => samples > 0)).toBe(true);
    expect(snapshots.at(-1)?.samples).toBe(0);
  });

  test("changes while it runs, in the kernel", async (context) => {
    needsSampling(context);
    const programs = [start(workload("split.c")), start(workload("deep.c"))];
    await during(programs, async ([one = -1, two = -1]) => {
      const sampler = samplerOf([one]);
      const known = new DrainedTasks(new TickWriter(), new ProcessReader(false));
      const pids = async (targets: readonly number[]): Promise<number[]> => {
        sampler.setTargets(targets);
        // What was counted before belongs to the old filter.
        known.register((await sampler.drain()).tasks);
        await sleep(0.6);
        const { counts, tasks } = await sampler.drain();
        known.register(tasks);
        return [...known.pidsOf(counts)].sort((a, b) => a - b);
      };
      try {
        expect(await pids([one])).toEqual([one]);
        expect(await pids([two])).toEqual([two]);
        expect(await pids([one, two])).toEqual([one, two].sort((a, b) => a - b));
        expect(await pids([])).toEqual(expect.arrayContaining([one, two]));
        expect(await pids([two])).toEqual([two]);
      } finally {
        sampler.close();
      }
    });
  });

  test("what others have mapped is looked at where it is widened to them", async (context) => {
    needsSampling(context);
    // A library by whose name the process is known as one of .NET.
    const runtime = join(folderOnDisk(context), "libcoreclr.so");
    copyFileSync("/lib/x86_64-linux-gnu/libm.so.6", runtime);
    const program = start("env", [`LD_PRELOAD=${runtime}`, "sleep", "1000"]);
    await during([program], async ([pid = 0]) => {
      while (!readFileSync(`/proc/${pid}/maps`, "latin1").includes(runtime)) await sleep(0.02);
      const sampler = samplerOf([process.pid]);
      const isKnown = () => hasEntryOf(process.pid, "dotnet_places", pid);
      try {
        await sampler.drain();
        expect(isKnown()).toBe(false);
        sampler.setTargets([]);
        for (let look = 0; look < 40 && !isKnown(); look++) await sleep(0.2);
        expect(isKnown()).toBe(true);
      } finally {
        sampler.close();
      }
    });
  });
});

test("names that hold terminal escapes are shown as text", async (context) => {
  needsSampling(context);
  const program = start(workload("names.c"), ["\u001b[31m\u0007\nx;y", "\u001b]0;t\u0007\u009b"]);
  const { pid } = program;
  await during([program], async () => {
    await sleep(0.2);
    const options = { seconds: 1, delay: 0.5, pids: [pid] };
    const [sums, folded, text] = await Promise.all([
      sampleJson(options),
      sampleFolded(options),
      polytop(["--batch", "-n", "2", "-d", "0.5", "-p", String(pid)]),
    ]);
    const comms = sums.snapshots.flatMap(({ processes }) => processes.map(({ comm }) => comm));
    expect(new Set(comms)).toEqual(new Set(["\\x1b[31m\\x07\\x0ax;y"]));
    expect(new Set(folded.map(({ comm }) => comm))).toEqual(new Set(["\\x1b[31m\\x07\\x0ax:y"]));
    const escapes = /\p{Cc}/u;
    expect(text.stdout.split("\n").filter((line) => escapes.test(line))).toEqual([]);
  });
  expect(isRunning(pid)).toBe(false);
});
