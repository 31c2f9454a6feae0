/** Programs whose stacks are hard to follow: signals, assembly, exceptions, alignment, jumps, threads. */
import { describe, expect, test } from "vitest";
import { ENOUGH, inOrder, once, type Stacks, sampleEnough, userFrames } from "../support/live.ts";
import { needsSampling } from "../support/polytop.ts";
import { during, start } from "../support/profile.ts";
import { workload } from "../support/workloads.ts";

interface Program {
  readonly about: string;
  /** A file of test/workloads, and what the built program is called. */
  readonly source: string;
  readonly as: string;
  readonly args?: readonly string[];
  readonly flags?: readonly string[];
  /** Functions on the way to where most of the time goes, root first. */
  readonly chain: readonly string[];
  /** Code without unwind rows is on the way. */
  readonly isGuessed?: boolean;
}

const HANDLERS = ["main", "interrupted", "first_handler", "in_first_handler", "second_handler"];

const PROGRAMS: readonly Program[] = [
  {
    about: "samples in prologues and epilogues",
    source: "deep.c",
    as: "waves",
    args: ["20", "waves"],
    chain: ["_start", "main", "descend"],
  },
  {
    about: "a signal handler in a signal handler",
    source: "signals.c",
    as: "signals",
    chain: HANDLERS,
  },
  {
    about: "signal handlers on a stack of their own",
    source: "signals.c",
    as: "signal-stack",
    args: ["alternate"],
    chain: ["main", "interrupted", "first_handler"],
  },
  { about: "calls through the PLT", source: "calls.c", as: "calls", chain: ["main", "caller"] },
  {
    about: "threads",
    source: "threads.c",
    as: "threads",
    chain: ["worker", "busy"],
  },
  {
    about: "stacks that are aligned and of variable size",
    source: "align.c",
    as: "align",
    chain: ["main", ...Array<string>(11).fill("aligned"), "bottom"],
  },
  {
    about: "code that was copied to huge pages",
    source: "huge_pages.c",
    as: "huge-pages",
    flags: ["-fno-toplevel-reorder"],
    chain: ["main", "stays", "calls_copied", "spends_copied"],
  },
  {
    about: "assembly that counts its frame from rbx",
    source: "base.c",
    as: "base",
    chain: ["main", "by_base", "below_base", "uses_base", "spends"],
  },
  {
    about: "stacks that expressions lead to",
    source: "stacks.c",
    as: "stacks",
    chain: ["main", "by_one_load", "first", "by_two_loads", "second", "by_base_load", "third"],
  },
  {
    about: "a program that begins in compiled code",
    source: "bare.c",
    as: "bare",
    flags: ["-nostdlib", "-static-pie"],
    chain: ["_start", "outer", "spends"],
  },
  {
    about: "assembly that keeps a frame pointer, without unwind table",
    source: "assembly.c",
    as: "assembly",
    args: ["keeps"],
    chain: ["main", "above_assembly", "by_hand_with_frame"],
  },
  {
    about: "longjmp",
    source: "jumps.c",
    as: "jumps",
    chain: ["main", ...Array<string>(11).fill("below"), "jump"],
  },
  {
    about: "C++, its exceptions and names",
    source: "shapes.cpp",
    as: "shapes",
    chain: ["main", "geometry::catcher", "geometry::thrower"],
  },
  {
    about: "generated code in anonymous memory",
    source: "generated.c",
    as: "generated",
    args: ["anonymous"],
    chain: ["main", "above_generated"],
    isGuessed: true,
  },
];

const NO_FRAME: Program = {
  about: "assembly that uses rbp for data",
  source: "assembly.c",
  as: "assembly-bare",
  chain: [],
};

const LOST: Program = {
  about: "assembly of which nothing says where its frame is",
  source: "assembly.c",
  as: "assembly-lost",
  args: ["loses"],
  chain: [],
};

const build = ({ source, as, flags }: Program): string =>
  workload(source, { as, ...(flags ? { flags } : {}) });

const sampled = once(() => {
  const programs = [...PROGRAMS, NO_FRAME, LOST];
  const paths = programs.map(build);
  return during(
    programs.map((program, at) => start(paths[at] ?? "", program.args)),
    (pids) => sampleEnough(paths, { seconds: 5, frequency: 999, pids }),
  );
});

const of = async (program: Program): Promise<Stacks> => (await sampled()).of(build(program));

describe("whole stacks of", () => {
  test.for(PROGRAMS)("$about", { timeout: 90_000 }, async (program, context) => {
    needsSampling(context);
    const stacks = await of(program);
    expect(stacks.samples).toBeGreaterThanOrEqual(ENOUGH);
    expect(program.isGuessed ? stacks.guessed : stacks.complete).toBeGreaterThanOrEqual(0.99);
    // The rest hits the way to the end of the chain, or what is done besides.
    expect(stacks.share((frames) => inOrder(frames, program.chain))).toBeGreaterThan(0.1);
  });
});

test("C++ names are demangled, without parameters", { timeout: 90_000 }, async (context) => {
  needsSampling(context);
  const shapes = PROGRAMS.find(({ as }) => as === "shapes");
  const { names } = await of(shapes as Program);
  expect([...names]).toEqual(
    expect.arrayContaining([
      "geometry::Square<double>::area",
      "geometry::Square<long>::area",
      "geometry::operator+",
    ]),
  );
  expect([...names].filter((name) => name.startsWith("_ZN8geometry"))).toEqual([]);
});

test("code of which no unwind table says anything is walked by its own instructions", {
  timeout: 90_000,
}, async (context) => {
  needsSampling(context);
  const stacks = await of(NO_FRAME);
  expect(stacks.samples).toBeGreaterThanOrEqual(ENOUGH);
  const inAssembly = stacks.share((frames) => frames.includes("by_hand"));
  const whole = stacks.share(
    (frames) => inOrder(frames, ["main", "by_hand"]) && !frames[0]?.startsWith("["),
  );
  expect(inAssembly).toBeGreaterThan(0.9);
  expect(whole).toBeGreaterThanOrEqual(inAssembly * 0.99);
});

test("a walk that cannot go on says why, and shows no caller that is not certain", {
  timeout: 90_000,
}, async (context) => {
  needsSampling(context);
  const stacks = await of(LOST);
  expect(stacks.samples).toBeGreaterThanOrEqual(ENOUGH);
  const inAssembly = stacks.share((frames) => frames.includes("by_hand_elsewhere"));
  const withReason = stacks.share(
    (frames) =>
      frames[0] === "[native: no unwind rule for this code]" &&
      userFrames(frames).join() === [frames[0], "by_hand_elsewhere"].join(),
  );
  expect(inAssembly).toBeGreaterThan(0.9);
  expect(withReason).toBeGreaterThanOrEqual(inAssembly * 0.99);
});
