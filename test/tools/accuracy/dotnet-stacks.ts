/** .NET stacks: against the runtime's own StackTrace and a walk by frame pointers, and of a build. */
import { spawn } from "node:child_process";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  dotnetProgram,
  parsePerfName,
  publish,
  runSdk,
  SHAPES,
  type Shape,
} from "../../support/dotnet.ts";
import { withFolder } from "../../support/live.ts";
import { Lacking, percent, type Row, ratio, type Section } from "../../support/measure.ts";
import { perfStacks } from "../../support/perf.ts";
import { cleanEnvironment } from "../../support/polytop.ts";
import {
  type FoldedStack,
  sampleFolded,
  sampleJson,
  share,
  sleep,
  start,
} from "../../support/profile.ts";
import { each } from "./shapes.ts";

/** Until all threads have printed their chain and their methods are compiled for good. */
const SETTLE_SECONDS = 4;
/**
 * Frames of StackTrace that have no code of their own: inlined P/Invoke, calls into the runtime. Of the last two
 * it tells in trimmed programs alone.
 */
const NO_CODE =
  /\.qsort$|RuntimeMethodHandle\.InvokeMethod$|>g____PInvoke\|\d+_\d+$|InitHelpers\.InitClassHelper$/;

type Chain = readonly string[];

/** A program whose threads print the runtime's own view of their stack, and go on in its innermost method. */
interface Chains {
  readonly program: string;
  readonly args: readonly string[];
  /** That method. */
  readonly leaf: string;
  /** Its output -> chains, innermost method first. */
  parse(text: string): readonly Chain[];
}

/** What was sampled of such a program, and what is true. */
interface Sampled {
  readonly expected: readonly Chain[];
  readonly stacks: readonly FoldedStack[];
}

/** Runs the program; `sample` is called when it has settled. */
async function runChains(
  { program, args, leaf, parse }: Chains,
  sample: (pid: number) => Promise<readonly FoldedStack[]>,
  env: Readonly<Record<string, string>> = {},
): Promise<Sampled> {
  const stdio = ["ignore", "pipe", "ignore"] as const;
  const child = spawn(program, args, { env: cleanEnvironment(env), stdio: [...stdio] });
  const pid = child.pid ?? -1;
  let text = "";
  child.stdout?.setEncoding("utf8").on("data", (chunk: string) => {
    text += chunk;
  });
  try {
    await sleep(SETTLE_SECONDS);
    const stacks = await sample(pid);
    const expected = parse(text).map((chain) => chain.filter((it) => !NO_CODE.test(it)));
    return { expected, stacks: stacks.filter((it) => it.frames.includes(leaf)) };
  } finally {
    child.kill("SIGKILL");
    for (const name of ["perf", "perfinfo"]) rmSync(`/tmp/${name}-${pid}.map`, { force: true });
  }
}

const ownChains = (shape: Shape): Chains => ({
  program: dotnetProgram(shape),
  args: ["chains"],
  leaf: "Truth.Chains.Spin",
  parse: (text) =>
    text
      .split("\n")
      .filter((line) => line.startsWith("CHAIN\t"))
      .map((line) => line.split("\t").slice(1)),
});

/** Managed frames that StackTrace knows, innermost first, from the spinning method on. */
function managedChain({ frames }: FoldedStack, known: ReadonlySet<string>, leaf: string): Chain {
  const upwards = frames.toReversed().filter((frame) => known.has(frame));
  return upwards.slice(Math.max(0, upwards.indexOf(leaf)));
}

/**
 * The ways in which StackTrace may show what is on the stack: a catch or finally block runs as a function of
 * its own above its method and what that called, which StackTrace leaves out.
 */
function shownAs(chain: Chain): string[] {
  const hidden = chain.slice(1).flatMap((method, i) => {
    const again = chain.indexOf(method, i + 2);
    return again > 0 ? [[...chain.slice(0, i + 1), ...chain.slice(again)]] : [];
  });
  return [chain, ...hidden].map((it) => it.join(" < "));
}

const isWithin = (part: Chain, whole: Chain): boolean => {
  let at = 0;
  for (const frame of whole) if (frame === part[at]) at++;
  return at === part.length;
};

/** How many frames of the chain that it must be a walk has lost; the least where it could be several. */
function lostFrames(chain: Chain, expected: readonly Chain[]): number {
  const possible = expected
    .filter((it) => isWithin(chain, it))
    .map((it) => it.length - chain.length);
  return possible.length > 0 ? Math.min(...possible) : chain.length;
}

