/** .NET programs of each version and shape, sampled as a user would. */
import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { TestTerminal } from "../screen/terminal.ts";
import {
  dotnetProgram,
  isComposite,
  NATIVE_SHAPES,
  SHAPES,
  type Shape,
} from "../support/dotnet.ts";
import { Lacking } from "../support/measure.ts";
import { launcher, needsSampling } from "../support/polytop.ts";
import { during, hasRun, sampleFolded, sampleJson, share, start } from "../support/profile.ts";
import { workload } from "../support/workloads.ts";

/** The program in a shape, or the reason why it cannot be had here. */
function built(shape: Shape): { readonly program: string } | { readonly why: string } {
  try {
    return { program: dotnetProgram(shape) };
  } catch (error) {
    if (error instanceof Lacking) return { why: error.message };
    throw error;
  }
}

const TIMEOUT = 400_000;

/** A composite image takes over a minute to be built, and the shapes of 11 are those of 10: the others are for `npm run accuracy`. */
const tested = SHAPES.filter((shape) =>
  isComposite(shape) || shape.framework === "net11.0"
    ? ["net10-composite", "net11", "net11-single"].includes(shape.name)
    : true,
);

describe.each(tested)("$name", (shape) => {
  test("recursion is whole and named, and every walk has an outcome", {
    timeout: TIMEOUT,
  }, async (context) => {
    const found = built(shape);
    if ("why" in found) return context.skip(found.why);
    const program = start(found.program, ["deep", "40"]);
    await during([program], async (pids) => {
      await hasRun(program.pid, 2);
      const [sums, stacks] = await Promise.all([
        sampleJson({ seconds: 3, frequency: 199, pids }),
        sampleFolded({ seconds: 3, frequency: 199, pids }),
      ]);
      const { metrics } = sums;
      const errors = Object.entries(metrics).filter(([name]) => name.startsWith("UnwindDotnetErr"));
      const ended = errors.reduce(
        (sum, [, count]) => sum + count,
        metrics.UnwindDotnetComplete ?? 0,
      );
      expect(metrics.UnwindDotnetAttempts).toBe(ended);
      expect(metrics.UnwindDotnetAttempts).toBeGreaterThan(0);
      const inside = stacks.filter((it) => it.frames.at(-1) === "Truth.Work.Turns");
      const whole = share(inside, ({ frames }) => {
        const descents = frames.filter((frame) => frame === "Truth.Program.Descend").length;
        return descents === 41 && frames.includes("Truth.Program.Main");
      });
      expect(whole.samples).toBeGreaterThan(0);
      expect(whole.hits).toBe(whole.samples);
    });
  });
});

/** One of each version, and one whose program's file holds its runtime. */
const versions = SHAPES.filter(({ name }) => /^net\d+$|^net11-single$/.test(name));

describe.each(versions)("$name", (shape) => {
  test("a program met in its loop is known to be one, and a stub that pushes what it must keep hides no caller", {
    timeout: TIMEOUT,
  }, async (context) => {
    needsSampling(context);
    const found = built(shape);
    if ("why" in found) return context.skip(found.why);
    const program = start(found.program, ["interfaces"]);
    const stacks = await during([program], async (pids) => {
      await hasRun(program.pid, 1);
      return sampleFolded({ seconds: 2, frequency: 999, pids });
    });
    // The loop was compiled anew while it ran, and nothing below it is the runtime's own.
    const guessed = share(stacks, ({ frames }) => frames.includes("[generated code]"));
    expect(guessed.hits).toBe(0);
    const inStub = stacks.filter((it) => /^\[virtual \w+ stub\]$/.test(it.frames.at(-1) ?? ""));
    const whole = share(inStub, ({ frames }) => {
      const callers = frames.slice(-4, -1).map((frame) => frame.replace(/^Truth\./, ""));
      return callers.join() === "Program.Main,Interfaces.Run,Interfaces.Take";
    });
    expect(whole.samples).toBeGreaterThan(0);
    expect(whole.hits).toBe(whole.samples);
  });
});

const installed = SHAPES.slice(0, 1);

