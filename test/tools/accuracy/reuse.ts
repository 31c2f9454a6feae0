/** Names of code at addresses that are used again and again: against programs that say what they run. */
import { spawn } from "node:child_process";
import { rmSync } from "node:fs";
import { dotnetProgram, SHAPES, type Shape } from "../../support/dotnet.ts";
import { Lacking, type Row, type Section } from "../../support/measure.ts";
import { cleanEnvironment } from "../../support/polytop.ts";
import { type Snapshot, sampleJson, sleep } from "../../support/profile.ts";
import { workload } from "../../support/workloads.ts";

/** How long one function runs before another one takes its place. */
const MILLISECONDS = 3000;
const DELAY = 0.5;
const SECONDS = 24;
const FREQUENCY = 999;

/** A program that prints `milliseconds name [address]` when it begins to run other code. */
interface Reusing {
  readonly name: string;
  readonly program: string;
  readonly args: readonly string[];
  /** Finds the names that it prints among those of functions. */
  readonly pattern: RegExp;
  readonly env?: Readonly<Record<string, string>>;
}

/** What ran from a moment on, in milliseconds since 1970. */
interface Turn {
  readonly from: number;
  readonly name: string;
  readonly address: string;
}

function parseTurns(text: string): Turn[] {
  return text
    .split("\n")
    .map((line) => /^(\d+) (\w+) ?(\w*)$/.exec(line))
    .filter((found) => found !== null)
    .map(([, from, name = "", address = ""]) => ({ from: Number(from), name, address }));
}

/** The one that ran during all of a refresh and the one before; undefined where there was a change. */
function turnOf(
  turns: readonly Turn[],
  snapshot: Snapshot & { readonly time: string },
): Turn | undefined {
  const end = Date.parse(snapshot.time);
  // A refresh ends when its counts are taken, a little before it is written.
  const begin = end - 2.2 * DELAY * 1000;
  const last = turns.findLast(({ from }) => from <= begin);
  return turns.some(({ from }) => from > begin && from <= end) ? undefined : last;
}

async function rows({ name, program, args, pattern, env = {} }: Reusing): Promise<Row[]> {
  const stdio = ["ignore", "pipe", "ignore"] as const;
  const child = spawn(program, args, { env: cleanEnvironment(env), stdio: [...stdio] });
  const pid = child.pid ?? -1;
  let text = "";
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
    text += chunk;
  });
  try {
    await sleep(2);
    if (child.exitCode !== null) throw new Lacking(`${program} ended`);
    const options = { seconds: SECONDS, delay: DELAY, frequency: FREQUENCY, pids: [pid] };
    const { snapshots } = await sampleJson(options);
    const turns = parseTurns(text);
    let right = 0;
    let wrong = 0;
    let unnamed = 0;
    for (const snapshot of snapshots as (Snapshot & { readonly time: string })[]) {
      const turn = turnOf(turns, snapshot);
      if (!turn) continue;
      for (const { name: shown, self } of snapshot.functions) {
        const found = pattern.exec(shown)?.[0];
        if (found === turn.name) right += self;
        else if (found !== undefined) wrong += self;
        else if (/generated code|unnamed/.test(shown)) unnamed += self;
      }
    }
    const addresses = new Set(turns.map(({ address }) => address));
    const reused =
      addresses.size > 1
        ? `, ${turns.length - addresses.size} of ${turns.length} addresses reused`
        : "";
    return [
      {
        what: `${name}: wrong names after one refresh (unnamed${reused})`,
        bar: "0",
        figure: `${wrong} (${unnamed})`,
        samples: right + wrong + unnamed,
        ok: wrong === 0 && right > 0,
      },
    ];
  } finally {
    child.kill("SIGKILL");
    rmSync(`/tmp/perf-${pid}.map`, { force: true });
  }
}

const native = (): Reusing[] =>
  ["append", "whole", "rename"].map((kind) => ({
    name: `perf map, ${kind}`,
    program: workload("reuse.c"),
    args: [kind, String(MILLISECONDS)],
    pattern: /^loop_\d+$/,
  }));

/** A function after the other, which are forgotten: their code is collected and gives way to that of later ones. */
const NODE = `
let number = 0;
const churn = () => { for (let i = 0; i < 200; i++) eval("(function filler_" + number + "_" + i + "(x) { let s = x; for (let k = 0; k < 300; k++) s = s * 31 + k | 0; return s })")(i); };
const next = () => {
  const name = "loop_" + number++;
  const loop = eval("(function " + name + "() { let sum = 1; for (let i = 0; i < 3e6; i++) sum = (sum * 31 + i) | 0; return sum })");
  churn();
  gc();
  const from = Date.now();
  console.log(from + " " + name);
  const run = () => { loop(); Date.now() - from < ${MILLISECONDS} ? setImmediate(run) : next(); };
  run();
};
next();
`;

const node = (): Reusing => ({
  name: "Node with --perf-basic-prof and churn",
  program: process.execPath,
  args: ["--perf-basic-prof", "--expose-gc", "-e", NODE],
  pattern: /\bloop_\d+\b/,
});

/** Methods whose code is collected: of assemblies that are unloaded, and dynamic ones. */
const collected = (shape: Shape): Reusing[] =>
  ["stream", "file", "emit", "dynamic"].map((kind) => ({
    name: `${shape.name}, collected (${kind})`,
    program: dotnetProgram(shape),
    args: ["reuse", kind, String(MILLISECONDS)],
    pattern: /\bloop_\d+\b/,
  }));

/** An installed runtime reads its assembly from a file of its own; so do these. */
const shapes = SHAPES.filter(({ name }) => /^(installed|net8|net9|net11)$/.test(name));

async function each(programs: readonly Reusing[]): Promise<Row[]> {
  const all: Row[] = [];
  for (const program of programs) all.push(...(await rows(program)));
  return all;
}

export const reuse: readonly Section[] = [
  {
    name: "reuse",
    about: "names of code whose addresses are used again",
    run: () => each([...native(), node()]),
  },
  {
    name: "dotnet-reuse",
    about: "names of .NET methods whose memory is used again",
    run: () => each(shapes.flatMap(collected)),
  },
];