async function chainRows(name: string, chains: Chains): Promise<Row[]> {
  const { expected, stacks } = await runChains(chains, (pid) =>
    sampleFolded({ seconds: 8, frequency: 499, pids: [pid] }),
  );
  const known = new Set(expected.flat());
  const truths = new Set(expected.map((chain) => chain.join(" < ")));
  const shown = (it: FoldedStack): string[] => shownAs(managedChain(it, known, chains.leaf));
  const isTrue = (it: FoldedStack): boolean => shown(it).some((chain) => truths.has(chain));
  const whole = share(stacks, isTrue);
  if (process.env.POLYTOP_DEBUG) {
    for (const it of stacks) {
      if (!isTrue(it)) console.error(`${it.count} ${shown(it)[0]}\n   ${it.frames.join(";")}`);
    }
    for (const it of truths) console.error(`truth ${it}`);
  }
  const met = new Set(stacks.flatMap(shown));
  return [
    {
      what: `${name}: samples whose chain is the runtime's own, in order`,
      bar: "≥ 99.5 %",
      figure: `${percent(whole.hits, whole.samples)}, ${[...truths].filter((it) => met.has(it)).length} of ${truths.size} chains`,
      samples: whole.samples,
      ok: ratio(whole.hits, whole.samples) >= 0.995,
    },
  ];
}

/** perf looks for names in the perf map only where code is in no file: not where the runtime maps it twice. */
const FOR_PERF = { DOTNET_PerfMapEnabled: "1", DOTNET_EnableWriteXorExecute: "0" };

/** The program's own methods, of which perf knows the names: those that were compiled when they were first called. */
const isOwn = (name: string): boolean => name.startsWith("Truth.");

/** Frames lost by this walk and by perf's by frame pointers, of the methods that perf knows too. */
async function lost(shape: Shape): Promise<Row[]> {
  const chains = ownChains(shape);
  const figure = async (
    sample: (pid: number) => Promise<readonly FoldedStack[]>,
  ): Promise<{ lost: number; frames: number }> => {
    const { expected, stacks } = await runChains(chains, sample, FOR_PERF);
    const own = expected.map((chain) => chain.filter(isOwn));
    const known = new Set(own.flat());
    const sum = { lost: 0, frames: 0 };
    for (const stack of stacks) {
      const chain = managedChain(stack, known, chains.leaf);
      const isWhole = shownAs(chain).some((it) => own.some((truth) => truth.join(" < ") === it));
      const missing = isWhole ? 0 : lostFrames(chain, own);
      sum.lost += stack.count * missing;
      sum.frames += stack.count * (chain.length + missing);
    }
    return sum;
  };
  const ours = await figure((pid) => sampleFolded({ seconds: 8, frequency: 499, pids: [pid] }));
  const theirs = await figure(async () => {
    const { stacks } = await perfStacks({ seconds: 8, frequency: 499, callGraph: "fp" });
    return stacks.map(({ comm, frames }) => {
      const names = frames.map(({ name }) => parsePerfName(name)?.name ?? name);
      return { comm, frames: names.toReversed(), count: 1 };
    });
  });
  return [
    {
      what: `${shape.name}: managed frames lost against StackTrace`,
      bar: "≤ 0.2 %",
      figure: percent(ours.lost, ours.frames),
      samples: ours.frames,
      ok: ours.frames > 0 && ratio(ours.lost, ours.frames) <= 0.002,
    },
    {
      what: `${shape.name}: … by perf, which follows frame pointers`,
      bar: "",
      figure: percent(theirs.lost, theirs.frames),
      samples: theirs.frames,
    },
  ];
}

/**
 * More chains, of a project in $POLYTOP_DOTNET_CHAINS whose Park() prints `TRUTH thread Type::Method` for each
 * frame and then sleeps for ever: here it works instead, so that it is sampled.
 */
async function parked(shape: Shape): Promise<Row[]> {
  const project = process.env.POLYTOP_DOTNET_CHAINS;
  if (!project || !existsSync(project)) throw new Lacking("POLYTOP_DOTNET_CHAINS names no project");
  const output = publish(project, "dotnet-parked", ["--self-contained", "false"], (copy) => {
    const path = join(copy, "Workload.cs");
    const source = readFileSync(path, "utf8");
    const spinning = source.replace(
      "Thread.Sleep(Timeout.Infinite); return tag;",
      "for (long turns = 0; ; turns++) if (turns < 0) return tag;",
    );
    if (spinning === source) throw new Lacking(`${path} has no Park() that sleeps`);
    writeFileSync(path, spinning);
    // A plugin beside the program is a project of its own.
    for (const other of ["plugin", "publish"])
      rmSync(join(copy, other), { recursive: true, force: true });
  });
  return chainRows(`${shape.name}, parked chains`, {
    program: `${output}workload`,
    args: ["truth"],
    leaf: "Wl.Program.Park",
    parse: (text) => {
      const threads = new Map<string, string[]>();
      for (const line of text.split("\n")) {
        const [, thread, name] = /^TRUTH (\d+) (.*)$/.exec(line) ?? [];
        if (!thread || !name) continue;
        const chain = threads.get(thread) ?? [];
        threads.set(thread, [...chain, name.replace(/^dynamicClass::/, "").replace("::", ".")]);
      }
      return [...threads.values()];
    },
  });
}

