/** Samples a program of an unpacked Debian that runs again and again. */
import { liveTicks } from "../../support/live-ticks.ts";
import { sleep, start } from "../../support/profile.ts";
import { type StackCount, stackCounts } from "../../support/ticks.ts";

const SECONDS = 11;
/** Until the unwind tables of the program's files are there; what these samples lack is said by their reason. */
const WARM_UP_SECONDS = 4;
const FREQUENCY = 997;

/** Returns what was sampled of a command in a root folder, without the processes that it starts. */
export async function sampleProgram(
  root: string,
  command: readonly string[],
): Promise<StackCount[]> {
  const script = 'root=$1; shift; while :; do LC_ALL=C chroot "$root" "$@" || sleep 1; done';
  const loop = start("sh", ["-c", script, "sh", root, ...command]);
  try {
    await sleep(1);
    const ticks = await liveTicks({ seconds: SECONDS, frequency: FREQUENCY });
    return stackCounts(...ticks.slice(WARM_UP_SECONDS)).filter(
      ({ task }) => task.pid !== loop.pid && task.parentPid === loop.pid,
    );
  } finally {
    await loop.stop();
  }
}
