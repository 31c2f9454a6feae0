/** Stacks through code without unwind rows, and those that begin or return in a way of their own. */
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { describe, expect, type TestContext, test } from "vitest";
import { ENOUGH, inOrder, Stacks, sampleEnough, userFrames } from "../support/live.ts";
import { needsSampling } from "../support/polytop.ts";
import { during, start } from "../support/profile.ts";
import {
  type BuildOptions,
  GO,
  GUESS_KINDS,
  lacksCaller,
  MUSL,
  workload,
} from "../support/workloads.ts";

const TIMEOUT = { timeout: 90_000 };

/** Samples a program of test/workloads. */
async function sampled(
  source: string,
  options: BuildOptions = {},
  args: readonly string[] = [],
): Promise<Stacks> {
  const path = workload(source, options);
  return during([start(path, args)], (pids) =>
    sampleEnough([path], { seconds: 3, frequency: 999, pids }),
  );
}

function needs(context: TestContext, program: string): void {
  needsSampling(context);
  if (!existsSync(program)) context.skip(`${program} is not installed`);
}

/** Stacks that count as complete. */
const complete = (stacks: Stacks): Stacks =>
  new Stacks(stacks.all.filter(({ frames }) => !frames[0]?.startsWith("[")));

describe("code without rows below C functions: what counts as complete lacks no caller", () => {
  const places = [
    ["in a file", "plain", [], 0],
    ["in a file, with frame pointers", "framePointer", [], 0],
    ["in generated memory", "plain", ["memory"], 0.35],
    ["in generated memory, with frame pointers", "framePointer", ["memory"], 0.35],
  ] as const;

  test.for(places)("%s", TIMEOUT, async ([, variant, args, guessed], context) => {
    needsSampling(context);
    const path = workload("guesses.c", { variant });
    const stacks = await during(
      GUESS_KINDS.map((kind) => start(path, [kind, ...args])),
      (pids) => sampleEnough([path], { seconds: 3, frequency: 999, pids }),
    );
    expect(complete(stacks).share((frames) => lacksCaller(userFrames(frames)))).toBe(0);
    if (args.length === 0) {
      // In a file the instructions tell where the frame is, but where a return address is pushed for a jump.
      const isLost = (frames: readonly string[]): boolean => frames.includes("in_interpreter");
      const lost = new Stacks(stacks.all.filter(({ frames }) => isLost(frames)));
      expect(new Stacks(stacks.all.filter(({ frames }) => !isLost(frames))).complete).toBe(1);
      expect(lost.samples).toBeGreaterThan(0);
      expect(lost.share(([first]) => first === "[native: no unwind rule for this code]")).toBe(1);
      return;
    }
    // Elsewhere a leaf without a frame, and code that keeps frame pointers, are guessed right; interpreters are, too.
    expect(stacks.guessed).toBeGreaterThan(guessed);
    const isWhole = (frames: readonly string[]): boolean => !lacksCaller(userFrames(frames));
    const guesses = new Stacks(stacks.all.filter(({ frames }) => frames[0] === "[guessed]"));
    expect(guesses.share(isWhole)).toBeGreaterThan(0.99);
  });
});

test(
  "a word that inline assembly left where the return address should be names no caller",
  TIMEOUT,
  async (context) => {
    needsSampling(context);
    const stacks = await sampled("pushes.c");
    expect(stacks.samples).toBeGreaterThanOrEqual(ENOUGH);
    expect([...stacks.names]).not.toContain("never_called");
    expect(complete(stacks).share((frames) => !frames.includes("main"))).toBe(0);
    expect([...stacks.names]).toContain("[native: not a return address]");
  },
);

test.for([
  ["whose return address is a function", []],
  ["whose return address is a function behind one that ends in a call", ["called"]],
] as const)("a coroutine ends at its first function, %s", TIMEOUT, async ([, args], context) => {
  needsSampling(context);
  const stacks = await sampled("coroutine.c", {}, args);
  expect(stacks.samples).toBeGreaterThanOrEqual(ENOUGH);
  expect(stacks.complete).toBeGreaterThan(0.99);
  expect([...stacks.names]).not.toContain("before_the_end");
  expect([...stacks.names]).not.toContain("ends_in_call");
  expect(stacks.share(([outermost]) => outermost === "first_function")).toBeGreaterThan(0.99);
});

describe("a return address of 0 ends the stack", () => {
  test("of a coroutine, where its memory ends", TIMEOUT, async (context) => {
    needsSampling(context);
    const stacks = await sampled("wrong_rows.c", {}, ["made"]);
    expect(stacks.samples).toBeGreaterThanOrEqual(ENOUGH);
    expect(stacks.complete).toBeGreaterThan(0.99);
    expect(stacks.share(([outermost]) => outermost === "first_function")).toBeGreaterThan(0.99);
  });

  test("by a guess, where a row that is wrong finds it", TIMEOUT, async (context) => {
    needsSampling(context);
    const stacks = await sampled("wrong_rows.c");
    expect(stacks.samples).toBeGreaterThanOrEqual(ENOUGH);
    expect(stacks.guessed).toBeGreaterThan(0.95);
    expect(complete(stacks).share((frames) => !frames.includes("main"))).toBe(0);
  });
});

