/** How right the stacks of JavaScript are: against what programs see of themselves, and whole on programs of others. */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { exclusively } from "../../support/exclusive.ts";
import { liveTicks } from "../../support/live-ticks.ts";
import { Lacking, percent, type Row, ratio, type Section } from "../../support/measure.ts";
import {
  compareWithTruth,
  isMissing,
  javascriptFrames,
  NODES,
  startNode,
  withoutInlining,
  withoutTurbofan,
} from "../../support/node.ts";
import { hasRun } from "../../support/profile.ts";
import { stackCounts } from "../../support/ticks.ts";
import { programRows, sampleLoop, sumOf } from "./loops.ts";

/** A version of Node that was found. */
interface Node {
  readonly name: string;
  readonly path: string;
}

/** Rows for each node that can be had; the reasons why others cannot. */
async function eachNode(rowsOf: (node: Node) => Promise<readonly Row[]>): Promise<Row[]> {
  const rows: Row[] = [];
  for (const { name, get } of NODES) {
    const path = get();
    if (isMissing(path)) rows.push({ what: path, bar: "", figure: "skipped" });
    else rows.push(...(await rowsOf({ name, path })));
  }
  return rows;
}

/** What was sampled of a program once the file of node has been read, and what the program saw. */
async function sampleProgram(
  { path }: Node,
  program: string,
  options: readonly string[],
  seconds: number,
  frequency: number,
  samples = 0,
): Promise<{ ticks: Awaited<ReturnType<typeof liveTicks>>; truth: readonly string[] }> {
  const running = startNode(path, program, options);
  try {
    await hasRun(running.pid, 1);
    const ticks = await liveTicks({
      seconds: seconds + 2,
      frequency,
      samples,
      pids: [running.pid],
    });
    return { ticks: ticks.slice(2), truth: running.truth() };
  } finally {
    await running.stop();
  }
}

/** How the stacks of a program agree with what it saw; `lacking`: so many may say that they lack what was compiled in. */
export async function agreementOf(
  node: Node,
  what: string,
  program: string,
  options: readonly string[],
  lacking: number,
): Promise<Row[]> {
  const { ticks, truth } = await sampleProgram(node, program, options, 6, 499);
  const { samples, complete, inside, same, merged, wrong } = compareWithTruth(ticks, truth);
  if (process.env.POLYTOP_DEBUG) console.error(node.name, what, wrong);
  return [
    {
      what: `${node.name}, ${what}: stacks that the program saw too: names, scripts, lines where told`,
      bar: "≥ 99.5 %",
      figure: percent(same, inside),
      samples: inside,
      ok: inside >= 200 && ratio(same, inside) >= 0.995,
    },
    {
      what: `${node.name}, ${what}: of them those that say that they lack what V8 compiled in`,
      bar: lacking < 1 ? `≤ ${100 * lacking} %` : "",
      figure: percent(merged, same),
      samples: same,
      ok: ratio(merged, same) <= lacking,
    },
    {
      what: `${node.name}, ${what}: complete stacks`,
      bar: "≥ 99.5 %",
      figure: percent(complete, samples),
      samples,
      ok: ratio(complete, samples) >= 0.995,
    },
  ];
}

const stacksOf = async (node: Node): Promise<Row[]> => [
  ...(await agreementOf(node, "calls of every kind", "kinds.cjs", [], 1)),
  ...(await agreementOf(node, "no inlining", "kinds.cjs", withoutInlining(node.name), 0.01)),
  ...(await agreementOf(node, "inlined helpers", "inlined.cjs", [], 0.01)),
  ...(await agreementOf(node, "without TurboFan", "inlined.cjs", withoutTurbofan(node.name), 0.01)),
];

/** What a program that has a CPU for itself gets in ten seconds and the two that are left out: fewer say less by chance. */
const SHARED_SAMPLES = 12 * 490;
const SHARES = { by_recursion: 40, by_generator: 30, by_callback: 20, by_async: 10 } as const;

