/** .NET: the walk out of methods that do nothing but call, and what a walk costs by depth. */
import type { Tick } from "../../../src/tick/tick.ts";
import { dotnetProgram, PLAIN_SHAPES, SHAPES, type Shape } from "../../support/dotnet.ts";
import { liveTicks } from "../../support/live-ticks.ts";
import { percent, type Row, ratio, type Section } from "../../support/measure.ts";
import { during, sleep, start } from "../../support/profile.ts";
import { type StackCount, stackCounts } from "../../support/ticks.ts";
import { each } from "./shapes.ts";

/** Until the methods are compiled for good. */
const SETTLE_SECONDS = 4;
const FREQUENCY = 999;
const OWN = "Truth.";
const ROOT = ["Truth.Calls.Run", "Truth.Program.Main"];

async function sampleMode(shape: Shape, args: readonly string[], seconds: number): Promise<Tick[]> {
  return during([start(dotnetProgram(shape), args)], async (pids) => {
    await sleep(SETTLE_SECONDS);
    return liveTicks({ seconds, frequency: FREQUENCY, pids });
  });
}

/** The only way to a method of Calls, itself first: B2 is called by B1, B1 by B0, B0 by Run. */
function wayTo(leaf: string): string {
  const [, chain = "", last = ""] = /^Truth\.Calls\.([A-Z])(\d)$/.exec(leaf) ?? [];
  const steps = Array.from({ length: chain ? Number(last) + 1 : 0 }, (_, i) => i).reverse();
  return [...steps.map((step) => `Truth.Calls.${chain}${step}`), ...ROOT].join(" < ");
}

async function leaves(shape: Shape): Promise<Row[]> {
  const ticks = await sampleMode(shape, ["calls"], 12);
  const sum = { samples: 0, caller: 0, whole: 0, stubs: 0 };
  const sampled = new Set<string>();
  for (const { stack, task, count } of stackCounts(...ticks)) {
    // No thread of the runtime has a part in it.
    if (task.tid !== task.pid) continue;
    const names = stack.frames.map((frame) => frame.function.name);
    const own = names.filter((name) => name.startsWith(OWN));
    const truth = wayTo(own[0] ?? "");
    const isWhole = stack.outcome === "complete" && own.join(" < ") === truth;
    sum.samples += count;
    if (own.length > 1 && truth.startsWith(`${own[0]} < ${own[1]}`)) sum.caller += count;
    if (isWhole) sum.whole += count;
    if (own[0] !== names[0]) sum.stubs += count;
    if (isWhole) sampled.add(own[0] ?? "");
    else if (process.env.POLYTOP_DEBUG) console.error(count, stack.outcome, names.join(" < "));
  }
  const { samples, caller, whole, stubs } = sum;
  return [
    {
      what: `${shape.name}: calls are all it does (${sampled.size} methods): the leaf's caller`,
      bar: "≥ 99.9 %",
      figure: `${percent(caller, samples, 3)} (${stubs} below a stub or the kernel)`,
      samples,
      ok: samples >= 5000 && sampled.size > 15 && ratio(caller, samples) >= 0.999,
    },
    {
      what: `${shape.name}: … and every caller, to the thread's start`,
      bar: "≥ 99.9 %",
      figure: percent(whole, samples, 3),
      samples,
      ok: samples >= 5000 && ratio(whole, samples) >= 0.999,
    },
  ];
}

/** The middle one of numbers that are each there `count` times. */
function median(values: readonly (readonly [value: number, count: number])[]): number {
  const half = values.reduce((sum, [, count]) => sum + count, 0) / 2;
  let seen = 0;
  for (const [value, count] of values.toSorted(([a], [b]) => a - b)) {
    seen += count;
    if (seen >= half) return value;
  }
  return 0;
}

/** Frames of a stack that the runtime compiled, not the ones that were compiled before. */
const compiledFrames = ({ stack }: StackCount): number =>
  stack.frames.filter((it) => it.function.runtime === "dotnet" && it.body !== "precompiled").length;

async function cost(shape: Shape, args: readonly string[], bar: number): Promise<Row> {
  const ticks = await sampleMode(shape, args, 8);
  const counts = stackCounts(...ticks);
  const frames = median(counts.map((it) => [it.stack.frames.length, it.count]));
  const compiled = median(counts.map((it) => [compiledFrames(it), it.count]));
  const nanoseconds = ticks.map(({ self }) => self.bpfNanosecondsPerSample);
  const figure = median(nanoseconds.map((it) => [it, 1])) / 1000;
  const least = Math.min(...nanoseconds) / 1000;
  return {
    what: `${shape.name}, ${args.join(" ")}: BPF a sample, 999 Hz, ${frames} frames, ${compiled} of them JIT-compiled`,
    bar: `≤ ${bar} µs`,
    figure: `${figure.toFixed(1)} µs (least of ${ticks.length} s: ${least.toFixed(1)})`,
    samples: counts.reduce((sum, { count }) => sum + count, 0),
    ok: figure > 0 && figure <= bar,
  };
}

const installed = SHAPES.slice(0, 1);

/** What was compiled before stays: nothing is compiled again when it is hot. */
const neverCompiled: readonly Shape[] = SHAPES.filter(
  ({ name }) => name === "net10-precompiled",
).map((shape) => ({
  ...shape,
  name: "net10-precompiled-once",
  flags: [...shape.flags, "-p:TieredCompilation=false"],
}));

export const dotnetCalls: readonly Section[] = [
  {
    name: "dotnet-leaf",
    about: ".NET stacks at arbitrary instructions of methods that do nothing but call",
    run: () => each([...PLAIN_SHAPES, ...neverCompiled], leaves),
  },
  {
    name: "dotnet-cost",
    about: "nanoseconds of BPF a sample of .NET by depth",
    run: () =>
      // The mix is of stacks of many depths; in a recursion each frame is at an address that was met before.
      each(installed, async (shape) => [
        await cost(shape, ["mix"], 9),
        await cost(shape, ["threaded", "3"], 9),
        await cost(shape, ["threaded", "59"], 25),
      ]),
  },
];