describe("a handler is followed to what its signal interrupted", () => {
  const chain = ["main", "interrupted", "own_restorer", "handler", "in_handler"];

  test("through code of the program's own", TIMEOUT, async (context) => {
    needsSampling(context);
    const stacks = await sampled("restorer.c");
    expect(stacks.complete).toBeGreaterThan(0.98);
    expect(stacks.share((frames) => inOrder(frames, chain))).toBeGreaterThan(0.8);
  });

  test("through a C library without rows", TIMEOUT, async (context) => {
    needs(context, MUSL);
    const flags = ["-static", "-no-pie", "-fno-pie"];
    const stacks = await sampled("signals.c", { as: "signals-musl", compiler: MUSL, flags });
    const handlers = ["raise", "second_handler", "in_second_handler"];
    expect(stacks.share((frames) => inOrder(frames, handlers))).toBeGreaterThan(0.3);
    expect(complete(stacks).share((frames) => !frames.includes("main"))).toBe(0);
  });
});

describe("functions whose return is probed keep their callers", () => {
  test.for([[], ["nested"], ["call"]])("%s", TIMEOUT, async (args, context) => {
    needsSampling(context);
    const path = workload("probes.c");
    const program = start(path, args);
    const stacks = await during([program], (pids) =>
      sampleEnough([path], { seconds: 3, frequency: 999, pids }),
    ).catch(() => undefined);
    if (!stacks?.samples) return context.skip("the kernel has no uretprobes");
    const chain = ["main", "probed_outer", "between", "probed_inner"];
    expect(stacks.complete).toBeGreaterThan(0.98);
    expect(stacks.share((frames) => inOrder(frames, chain))).toBeGreaterThan(0.3);
  });
});

test("a probed nop leads to its caller", TIMEOUT, async (context) => {
  needsSampling(context);
  const path = workload("probes.c");
  const stacks = await during([start(path, ["nops"])], (pids) =>
    sampleEnough([path], { seconds: 3, frequency: 999, pids }),
  ).catch(() => undefined);
  if (!stacks?.samples) return context.skip("the kernel has no uprobes");
  expect(stacks.complete).toBeGreaterThan(0.97);
  const calls = (name: string) => stacks.share((frames) => inOrder(frames, ["main", "nops", name]));
  expect(calls("five_bytes") + calls("ten_bytes")).toBeGreaterThan(0.5);
});

test(
  "rows that the instructions between them do not lead to are mended",
  TIMEOUT,
  async (context) => {
    needsSampling(context);
    const stacks = await sampled("misstated.c");
    expect(stacks.complete).toBeGreaterThan(0.99);
    for (const name of ["unrestored", "divided_part"]) {
      const found = new Stacks(stacks.all.filter(({ frames }) => frames.at(-1) === name));
      expect(found.samples).toBeGreaterThanOrEqual(ENOUGH / 4);
      expect(found.share((frames) => inOrder(frames, ["main", name]))).toBeGreaterThan(0.99);
    }
  },
);

test("32-bit code has the name of its function, and ends the walk", TIMEOUT, async (context) => {
  needsSampling(context);
  const options = { flags: ["-m32", "-nostdlib", "-static", "-no-pie", "-fno-pie"] };
  // It never ends by itself: where execve() refuses it (ENOEXEC), it is tried as a script, and ends.
  const { signal } = spawnSync(workload("narrow.c", options), { timeout: 300, stdio: "ignore" });
  if (signal === null) context.skip("machine: its kernel runs no 32-bit programs");
  const stacks = await sampled("narrow.c", options);
  expect(stacks.share(([reason]) => reason === "[native: 32-bit code]")).toBeGreaterThan(0.99);
  expect(stacks.share((frames) => frames.includes("narrow_leaf"))).toBeGreaterThan(0.9);
});

test("Go: who asks for the time, and the ends of its threads", TIMEOUT, async (context) => {
  needs(context, GO);
  const stacks = await sampled("goroutines.go");
  expect(stacks.samples).toBeGreaterThanOrEqual(ENOUGH);
  expect(stacks.complete).toBeGreaterThan(0.99);
  const asks = (frames: readonly string[]): boolean => frames.includes("time.now");
  const asking = new Stacks(stacks.all.filter(({ frames }) => asks(frames)));
  const chain = ["main.askOuter", "main.askInner", "time.now"];
  expect(asking.samples).toBeGreaterThan(0);
  expect(asking.share((frames) => inOrder(frames, chain))).toBe(1);
});

test(
  "Go: calls of C and back, in a program that the C linker made and stripped",
  TIMEOUT,
  async (context) => {
    needs(context, GO);
    const flags = ["-buildmode=pie", "-ldflags=-linkmode=external -s -w"];
    const stacks = await sampled("crossings.go", { as: "crossings", flags });
    expect(stacks.samples).toBeGreaterThanOrEqual(ENOUGH);
    expect(complete(stacks).share((frames) => frames.at(0) === "runtime.asmcgocall")).toBe(0);
    const burning = new Stacks(
      stacks.all.filter(({ frames }) => frames.includes("main.burnInner")),
    );
    const once = [
      "main.crossOuter",
      "runtime.cgocall",
      "runtime.asmcgocall",
      "crosscall2",
      "main.goBack",
    ];
    const chain = ["runtime.goexit", "main.main", ...once, ...once, "main.burnInner"];
    expect(burning.share((frames) => inOrder(frames, chain))).toBeGreaterThan(0.99);
    const alone = new Stacks(stacks.all.filter(({ frames }) => frames.includes("main.aloneOuter")));
    expect(alone.complete).toBeGreaterThan(0.99);
    const served = ["runtime.goexit", "runtime.gcBgMarkWorker", "runtime.systemstack"];
    expect(stacks.share((frames) => inOrder(frames, served))).toBeGreaterThan(0);
  },
);
