/** Every output and view of the same samples says the same: sums, names, runtimes, and what stands for what is hidden. */
import { gunzipSync } from "node:zlib";
import fc from "fast-check";
import { Profile } from "pprof-format";
import { expect, test } from "vitest";
import { aggregate } from "../../../src/model/aggregate.ts";
import { CallTree, ROOT } from "../../../src/model/call-tree.ts";
import { functionDetail } from "../../../src/model/detail.ts";
import { busyShare } from "../../../src/model/health.ts";
import type { Choice } from "../../../src/model/selection.ts";
import { ofActivity } from "../../../src/model/waits/activity.ts";
import { foldedSink } from "../../../src/output/folded.ts";
import { jsonSink } from "../../../src/output/json.ts";
import { pprofFile } from "../../../src/output/pprof.ts";
import { GUESSED_FRAME, RunProfile } from "../../../src/output/run-profile.ts";
import type { SinkOptions } from "../../../src/output/sink.ts";
import { speedscopeFile } from "../../../src/output/speedscope.ts";
import { textSink } from "../../../src/output/text.ts";
import { headerLines } from "../../../src/screen/header.ts";
import { initialState } from "../../../src/screen/state/state.ts";
import { makeTheme, NO_COLOURS } from "../../../src/screen/theme.ts";
import { viewOf } from "../../../src/screen/views/registry.ts";
import { percent } from "../../../src/text/format.ts";
import { EVERY_RUNTIME, RUNTIME_ROWS } from "../../../src/tick/runtimes.ts";
import type { FunctionInfo, Tick } from "../../../src/tick/tick.ts";
import { REASONS, WAIT_IDLE, type Wait } from "../../../src/tick/waits.ts";
import { parseFolded, type Snapshot } from "../../support/profile.ts";
import { type RandomRefresh, refreshes, ticksOf } from "../../support/random-ticks.ts";
import type { SpeedscopeFile } from "../../support/speedscope.ts";
import { filterOf, makeTick, type Stack, TickMaker, task } from "../../support/ticks.ts";

const choices: fc.Arbitrary<Choice> = fc.record({
  kernel: fc.boolean(),
  nativeFrames: fc.boolean(),
  filter: fc.constantFrom(
    undefined,
    ...["pid:2", "!pid:2", "comm:program1", "thread:thread0 !pid:1"].map(filterOf),
  ),
});

const sinkOptions = (choice: Choice): SinkOptions => ({
  ...choice,
  sort: "self",
  rows: 0,
  counters: [],
});

/** What an output says of functions, each as it names them. */
class Said {
  samples = 0;
  readonly self = new Map<string, number>();
  readonly total = new Map<string, number>();

  /** Adds a stack of names, leaf first. */
  add(names: readonly string[], weight: number): void {
    this.samples += weight;
    this.addSelf(names[0] ?? "none", weight);
    for (const name of new Set(names)) this.addTotal(name, weight);
  }

  addSelf(name: string, weight: number): void {
    if (weight > 0) this.self.set(name, (this.self.get(name) ?? 0) + weight);
  }

  addTotal(name: string, weight: number): void {
    this.total.set(name, (this.total.get(name) ?? 0) + weight);
  }

  /** The same under other names. */
  renamed(nameOf: (name: string) => string): Said {
    const said = new Said();
    said.samples = this.samples;
    for (const [name, weight] of this.self) said.addSelf(nameOf(name), weight);
    for (const [name, weight] of this.total) said.addTotal(nameOf(name), weight);
    return said;
  }

  get inOrder() {
    return {
      samples: this.samples,
      self: [...this.self].sort(),
      total: [...this.total].sort(),
    };
  }
}

/** A function with all by which an output can tell it: runtime, name, module. */
const named = ({ runtime, name, module }: FunctionInfo): string => [runtime, name, module].join();
const nameOf = (key: string): string => key.split(",")[1] ?? "";
const isKernel = (key: string): boolean => key.startsWith("kernel,");

function saidByAggregate(ticks: readonly Tick[], choice: Choice): Said {
  const all = aggregate(ticks, choice);
  const said = new Said();
  said.samples = all.samples;
  for (const { function: info, self, total } of all.functions) {
    said.addSelf(named(info), self);
    said.addTotal(named(info), total);
  }
  const bySums = [all.outcomes, all.runtimes].map((one) =>
    Object.values(one).reduce((a, b) => a + b, 0),
  );
  expect(bySums).toEqual([all.samples, all.samples]);
  return said;
}

function saidByJson(ticks: readonly Tick[], choice: Choice): Said {
  const said = new Said();
  const sink = jsonSink(sinkOptions(choice));
  for (const tick of ticks) {
    const snapshot = JSON.parse(sink.tick(tick)) as Snapshot;
    said.samples += snapshot.samples;
    const leaves: Record<string, number> = {};
    for (const { runtime, name, module, self, total } of snapshot.functions) {
      said.addSelf([runtime, name, module].join(), self);
      said.addTotal([runtime, name, module].join(), total);
      leaves[runtime] = (leaves[runtime] ?? 0) + self;
    }
    for (const [runtime, count] of Object.entries(snapshot.runtimes)) {
      expect(leaves[runtime] ?? 0).toBe(count);
    }
  }
  return said;
}

