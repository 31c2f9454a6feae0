/**
 * .NET: names against the runtime's own perf map, chains against its own StackTrace, shares, dynamic methods
 * under collections, short-lived programs.
 */
import { spawn } from "node:child_process";
import { rmSync } from "node:fs";
import {
  dotnetProgram,
  NATIVE_SHAPES,
  PERF_TIERS,
  type PerfMethod,
  readPerfMap,
  type SampledMethod,
  SHAPES,
  type Shape,
  sampleMethods,
} from "../../support/dotnet.ts";
import { measure, percent, type Row, ratio, type Section } from "../../support/measure.ts";
import { cleanEnvironment } from "../../support/polytop.ts";
import { during, sampleFolded, sampleJson, share, sleep, start } from "../../support/profile.ts";
import { each } from "./shapes.ts";

const WARM_UP_SECONDS = 2;

export async function namesAgainstPerfMap(shape: Shape): Promise<Row[]> {
  const program = dotnetProgram(shape);
  const env = cleanEnvironment({ DOTNET_PerfMapEnabled: "1" });
  const child = spawn(program, ["mix"], { env, stdio: "ignore" });
  const pid = child.pid ?? -1;
  try {
    await sleep(WARM_UP_SECONDS);
    const methods = await sampleMethods(pid, 8);
    await sleep(1);
    const truth = readPerfMap(pid);
    const differing = methods.flatMap((method) => {
      const said = truth.get(method.start);
      if (!said) return [];
      const isSame = said.name === method.name && said.module === method.module;
      return isSame ? [] : [`${method.name} (${method.module}), not ${said.name} (${said.module})`];
    });
    const known = methods.filter((it) => truth.has(it.start)).length;
    if (process.env.POLYTOP_DEBUG) console.error(differing.join("\n"));
    return [
      {
        what: `${shape.name}: methods named as in the runtime's perf map`,
        bar: "≥ 99.9 %",
        figure: `${percent(known - differing.length, known)} of ${known} (${methods.length} met)`,
        ok: known > 20 && ratio(known - differing.length, known) >= 0.999,
      },
      ...bodiesAgainstPerfMap(shape, methods, truth),
    ];
  } finally {
    child.kill("SIGKILL");
    rmSync(`/tmp/perf-${pid}.map`, { force: true });
    rmSync(`/tmp/perfinfo-${pid}.map`, { force: true });
  }
}

/** `tier 1  TKey=System.Int32  TValue=System.Int64` as the tier and `System.Int32,System.Int64`. */
function parseBody(body: string): { readonly tier: string; readonly generic: string } {
  const parts = body.split("  ");
  return {
    tier: parts.find((part) => !part.includes("=")) ?? "",
    generic: parts
      .filter((part) => part.includes("="))
      .map((part) => part.slice(part.indexOf("=") + 1))
      .join(),
  };
}

/** Tiers and generic arguments of the types; the perf map has none of methods. */
function bodiesAgainstPerfMap(
  shape: Shape,
  methods: readonly SampledMethod[],
  truth: ReadonlyMap<bigint, PerfMethod>,
): Row[] {
  const bodies = methods.flatMap((method) => {
    const said = truth.get(method.start);
    return said && method.module !== "[dynamic]" ? [{ ...parseBody(method.body), said }] : [];
  });
  const told = bodies.filter(({ tier }) => tier !== "");
  const wrong = told.filter(({ tier, said }) => {
    const names: readonly string[] = PERF_TIERS[said.tier] ?? [];
    return !names.includes(tier);
  });
  const generic = bodies.filter(({ said }) => said.typeArguments !== "");
  const same = generic.filter(({ generic: own, said }) =>
    `${own},`.startsWith(`${said.typeArguments.slice(1, -1)},`),
  );
  if (process.env.POLYTOP_DEBUG) {
    for (const { tier, said } of wrong) console.error(`${tier}, not ${said.tier}: ${said.name}`);
  }
  return [
    {
      what: `${shape.name}: tiers that are not the runtime's`,
      bar: "0",
      figure: `${wrong.length} of ${told.length} told (of ${bodies.length})`,
      ok: wrong.length === 0,
    },
    {
      what: `${shape.name}: generic arguments of types as in the perf map`,
      bar: "≥ 99.9 %",
      figure: `${percent(same.length, generic.length)} of ${generic.length}`,
      ok: ratio(same.length, generic.length) >= 0.999,
    },
  ];
}

