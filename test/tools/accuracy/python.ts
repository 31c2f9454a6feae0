/** How right the stacks of Python are: against sys._getframe(), and against programs whose truth is in their source. */
import { readFileSync } from "node:fs";
import type { Tick } from "../../../src/tick/tick.ts";
import { liveTicks } from "../../support/live-ticks.ts";
import { Lacking, percent, type Row, ratio, type Section } from "../../support/measure.ts";
import { hasRun, type Running, start } from "../../support/profile.ts";
import {
  ALL_PYTHONS,
  compareWithTruth,
  machinesPython,
  type Python,
  pythonFrames,
  pythonPrograms,
  startPython,
} from "../../support/python.ts";
import { type StackCount, stackCounts } from "../../support/ticks.ts";

function ofMachine(): Python {
  const python = machinesPython();
  if (typeof python === "string") throw new Lacking(python);
  return python;
}

const titleOf = ({ version, kind }: Python): string => (kind ? `${version} ${kind}` : version);

/** Rows for each python that can be had; the reasons why others cannot. */
async function eachPython(rowsOf: (python: Python) => Promise<readonly Row[]>): Promise<Row[]> {
  const rows: Row[] = [];
  for (const { get } of ALL_PYTHONS) {
    const python = get();
    if (typeof python === "string") rows.push({ what: python, bar: "", figure: "skipped" });
    else rows.push(...(await rowsOf(python)));
  }
  return rows;
}

/** CPU time in which a program starts: pythons in a folder of their own compile all that they import. */
const START_SECONDS = 2;

async function sampleProgram(
  python: Python,
  name: string,
  seconds: number,
  frequency: number,
  samples = 0,
): Promise<{ ticks: Tick[]; truth: ReadonlySet<string> }> {
  const program = startPython(python, name);
  // By then it has all that it imports, on a busy machine too.
  await hasRun(program.pid, START_SECONDS);
  const ticks = await liveTicks({ seconds, frequency, samples, pids: [program.pid] });
  await program.stop();
  return { ticks, truth: program.truth() };
}

/** So many that there are hundreds of different stacks among them, on a busy machine too. */
const STACKS_SAMPLES = 3 * 490;

export async function stacksOf(python: Python): Promise<Row[]> {
  const { ticks, truth } = await sampleProgram(python, "kinds.py", 4, 499, STACKS_SAMPLES);
  const { samples, complete, inside, stacks, same, sameStacks, wrong } = compareWithTruth(
    ticks,
    truth,
  );
  if (process.env.POLYTOP_DEBUG) console.error(python.version, wrong);
  const what = `python ${titleOf(python)}:`;
  return [
    {
      what: `${what} different stacks identical with sys._getframe(): names, files, lines`,
      bar: "≥ 99.5 %",
      figure: `${sameStacks} of ${stacks}`,
      samples: inside,
      ok: stacks >= 200 && sameStacks / stacks >= 0.995 && same / inside >= 0.995,
    },
    {
      what: `${what} complete stacks`,
      bar: "≥ 99.5 %",
      figure: percent(complete, samples),
      samples,
      ok: ratio(complete, samples) >= 0.995,
    },
  ];
}

/** What a program that has a CPU for itself gets in that time: fewer samples say less by chance. */
const SHARED_SAMPLES = 10 * 490;
const SHARES = { by_recursion: 40, by_generator: 30, by_callback: 20, by_async: 10 } as const;

export async function sharesOf(python: Python): Promise<Row[]> {
  const { ticks } = await sampleProgram(python, "shares.py", 10, 499, SHARED_SAMPLES);
  const counts = stackCounts(...ticks);
  const sum = (of: readonly StackCount[]) => of.reduce((all, { count }) => all + count, 0);
  const shares = Object.keys(SHARES).map(
    (name) =>
      (100 *
        sum(
          counts.filter(({ stack }) => pythonFrames(stack).some((it) => it.function.name === name)),
        )) /
      sum(counts),
  );
  const off = Object.values(SHARES).map((truth, i) => Math.abs((shares[i] ?? 0) - truth));
  return [
    {
      what: `python ${titleOf(python)}: shares 40/30/20/10 of recursion, generator, callback, coroutine`,
      bar: "within 1 point",
      figure: shares.map((it) => it.toFixed(1)).join(" / "),
      samples: sum(counts),
      ok: Math.max(...off) <= 1,
    },
  ];
}

/** Whether the frame of a function that says its number agrees with it in file and line. */
async function reuseOf(python: Python): Promise<Row[]> {
  const { ticks } = await sampleProgram(python, "reuse.py", 14, 997);
  let samples = 0;
  let wrong = 0;
  for (const { stack, count } of stackCounts(...ticks)) {
    for (const { function: it, line = 0 } of pythonFrames(stack)) {
      const number = /(?:^|\.)(?:made|method)_(\d+)$/.exec(it.name)?.[1];
      if (number === undefined) continue;
      samples += count;
      // Lines of the body: up to four behind those that are empty.
      const distance = line - Number(number);
      const owner = /^Made_(\d+)\./.exec(it.name)?.[1] ?? number;
      if (it.module === `file_${number}.py` && owner === number && distance > 0 && distance <= 5)
        continue;
      wrong += count;
      if (process.env.POLYTOP_DEBUG) console.error(it.name, it.module, line);
    }
  }
  return [
    {
      what: `python ${titleOf(python)}: functions, classes, modules freed and made again: wrong names`,
      bar: "0 in 10000",
      figure: String(wrong),
      samples,
      ok: wrong === 0 && samples >= 10_000,
    },
  ];
}

/** Processes of `python3 -c`, from the first one on: none runs before sampling has begun. */
async function short(): Promise<Row[]> {
  const [command = ""] = ofMachine().command;
  const program = readFileSync(`${pythonPrograms}/short.py`, "utf8");
  const args = ["-c", 'while :; do "$1" -c "$2"; done', "sh", command, program];
  const started: Running[] = [];
  const ticks = await liveTicks({
    seconds: 12,
    frequency: 99,
    onReady: () => started.push(start("sh", args)),
  });
  const [loop] = started;
  await loop?.stop();
  let samples = 0;
  let good = 0;
  const pids = new Set<number>();
  for (const { stack, task, count } of stackCounts(...ticks)) {
    if (!task.comm.startsWith("python") || task.parentPid !== loop?.pid) continue;
    pids.add(task.pid);
    samples += count;
    const named = pythonFrames(stack).every((it) => !it.function.name.startsWith("["));
    if (stack.outcome === "complete" && named) good += count;
    else if (process.env.POLYTOP_DEBUG) console.error(stack.frames.map((it) => it.function.name));
  }
  return [
    {
      what: `processes of some 30 ms (${pids.size} sampled) from the first, 99 Hz: stacks complete, functions named`,
      bar: "≥ 98 %",
      figure: percent(good, samples),
      samples,
      ok: ratio(good, samples) >= 0.98,
    },
  ];
}

/** Sections for the table of `npm run accuracy`. */
export const python: readonly Section[] = [
  {
    name: "python-stacks",
    about: "Python stacks against sys._getframe(), each installed python",
    run: () => eachPython(stacksOf),
  },
  {
    name: "python-shares",
    about: "known shares of four kinds of calls",
    run: () => eachPython(sharesOf),
  },
  {
    name: "python-reuse",
    about: "names of functions that reuse addresses",
    run: () => eachPython(reuseOf),
  },
  { name: "python-short", about: "processes of python3 -c, from the first one on", run: short },
];

if (import.meta.main) {
  const { measure } = await import("../../support/measure.ts");
  process.exit((await measure(python)) ? 0 : 1);
}