/** Without what says that a stack holds guesses, its outermost frame. */
const withoutMark = (frames: readonly string[]): readonly string[] =>
  frames[0] === GUESSED_FRAME ? frames.slice(1) : frames;

/** Without modules: their functions have marks for the kernel only. */
function saidByFolded(ticks: readonly Tick[], choice: Choice): Said {
  const sink = foldedSink(sinkOptions(choice));
  for (const tick of ticks) sink.tick(tick);
  const said = new Said();
  for (const { frames, count } of parseFolded(sink.end())) {
    said.add(withoutMark(frames).toReversed(), count);
  }
  return said;
}

function profileOf(ticks: readonly Tick[], choice: Choice): RunProfile {
  const profile = new RunProfile(choice);
  for (const tick of ticks) profile.add(tick);
  return profile;
}

/** By names and modules; a function without one has its runtime in place of that. */
function saidByPprof(ticks: readonly Tick[], choice: Choice): Said {
  const decoded = Profile.decode(gunzipSync(pprofFile(profileOf(ticks, choice))));
  const text = (at: number | bigint): string => decoded.stringTable.strings[Number(at)] ?? "";
  const infos = new Map(decoded.function.map((one) => [one.id, one]));
  const files = new Map(decoded.mapping.map((one) => [one.id, text(one.filename)]));
  const names = new Map(
    decoded.location.map(({ id, line, mappingId }) => {
      const info = infos.get(line[0]?.functionId ?? 0);
      return [id, `${text(info?.name ?? 0)},${files.get(mappingId)}`];
    }),
  );
  const said = new Said();
  for (const { locationId, value } of decoded.sample) {
    const [weight, nanoseconds] = value.map(Number);
    expect(nanoseconds).toBe((weight ?? 0) * 1e7);
    said.add(
      locationId.map((id) => names.get(id) ?? ""),
      weight ?? 0,
    );
  }
  return said;
}

/** By names and modules; a hundred samples are a second. */
function saidBySpeedscope(ticks: readonly Tick[], choice: Choice): Said {
  const file = JSON.parse(speedscopeFile(profileOf(ticks, choice))) as SpeedscopeFile;
  const said = new Said();
  const [all, ...programs] = file.profiles;
  all?.samples.forEach((stack, i) => {
    const names = stack.map((frame) => {
      const { name = "", file: module } = file.shared.frames[frame] ?? {};
      return `${name},${module ?? ""}`;
    });
    // The outermost frame is the program.
    const inner = names.slice(names[1] === `${GUESSED_FRAME},` ? 2 : 1);
    said.add(inner.reverse(), (all.weights[i] ?? 0) / 1e7);
  });
  const ends = programs.map(({ endValue }) => endValue);
  expect(ends.reduce((a, b) => a + b, 0)).toBe(all?.endValue);
  return said;
}

function saidByTree(ticks: readonly Tick[], choice: Choice, bottomUp: boolean): Said {
  const tree = new CallTree(choice, bottomUp);
  for (const tick of ticks) tree.add(tick, 1);
  const said = new Said();
  const walk = (node: number, above: readonly string[]): void => {
    const names = node === ROOT ? [] : [...above, named(tree.functionOf(node))];
    const ends = tree.self(node);
    if (ends > 0) said.add(bottomUp ? names : names.toReversed(), ends);
    for (const child of tree.children(node)) walk(child, names);
  };
  walk(ROOT, []);
  expect(tree.total(ROOT)).toBe(said.samples);
  expect(tree.samples).toBe(said.samples);
  return said;
}

function saidByDetails(ticks: readonly Tick[], choice: Choice): Said {
  const said = new Said();
  const all = aggregate(ticks, choice);
  said.samples = all.samples;
  for (const { function: info } of all.functions) {
    const detail = functionDetail(ticks, info.id, choice);
    expect(detail.samples).toBe(all.samples);
    said.addSelf(named(detail.function ?? info), detail.self);
    said.addTotal(named(detail.function ?? info), detail.total);
  }
  return said;
}

test("screen, JSON, collapsed stacks, pprof and speedscope agree, whatever is left out", () => {
  fc.assert(
    fc.property(refreshes, choices, (list, choice) => {
      const ticks = [...ticksOf(list)];
      const all = saidByAggregate(ticks, choice);
      const expected = all.inOrder;
      expect(saidByJson(ticks, choice).inOrder).toEqual(expected);
      expect(saidByTree(ticks, choice, false).inOrder).toEqual(expected);
      expect(saidByTree(ticks, choice, true).inOrder).toEqual(expected);
      expect(saidByDetails(ticks, choice).inOrder).toEqual(expected);
      const marked = all.renamed((key) => nameOf(key) + (isKernel(key) ? "_[k]" : ""));
      expect(saidByFolded(ticks, choice).inOrder).toEqual(marked.inOrder);
      const mapped = all.renamed((key) => {
        const [runtime, name, module] = key.split(",");
        return `${name},${module || `[${runtime}]`}`;
      });
      expect(saidByPprof(ticks, choice).inOrder).toEqual(mapped.inOrder);
      const filed = all.renamed((key) => key.split(",").slice(1).join());
      expect(saidBySpeedscope(ticks, choice).inOrder).toEqual(filed.inOrder);
    }),
    { numRuns: 300 },
  );
});