/** Processes of a build. */
const BUILD = new Set(["dotnet", "csc", "VBCSCompiler", "MSBuild"]);
const OUTERMOST_IS_REASON = /^\[(dotnet|native|kernel): /;
const TOP = 20;

/** A build that meets polytop cold: it was started a moment before. */
const build = (): Promise<Row[]> =>
  withFolder(async (folder) => {
    const settings = "<TargetFramework>net10.0</TargetFramework><OutputType>Exe</OutputType>";
    writeFileSync(
      join(folder, "app.csproj"),
      `<Project Sdk="Microsoft.NET.Sdk"><PropertyGroup>${settings}</PropertyGroup></Project>`,
    );
    writeFileSync(join(folder, "App.cs"), 'System.Console.WriteLine("built");');
    runSdk(["restore"], folder);
    // No server stays behind.
    const options = ["--no-restore", "-nodeReuse:false", "-p:UseSharedCompilation=false"];
    const sampling = sampleFolded({ seconds: 15, frequency: 99 });
    await sleep(3);
    const running = start("dotnet", ["build", ...options], { cwd: folder });
    const stacks = (await sampling).filter(({ comm }) => BUILD.has(comm));
    await running.stop();
    const whole = share(stacks, ({ frames }) => !OUTERMOST_IS_REASON.test(frames[0] ?? ""));
    const self = new Map<string, number>();
    for (const { frames, count } of stacks) {
      const leaf = frames.at(-1) ?? "";
      self.set(leaf, (self.get(leaf) ?? 0) + count);
    }
    const sampled = stacks.reduce((sum, { count }) => sum + count, 0);
    const generated = self.get("[generated code]") ?? 0;
    const stubs = (self.get("[runtime stub]") ?? 0) + generated;
    const top = [...self].sort(([, a], [, b]) => b - a).slice(0, TOP);
    const unnamed = top.filter(([name]) => /^\[(unnamed|dotnet:|native:|generated)/.test(name));
    return [
      {
        what: "dotnet build, all of its processes, met cold: complete",
        bar: "≥ 98 %",
        figure: percent(whole.hits, whole.samples),
        samples: whole.samples,
        ok: ratio(whole.hits, whole.samples) >= 0.98,
      },
      {
        what: "… leaves that are [generated code]; with thunks that no instruction tells apart",
        bar: "≤ 0.3 %",
        figure: `${percent(generated, sampled)}; ${percent(stubs, sampled)}`,
        samples: sampled,
        ok: ratio(generated, sampled) <= 0.003,
      },
      {
        what: `… unnamed among its top ${TOP}, but object+offset`,
        bar: "0",
        figure: unnamed.length === 0 ? "0" : unnamed.map(([name]) => name).join(" "),
        ok: unnamed.length === 0,
      },
    ];
  });

const unnamedOf = (names: ReadonlyMap<string, number>): number =>
  [...names].reduce((sum, [name, count]) => sum + (name.startsWith("[unnamed") ? count : 0), 0);

/** Names in the first refresh: of a program that was running before, and of one that compiles meanwhile. */
async function first(shape: Shape): Promise<Row[]> {
  const before = start(dotnetProgram(shape), ["mix"]);
  await sleep(3);
  const early = await sampleJson({ seconds: 1, frequency: 499, pids: [before.pid] });
  await before.stop();
  const sampled = sampleJson({ seconds: 6, frequency: 99 });
  await sleep(2);
  const after = start(dotnetProgram(shape), ["mix"]);
  const late = await sampled;
  await after.stop();
  return [
    ["running before polytop, in the first refresh", early] as const,
    ["compiled since the last refresh, in the same one", late] as const,
  ].map(([what, sums]) => ({
    what: `${shape.name}: frames of methods without a name, ${what}`,
    bar: "0",
    figure: String(unnamedOf(sums.total)),
    samples: sums.samples,
    ok: unnamedOf(sums.total) === 0 && (sums.metrics.UnwindDotnetFrames ?? 0) > 0,
  }));
}

const installed = SHAPES.slice(0, 1);

export const dotnetStacks: readonly Section[] = [
  {
    name: "dotnet-chains",
    about: ".NET call chains against StackTrace",
    run: () => each(SHAPES, (shape) => chainRows(shape.name, ownChains(shape))),
  },
  {
    name: "dotnet-parked",
    about: "more .NET call chains, of the project in $POLYTOP_DOTNET_CHAINS",
    run: () => each(installed, parked),
  },
  {
    name: "dotnet-lost",
    about: ".NET frames lost, beside a walk by frame pointers",
    run: () => each(installed, lost),
  },
  { name: "dotnet-build", about: "a build with the .NET SDK", run: build },
  {
    name: "dotnet-first",
    about: "names of .NET methods in the refresh that meets them",
    run: () => each(installed, first),
  },
];