export async function complete(shape: Shape): Promise<Row[]> {
  const program = start(dotnetProgram(shape), ["mix"]);
  const sums = await during([program], async (pids) => {
    await sleep(WARM_UP_SECONDS);
    return sampleJson({ seconds: 6, frequency: 999, pids });
  });
  const unnamed = [...sums.self].filter(([name]) => name.startsWith("[unnamed"));
  const unnamedSamples = unnamed.reduce((sum, [, count]) => sum + count, 0);
  return [
    {
      what: `${shape.name}: complete to the thread's start`,
      bar: "≥ 99.5 %",
      figure: percent(sums.complete, sums.samples, 3),
      samples: sums.samples,
      ok: ratio(sums.complete, sums.samples) >= 0.995,
    },
    {
      what: `${shape.name}: leaves without a name`,
      bar: "≤ 0.1 %",
      figure: percent(unnamedSamples, sums.samples, 3),
      ok: ratio(unnamedSamples, sums.samples) <= 0.001,
    },
  ];
}

const SHARES = { "Truth.Generic`1.Sixty": 60, "Truth.Program.Thirty": 30, Ten: 10 } as const;

export async function shares(shape: Shape): Promise<Row[]> {
  const program = start(dotnetProgram(shape), ["shares"]);
  const sums = await during([program], async (pids) => {
    await sleep(WARM_UP_SECONDS);
    return sampleJson({ seconds: 8, frequency: 499, pids });
  });
  const off = Object.entries(SHARES).map(([name, truth]) => {
    const measured = 100 * ratio(sums.self.get(name) ?? 0, sums.samples);
    return { text: measured.toFixed(1), points: Math.abs(measured - truth) };
  });
  const worst = Math.max(...off.map(({ points }) => points));
  return [
    {
      what: `${shape.name}: generic, static and dynamic method that use 60/30/10 %`,
      bar: "within 3 points",
      figure: `${off.map(({ text }) => text).join("/")}: off by ${worst.toFixed(1)}`,
      samples: sums.samples,
      ok: worst <= 3,
    },
  ];
}

async function dynamicMethods(shape: Shape): Promise<Row[]> {
  const program = start(dotnetProgram(shape), ["dynamic"]);
  const stacks = await during([program], async (pids) => {
    await sleep(WARM_UP_SECONDS);
    return sampleFolded({ seconds: 12, frequency: 499, pids });
  });
  const withLeaf = stacks.filter((it) => it.frames.some((frame) => /\.Leaf\d$/.test(frame)));
  const wrong = share(withLeaf, ({ frames }) => {
    const at = frames.findIndex((frame) => /\.Leaf\d$/.test(frame));
    return frames[at - 1] !== `Calls${frames[at]?.slice(-1)}`;
  });
  return [
    {
      what: `${shape.name}: dynamic methods under a collection each second, wrong names`,
      bar: "0",
      figure: String(wrong.hits),
      samples: wrong.samples,
      ok: wrong.hits === 0 && wrong.samples > 100,
    },
  ];
}

/** Programs that work for some milliseconds and end, one after the other. */
async function brief(shape: Shape, milliseconds: number, least: number): Promise<Row> {
  const program = dotnetProgram(shape);
  const loop = start("/bin/sh", ["-c", `while :; do "${program}" brief ${milliseconds}; done`]);
  const stacks = await during([loop], async () => {
    await sleep(3);
    return sampleFolded({ seconds: 15, frequency: 99 });
  });
  const own = stacks.filter((it) => it.comm === "program");
  const good = share(
    own,
    ({ frames }) => !frames.some((frame) => /^\[(dotnet|native|unnamed)/.test(frame)),
  );
  const work = milliseconds > 0 ? `${milliseconds} ms of work` : "one call";
  return {
    what: `${shape.name}: a program of ${work}, in a loop: complete and named`,
    bar: `≥ ${least} %`,
    figure: percent(good.hits, good.samples),
    samples: good.samples,
    ok: ratio(good.hits, good.samples) >= least / 100,
  };
}

const installed = SHAPES.slice(0, 1);

export const dotnet: readonly Section[] = [
  {
    name: "dotnet-names",
    about: ".NET names against the runtime's perf map",
    run: () => each(SHAPES, namesAgainstPerfMap),
  },
  {
    name: "dotnet-complete",
    about: ".NET stacks complete and named",
    run: () => each([...SHAPES, ...NATIVE_SHAPES], complete),
  },
  {
    name: "dotnet-shares",
    about: "known shares of .NET methods",
    run: () => each(installed, shares),
  },
  {
    name: "dotnet-dynamic",
    about: "dynamic methods that are collected",
    run: () => each(installed, dynamicMethods),
  },
  {
    name: "dotnet-brief",
    about: "short-lived .NET programs",
    run: () =>
      each(installed, async (shape) => [await brief(shape, 0, 98), await brief(shape, 500, 98.5)]),
  },
];

if (import.meta.main) process.exit((await measure(dotnet)) ? 0 : 1);