/** Threads that run, that wait for a lock or for a CPU, and that wait for work. */
const waits = fc.array(
  fc.constantFrom(
    0,
    ...(["lock", "cpu"] as const).map((reason) => REASONS.indexOf(reason)),
    REASONS.indexOf("poll") | WAIT_IDLE,
  ),
  { minLength: 1, maxLength: 10 },
);

/** The same refreshes, with stacks that wait. */
function withWaits(list: readonly RandomRefresh[], ofStacks: readonly Wait[]): RandomRefresh[] {
  const waiting = new Map<Stack, Stack>();
  const withWait = (stack: Stack): Stack => {
    const known = waiting.get(stack) ?? {
      ...stack,
      wait: ofStacks[waiting.size % ofStacks.length] ?? 0,
    };
    waiting.set(stack, known);
    return known;
  };
  return list.map((refresh) => ({
    ...refresh,
    counts: refresh.counts.map((one) => ({ ...one, stack: withWait(one.stack) })),
  }));
}

test("what waits weighs the same in lists, trees and collapsed stacks", () => {
  const waiting = { processes: [], longWaits: [], sweeps: 10, lost: 0 };
  const activities = fc.constantFrom("waiting" as const, "both" as const);
  const cases = fc.record({ list: refreshes, waits, choice: choices, idle: fc.boolean() });
  fc.assert(
    fc.property(cases, activities, ({ list, waits: ofStacks, choice, idle }, activity) => {
      const ticks = [...ticksOf(withWaits(list, ofStacks))].map((tick) =>
        ofActivity({ ...tick, waiting }, activity),
      );
      const wanted = { ...choice, idle };
      const { samples, total } = saidByAggregate(ticks, wanted).inOrder;
      for (const bottomUp of [false, true])
        expect(saidByTree(ticks, wanted, bottomUp).inOrder).toMatchObject({ samples, total });
      const marked = saidByAggregate(ticks, wanted).renamed(
        (key) => nameOf(key) + (isKernel(key) ? "_[k]" : ""),
      );
      expect(saidByFolded(ticks, wanted).inOrder).toMatchObject({
        samples: marked.samples,
        total: marked.inOrder.total,
      });
    }),
    { numRuns: 200 },
  );
});

test("the text has the names, runtimes, shares and the load of the screen", () => {
  fc.assert(
    fc.property(refreshes, choices, (list, choice) => {
      const sink = textSink(sinkOptions(choice));
      for (const tick of ticksOf(list)) {
        const lines = sink.tick(tick).trim().split("\n");
        const all = aggregate([tick], choice);
        expect(lines[0]).toContain(`${all.samples} samples in 1.0 s`);
        expect(lines[0]).toContain(` ${Math.round(100 * busyShare(tick))} % busy`);
        for (const runtime of EVERY_RUNTIME) {
          const share = percent(all.runtimes[runtime], all.samples);
          const isListed = runtime !== "unknown" || all.runtimes.unknown > 0;
          const says = `${RUNTIME_ROWS[runtime].label} ${share} %`;
          expect(lines[1]?.includes(says)).toBe(isListed);
        }
        const rows = lines
          .filter((line) => !line.startsWith("#"))
          .map((line) => {
            const [, self, total, label, name] =
              /^ *([\d.]+) +([\d.]+) +(\S+) +(\[[^\]]+\]|\S+)/.exec(line) ?? [];
            return [self, total, label, name].join();
          });
        const expected = all.functions.map(({ function: { name, runtime }, self, total }) =>
          [
            percent(self, all.samples),
            percent(total, all.samples),
            RUNTIME_ROWS[runtime].label,
            name,
          ].join(),
        );
        expect(rows.sort()).toEqual(expected.sort());
      }
    }),
  );
});

test("the screen and the text call the same part of the CPUs busy, with what was missed", () => {
  const make = new TickMaker();
  const counts = [{ stack: make.stack(["n:main@app"]), task: task(7, "app"), count: 60 }];
  const more = { missed: 30, frequency: 100, cpus: 1, intervalSeconds: 1 };
  const tick = makeTick(counts, more);
  const choice = { kernel: true, nativeFrames: false };
  const state = initialState({
    ...choice,
    filterText: "",
    pids: [],
    sort: "self",
    delaySeconds: 1,
  });
  const [machine] = headerLines(
    {
      tick,
      all: aggregate([tick], choice),
      host: "web-3",
      state,
      view: viewOf(state),
      now: tick.time,
      error: undefined,
      notices: tick.notices,
      isReplay: false,
      sinceSeconds: 0,
      steadySeconds: 0,
    },
    120,
    24,
    makeTheme(NO_COLOURS, false),
  );
  expect(machine).toContain("1 CPU 90.0 % busy");
  expect(textSink(sinkOptions(choice)).tick(tick)).toContain("1 CPUs 90 % busy");
});