export async function sharesOf(node: Node): Promise<Row[]> {
  const { ticks } = await sampleProgram(node, "shares.cjs", [], 10, 499, SHARED_SAMPLES);
  const counts = stackCounts(...ticks);
  const samples = sumOf(counts, () => true);
  const shares = Object.keys(SHARES).map((name) =>
    sumOf(counts, ({ stack }) => javascriptFrames(stack).some((it) => it.function.name === name)),
  );
  const off = Object.values(SHARES).map((truth, at) =>
    Math.abs((100 * (shares[at] ?? 0)) / samples - truth),
  );
  return [
    {
      what: `${node.name}: shares 40/30/20/10 of recursion, generator, callback, awaited call`,
      bar: "within 1 point",
      figure: shares.map((it) => ((100 * it) / samples).toFixed(1)).join(" / "),
      samples,
      ok: Math.max(...off) <= 1,
    },
  ];
}

/** Whether the frame of a function that says its number agrees with it in file and line. */
async function reuseOf(node: Node): Promise<Row[]> {
  const { ticks } = await sampleProgram(node, "reuse.cjs", ["--expose-gc"], 14, 997);
  let samples = 0;
  let wrong = 0;
  for (const { stack, count } of stackCounts(...ticks)) {
    let inner: string | undefined;
    for (const { function: it, line = 0 } of javascriptFrames(stack)) {
      const number = /(?:method|made)_(\d+)$/.exec(it.name)?.[1];
      if (number === undefined) continue;
      samples += count;
      const distance = line - Number(number);
      const isHere = line === 0 || (distance > 0 && distance <= 11);
      const isOne = inner === undefined || inner === number;
      inner = number;
      if (it.module.endsWith(`file_${number}.js`) && isHere && isOne) continue;
      wrong += count;
      if (process.env.POLYTOP_DEBUG) console.error(it.name, it.module, line);
    }
  }
  return [
    {
      what: `${node.name}: functions made, moved, freed and made again: wrong names`,
      bar: "0 in 10000",
      figure: String(wrong),
      samples,
      ok: wrong === 0 && samples >= 10_000,
    },
  ];
}

const PROGRAMS_FOLDER = `${homedir()}/.cache/polytop/nodes/programs`;
const PACKAGES = ["typescript@5", "eslint@9", "webpack@5", "webpack-cli@6", "vitest@3", "npm@11"];

/** Files that the programs work on: made once, of which none takes long. */
const MODULES = 60;

/** What runs again and again in the folder of the programs. */
const PROGRAMS: Readonly<Record<string, readonly string[]>> = {
  npm: ["node_modules/npm/bin/npm-cli.js", "ls", "--all", "--json"],
  "TypeScript 5": [
    ...["node_modules/typescript/bin/tsc", "--noEmit", "--skipLibCheck", "false"],
    ...["--allowJs", "--checkJs", "--types", "node", "src/main.js"],
  ],
  vitest: ["node_modules/vitest/vitest.mjs", "run", "--root", "tests"],
  eslint: ["node_modules/eslint/bin/eslint.js", "src", "node_modules/typescript/lib/_tsc.js"],
  webpack: ["node_modules/webpack/bin/webpack.js", "--mode", "production", "src/main.js"],
};

