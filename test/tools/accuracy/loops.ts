/** Samples a program that runs again and again. */

import type { Frame } from "../../../src/tick/store.ts";
import { liveTicks } from "../../support/live-ticks.ts";
import { percent, type Row, ratio } from "../../support/measure.ts";
import { sleep, start } from "../../support/profile.ts";
import { type Stack, type StackCount, stackCounts } from "../../support/ticks.ts";

const SECONDS = 11;
/** Until the unwind tables of the program's files are there; what these samples lack is said by their reason. */
const WARM_UP_SECONDS = 4;
const FREQUENCY = 997;

/** Returns what was sampled of a command in a root folder, without the processes that it starts. */
export const sampleProgram = (root: string, command: readonly string[]): Promise<StackCount[]> =>
  sample('root=$1; shift; while :; do LC_ALL=C chroot "$root" "$@" || sleep 1; done', [
    root,
    ...command,
  ]).then(({ counts, loop }) =>
    counts.filter(({ task }) => task.pid !== loop && task.parentPid === loop),
  );

/** Returns what was sampled of a command that runs in a folder, and of all processes that it starts. */
export async function sampleLoop(
  command: readonly string[],
  folder: string,
): Promise<StackCount[]> {
  const script = 'cd "$1"; shift; while :; do "$@" >/dev/null 2>&1; done';
  const { counts, loop } = await sample(script, [folder, ...command]);
  const parents = new Map(counts.map(({ task }) => [task.pid, task.parentPid]));
  const isBelow = (pid: number, turns = 64): boolean =>
    turns > 0 && (parents.get(pid) === loop || isBelow(parents.get(pid) ?? 0, turns - 1));
  return counts.filter(({ task }) => task.pid !== loop && isBelow(task.pid));
}

async function sample(
  script: string,
  args: readonly string[],
): Promise<{ counts: StackCount[]; loop: number }> {
  const loop = start("sh", ["-c", script, "sh", ...args]);
  try {
    await sleep(1);
    const ticks = await liveTicks({ seconds: SECONDS, frequency: FREQUENCY });
    return { counts: stackCounts(...ticks.slice(WARM_UP_SECONDS)), loop: loop.pid };
  } finally {
    await loop.stop();
  }
}

/** The sum of the counts for which something holds. */
export const sumOf = (counts: readonly StackCount[], holds: (one: StackCount) => boolean): number =>
  counts.reduce((sum, one) => sum + (holds(one) ? one.count : 0), 0);

/**
 * Rows for a program that is written in a language, whose frames in a stack `framesOf` finds: whether all stacks are
 * whole, and all of its functions named. $POLYTOP_DEBUG prints those that are not.
 */
export function programRows(
  title: string,
  counts: readonly StackCount[],
  language: string,
  framesOf: (stack: Stack) => readonly Frame[],
): Row[] {
  const samples = sumOf(counts, () => true);
  const complete = sumOf(counts, ({ stack }) => stack.outcome === "complete");
  const guessed = sumOf(counts, ({ stack }) => stack.outcome === "guessed");
  const written = sumOf(counts, ({ stack }) => framesOf(stack).length > 0);
  const unnamed = sumOf(counts, ({ stack }) =>
    framesOf(stack).some((frame) => frame.function.whyUnnamed !== undefined),
  );
  if (process.env.POLYTOP_DEBUG) {
    for (const { stack, count } of counts) {
      const why = stack.frames.find((frame) => !frame.folded && frame.function.whyUnnamed);
      if (!why && stack.outcome === "complete") continue;
      const leaf = stack.frames.slice(0, 4).map((it) => it.function.name);
      console.error(count, stack.outcome, why?.function.name, leaf.join(" < "));
    }
  }
  return [
    {
      what: `${title}: complete stacks (${percent(written, samples, 0)} with ${language}, ${percent(guessed, samples)} guessed)`,
      bar: "≥ 99.5 %",
      figure: percent(complete, samples),
      samples,
      ok: ratio(complete, samples) >= 0.995 && written > 0,
    },
    {
      what: `${title}: stacks with a function of ${language} that has no name`,
      bar: "≤ 0.5 %",
      figure: percent(unnamed, samples),
      samples,
      ok: ratio(unnamed, samples) <= 0.005,
    },
  ];
}
