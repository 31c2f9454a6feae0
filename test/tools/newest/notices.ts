/** What polytop tells of a program while it samples it. */
import { liveTicks } from "../../support/live-ticks.ts";
import { type Running, sleep } from "../../support/profile.ts";

const SECONDS = 3;
const FREQUENCY = 499;

/** The notices of some seconds in which a program was sampled, each once. Ends the program. */
export async function noticesOf(program: Running): Promise<string[]> {
  try {
    await sleep(1);
    const ticks = await liveTicks({ seconds: SECONDS, frequency: FREQUENCY, pids: [program.pid] });
    return [...new Set(ticks.flatMap(({ notices }) => notices))];
  } finally {
    await program.stop();
  }
}

/** The row whose text has these words. */
export function rowOf<T extends { readonly what: string }>(rows: readonly T[], words: RegExp): T {
  const row = rows.find(({ what }) => words.test(what));
  if (!row) throw new Error(`no row says ${words.source}`);
  return row;
}
