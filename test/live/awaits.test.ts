/** Who awaits in .NET, against a program whose leaves tell by their names who calls and who awaits them. */
import { expect, test } from "vitest";
import { awaitsProgram, builtShape } from "../support/dotnet.ts";
import { during, type Snapshot, sampleJson, start } from "../support/profile.ts";

const TIMEOUT = 400_000;
/** Methods and types are known a moment after they were met. */
const LEARNING_REFRESHES = 4;

interface JsonFrame {
  readonly name: string;
  readonly awaiting?: boolean;
}

interface JsonFunction {
  readonly name: string;
  readonly stacks: readonly { readonly count: number; readonly frames: readonly JsonFrame[] }[];
}

const LEAF = "Awaits.Leaf.";
const MACHINE = /^(.*)\+<(.*)>d(?:__\d+)?(?:`\d+)?\.MoveNext$/;

/** A frame as the source has it: `Chain3`, `~Forever`, `Main.Turn`; undefined where it is the framework's. */
function spell({ name, awaiting }: JsonFrame): string | undefined {
  if (name.startsWith("[") && !name.startsWith("[unnamed")) return name;
  if (!name.startsWith("Awaits.")) return undefined;
  const plain = name
    .replace(MACHINE, "$1.$2")
    .replace(/^Awaits\./, "")
    .replace(/^Program(\+<>c(__DisplayClass[\d_]+)?)?\./, "")
    .replace(/^<(.*)>b__[\d_]+$/, "$1.lambda")
    .replace(/^<(.*)>g__(.*)\|[\d_]+$/, "$1.$2");
  return (awaiting ? "~" : "") + plain;
}

/** The stacks outside of each leaf, innermost first, with their samples: once methods and types are known. */
function stacksOf(snapshots: readonly Snapshot[]): Map<string, Map<string, number>> {
  const found = new Map<string, Map<string, number>>();
  for (const { functions } of snapshots.slice(LEARNING_REFRESHES)) {
    for (const { name, stacks } of functions as unknown as readonly JsonFunction[]) {
      if (!name.startsWith(LEAF) || name === `${LEAF}Burn`) continue;
      const outside = found.get(name.slice(LEAF.length)) ?? new Map<string, number>();
      found.set(name.slice(LEAF.length), outside);
      for (const { count, frames } of stacks) {
        const leaf = frames.findIndex((it) => it.name === name);
        const spelled = frames.slice(leaf + 1).flatMap((it) => spell(it) ?? []);
        // What starts a state machine is a frame of the same name.
        const text = spelled.filter((it, at) => it !== spelled[at - 1]).join(" ");
        outside.set(text, (outside.get(text) ?? 0) + count);
      }
    }
  }
  return found;
}

const OUTER = "~Main.Turn ~Forever ~Main [thread pool]";

/** For each leaf who calls and who awaits it, innermost first. */
const TOLD: Readonly<Record<string, string>> = {
  Deep: `Chain3 ~Chain2 ~Chain1 ${OUTER}`,
  BehindDelay: `Waits ~Delayed ${OUTER}`,
  OfValue: `Value2 ~Value1 ~Values ${OUTER}`,
  Pooled: `Pool1 ~Pools ${OUTER}`,
  InIterator: `Numbers ~Iterates ${OUTER}`,
  OfMany: `One ~All ${OUTER}`,
  InLambda: `Lambdas.lambda ~Lambdas ${OUTER}`,
  OfNobody: "Nobody [thread pool]",
  // The first of the two is not awaited yet.
  OfTwo: "Awaited [several await: the first] ~Second [thread pool]",
  FirstRun: "Begun Begins Main.Turn ~Forever ~Main [thread pool]",
  Generic: `Pair\`1.Inner ~Pair\`1.Of ~Generics ${OUTER}`,
};

const sample = (program: string, mode: string, seconds: number, more: readonly string[] = []) =>
  during([start(program, [mode])], (pids) =>
    sampleJson({ seconds, frequency: 299, pids, args: ["--stacks", "200", ...more] }),
  );

test.for(["installed", "net8"])(
  "awaiting methods stand outside of what was resumed: %s",
  { timeout: TIMEOUT },
  async (shape, context) => {
    const { snapshots } = await sample(builtShape(awaitsProgram, shape, context), "honest", 10);
    const stacks = stacksOf(snapshots);
    let [right, all] = [0, 0];
    const wrong: string[] = [];
    for (const [leaf, told] of Object.entries(TOLD)) {
      expect([...(stacks.get(leaf)?.keys() ?? [])], leaf).toContain(told);
      for (const [met, count] of stacks.get(leaf) ?? []) {
        all += count;
        if (met === told) right += count;
        // Who awaits may still be on the way there, on another thread; or the stack is the physical one.
        else if (!isPart(met, told)) wrong.push(`${leaf}: ${met}`);
      }
    }
    expect(wrong).toEqual([]);
    expect(right / all).toBeGreaterThan(0.9);
  },
);

/** Whether a stack says nothing that is not told, and only less. */
function isPart(met: string, told: string): boolean {
  return told.startsWith(met.replace(" [thread pool]", "")) || !met.includes("~");
}

test("two that await one helper share its time", { timeout: TIMEOUT }, async (context) => {
  const program = builtShape(awaitsProgram, "installed", context);
  const { snapshots } = await sample(program, "shared", 9);
  const shared = stacksOf(snapshots).get("Shared") ?? new Map<string, number>();
  const of = (name: string): number =>
    [...shared].reduce((sum, [stack, count]) => sum + (stack.includes(name) ? count : 0), 0);
  const both = of("~Sixty") + of("~Forty");
  expect(both).toBeGreaterThan(0);
  expect(of("~Sixty") / both).toBeGreaterThan(0.55);
  expect(of("~Sixty") / both).toBeLessThan(0.65);
  const physical = await sample(program, "shared", 3, ["--no-async"]);
  expect(physical.total.has("[thread pool]")).toBe(false);
  expect(physical.total.get("System.Threading.ThreadPoolWorkQueue.Dispatch")).toBeGreaterThan(0);
});

test("chains that no program makes are bounded", { timeout: TIMEOUT }, async (context) => {
  const { snapshots, metrics, samples, complete } = await sample(
    builtShape(awaitsProgram, "installed", context),
    "made-up",
    9,
  );
  const stacks = stacksOf(snapshots);
  for (const leaf of ["InCircle", "OfGarbage"]) {
    const met = [...(stacks.get(leaf)?.keys() ?? [])];
    expect(met.length, leaf).toBeGreaterThan(0);
    expect(met.filter((it) => it.includes("~") || it.includes("[thread pool]"))).toEqual([]);
  }
  const million = [...(stacks.get("OfMillion")?.keys() ?? [])];
  expect(million).toContain("Million [several await: the first] [thread pool]");
  for (const counter of ["AwaitsLimit", "AwaitsUnknown", "AwaitsSeveral", "AwaitsNobody"])
    expect(metrics[counter], counter).toBeGreaterThan(0);
  expect(complete / samples).toBeGreaterThan(0.95);
});