describe.each(installed)("$name", (shape) => {
  test("the page of a method tells which of its bodies run", {
    timeout: TIMEOUT,
  }, async (context) => {
    needsSampling(context);
    const found = built(shape);
    if ("why" in found) return context.skip(found.why);
    const program = start(found.program, ["mix"]);
    await during([program], async () => {
      await hasRun(program.pid, 2);
      // The program's own methods: those of the libraries are precompiled, as their files tell.
      const terminal = new TestTerminal(launcher, ["-p", String(program.pid), "-f", "Truth."], {
        columns: 100,
        rows: 30,
        env: { LANG: "C.UTF-8" },
      });
      try {
        await terminal.until((text) => /SELF%.*\n.*Truth\./.test(text), "a method", 30_000);
        terminal.type("j");
        await terminal.until((text) => text.includes("▶"), "a selected row", 30_000);
        terminal.type("\r");
        const told = /code: .*% (tier [01]|OSR|compiled once)/;
        await terminal.until((text) => told.test(text), "its bodies", 30_000);
      } finally {
        terminal.type("q");
        await terminal.exited;
      }
    });
  });

  test("a collected dynamic method never lends its name", { timeout: TIMEOUT }, async (context) => {
    const found = built(shape);
    if ("why" in found) return context.skip(found.why);
    const program = start(found.program, ["dynamic"]);
    const stacks = await during([program], async (pids) => {
      await hasRun(program.pid, 2);
      return sampleFolded({ seconds: 5, frequency: 199, pids });
    });
    const withLeaf = stacks.filter((it) => it.frames.some((frame) => /\.Leaf\d$/.test(frame)));
    expect(withLeaf.length).toBeGreaterThan(0);
    for (const { frames } of withLeaf) {
      const at = frames.findIndex((frame) => /\.Leaf\d$/.test(frame));
      expect(frames[at - 1]).toBe(`Calls${frames[at]?.slice(-1)}`);
    }
  });
});

test("stubs of .NET 11 are called what they are by its own numbers", {
  timeout: TIMEOUT,
}, async (context) => {
  const shape = SHAPES.find(({ name }) => name === "net11");
  const found = shape ? built(shape) : { why: "no such shape" };
  if ("why" in found) return context.skip(found.why);
  // Calls are counted for so long that their stubs are met.
  const count = ["DOTNET_TC_CallCountThreshold=30000", "DOTNET_TC_BackgroundWorkerTimeoutMs=0"];
  const program = start("/usr/bin/env", [...count, found.program, "mix"]);
  const { self } = await during([program], async (pids) => {
    await hasRun(program.pid, 2);
    return sampleJson({ seconds: 4, frequency: 999, pids });
  });
  expect(self.get("[call counting stub]") ?? 0).toBeGreaterThan(0);
  // There is no call through a table of virtual methods in it, and 8 of 11 is what 9 was before.
  expect(self.get("[virtual table stub]") ?? 0).toBe(0);
});

describe.each(NATIVE_SHAPES.slice(0, 1))("$name", (shape) => {
  test("epilogs, which its unwind entries do not tell, are walked by their code", {
    timeout: TIMEOUT,
  }, async (context) => {
    needsSampling(context);
    const found = built(shape);
    if ("why" in found) return context.skip(found.why);
    const program = start(found.program, ["calls"]);
    const sums = await during([program], async (pids) => {
      await hasRun(program.pid, 1);
      return sampleJson({ seconds: 3, frequency: 999, pids });
    });
    // It does nothing but call: one sample in nine was in an epilog.
    expect(sums.samples).toBeGreaterThan(0);
    expect(sums.complete / sums.samples).toBeGreaterThan(0.99);
  });

  test("methods have the names that the program itself has for them, with its symbols and without", {
    timeout: TIMEOUT,
  }, async (context) => {
    needsSampling(context);
    const found = built(shape);
    if ("why" in found) return context.skip(found.why);
    const folder = mkdtempSync(join(tmpdir(), "polytop-aot-"));
    try {
      // The symbols stay behind, in a file beside the program.
      const alone = join(folder, "program");
      copyFileSync(found.program, alone);
      for (const path of [found.program, alone]) {
        const { self, samples } = await during([start(path, ["calls"])], (pids) =>
          sampleJson({ seconds: 2, frequency: 999, pids }),
        );
        expect([...self.keys()].filter((name) => name.includes("Truth_"))).toEqual([]);
        const own = [...self].filter(([name]) => /^Truth\.Calls\.\w+$/.test(name));
        expect(own.reduce((sum, [, count]) => sum + count, 0) / samples).toBeGreaterThan(0.8);
      }
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});

test("a program that only looks like a runtime: counted reasons, no name", {
  timeout: TIMEOUT,
}, async (context) => {
  needsSampling(context);
  const program = start(workload("dotnet-liar.c", { flags: ["-rdynamic"] }));
  const sums = await during([program], (pids) => sampleJson({ seconds: 5, frequency: 999, pids }));
  const { metrics, snapshots, samples, complete, guessed, broken, truncated } = sums;
  const rows = snapshots.flatMap((it) => it.functions);
  const claimed = rows.filter(({ runtime, name }) => runtime === "dotnet" && !name.startsWith("["));
  expect(claimed).toEqual([]);
  // It was taken for one, and its own function is named all the same.
  expect(metrics.UnwindDotnetAttempts).toBeGreaterThan(0);
  expect(rows.map(({ name }) => name)).toContain("above_lies");
  expect(complete + guessed + broken + truncated).toBe(samples);
});
