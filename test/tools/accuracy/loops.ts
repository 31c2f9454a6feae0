/** Samples a program that runs again and again. */
import { liveTicks } from "../../support/live-ticks.ts";
import { sleep, start } from "../../support/profile.ts";
import { type StackCount, stackCounts } from "../../support/ticks.ts";

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