function preparePrograms(): void {
  mkdirSync(`${PROGRAMS_FOLDER}/src`, { recursive: true });
  mkdirSync(`${PROGRAMS_FOLDER}/tests`, { recursive: true });
  const write = (path: string, text: string): void =>
    writeFileSync(`${PROGRAMS_FOLDER}/${path}`, text);
  write("package.json", '{ "name": "programs", "private": true, "type": "module" }\n');
  write(
    "eslint.config.js",
    'export default [{ rules: { "no-unused-vars": "warn", complexity: "warn" } }];\n',
  );
  const numbers = Array.from({ length: MODULES }, (_, number) => number);
  for (const number of numbers) {
    const body = `export class Part${number} { constructor(of) { this.of = of; } get sum() { return [...this.of].map((x) => x * ${number}).reduce((a, b) => a + b, 0); } }\n`;
    write(`src/part${number}.js`, body);
    write(
      `tests/part${number}.test.js`,
      `import { expect, test } from "vitest";\nimport { Part${number} } from "../src/part${number}.js";\ntest.for([1, 2, 3, 4, 5, 6, 7, 8])("%i", (n) => expect(new Part${number}([n]).sum).toEqual(${number} * n));\n`,
    );
  }
  const lines = numbers.map((number) => `import { Part${number} } from "./part${number}.js";`);
  const uses = numbers.map((number) => `console.log(new Part${number}([1, 2, 3]).sum);`);
  write("src/main.js", `${[...lines, ...uses].join("\n")}\n`);
  if (existsSync(`${PROGRAMS_FOLDER}/node_modules/webpack`)) return;
  try {
    const options = { cwd: PROGRAMS_FOLDER, stdio: "ignore", timeout: 240_000 } as const;
    execFileSync(
      "npm",
      ["install", "--no-save", "--ignore-scripts", ...PACKAGES, "@types/node"],
      options,
    );
  } catch {
    throw new Lacking(`${PACKAGES.join(", ")} cannot be had from npm`);
  }
}

async function programOf(what: string, args: readonly string[], node: Node): Promise<Row[]> {
  const counts = await sampleLoop([node.path, ...args], PROGRAMS_FOLDER);
  const samples = sumOf(counts, () => true);
  const generated = sumOf(counts, ({ stack }) =>
    stack.frames.some(({ folded, function: it }) => !folded && it.name === "[generated code]"),
  );
  const title = `${what}, ${node.name}`;
  return [
    ...programRows(title, counts, "JavaScript", javascriptFrames),
    {
      what: `${title}: stacks with [generated code]`,
      bar: "≤ 0.5 %",
      figure: percent(generated, samples),
      samples,
      ok: ratio(generated, samples) <= 0.005,
    },
  ];
}

async function programs(): Promise<Row[]> {
  exclusively("node-programs", preparePrograms);
  const wanted = process.env.POLYTOP_NODE ?? "node 24";
  const found = NODES.find(({ name }) => name === wanted);
  const path = found?.get() ?? "[unknown]";
  if (!found || isMissing(path)) throw new Lacking(`${wanted}: ${path}`);
  const rows: Row[] = [];
  for (const [what, args] of Object.entries(PROGRAMS))
    rows.push(...(await programOf(what, args, { name: found.name, path })));
  return rows;
}

/** Processes of `node -e` one after the other. */
async function short(): Promise<Row[]> {
  const folder = mkdtempSync(`${tmpdir()}/polytop-short-`);
  const file = `${folder}/short.cjs`;
  writeFileSync(
    file,
    "let s = 0; function adds(n) { for (let i = 0; i < n; i++) s += i; } for (let i = 0; i < 300; i++) adds(20000);\n",
  );
  try {
    const counts = await sampleLoop([process.execPath, file], folder);
    const samples = sumOf(counts, () => true);
    const good = sumOf(counts, ({ stack }) => stack.outcome === "complete");
    return [
      {
        what: "processes of node that end at once: complete stacks",
        bar: "≥ 98 %",
        figure: percent(good, samples),
        samples,
        ok: ratio(good, samples) >= 0.98,
      },
    ];
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Sections for the table of `npm run accuracy`. */
export const javascript: readonly Section[] = [
  {
    name: "javascript-stacks",
    about: "JavaScript stacks against what programs see of themselves, each version of Node",
    run: () => eachNode(stacksOf),
  },
  {
    name: "javascript-shares",
    about: "known shares of four kinds of calls",
    run: () => eachNode(sharesOf),
  },
  {
    name: "javascript-reuse",
    about: "names of functions that are moved and freed",
    run: () => eachNode(reuseOf),
  },
  {
    name: "javascript-programs",
    about: "npm, TypeScript, vitest, eslint, webpack on the node in $POLYTOP_NODE, or 24",
    run: programs,
  },
  { name: "javascript-short", about: "processes of node that end at once", run: short },
];
