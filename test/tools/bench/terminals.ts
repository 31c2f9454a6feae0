/** The program in a real terminal, as the measurements of the screen use it. */
import { spawnSync } from "node:child_process";
import { bundleFixture } from "../../screen/bundle.ts";
import type { Workload } from "../../screen/generate.ts";
import { TestTerminal } from "../../screen/terminal.ts";
import { Lacking } from "../../support/measure.ts";
import { launcher } from "../../support/polytop.ts";
import { sleep } from "../../support/profile.ts";

/** Whether a screen shows data: the heading, and below it a row that begins with a share. */
const hasData = (text: string): boolean => /SELF%.*\n\W*\d+\.\d/.test(text);

const START_MS = 30_000;

/** Starts polytop on this machine; resolves when it shows data. */
export async function openLive(
  columns: number,
  rows: number,
  env: Readonly<Record<string, string>> = {},
): Promise<TestTerminal> {
  const terminal = new TestTerminal(launcher, [], {
    columns,
    rows,
    env: { LANG: "C.UTF-8", ...env },
  });
  await terminal.until(hasData, "a screen with data", START_MS);
  return terminal;
}

/** Starts perf top, which resolves symbols as it goes, at a rate in Hz; resolves when it shows shares. */
export async function openPerf(
  columns: number,
  rows: number,
  frequency = 99,
): Promise<TestTerminal> {
  if (spawnSync("perf", ["--version"]).status !== 0) throw new Lacking("perf is not installed");
  const args = ["top", "-F", String(frequency), "--call-graph", "fp"];
  const terminal = new TestTerminal("perf", args, { columns, rows });
  await terminal.until((text) => /\d\.\d+%/.test(text), "shares of perf top", START_MS);
  return terminal;
}

/** Starts the screen over made-up ticks, one a second; resolves when it shows data. */
export async function openFixture(
  columns: number,
  rows: number,
  workload: Workload,
): Promise<TestTerminal> {
  const terminal = new TestTerminal(process.execPath, [await bundleFixture()], {
    columns,
    rows,
    env: { POLYTOP_FIXTURE: JSON.stringify({ workload }) },
  });
  await terminal.until(hasData, "a screen with data", START_MS);
  return terminal;
}

/** Types q; what does not end by that is killed. */
export async function close(terminal: TestTerminal): Promise<void> {
  terminal.type("q");
  await Promise.race([terminal.exited, sleep(5).then(() => terminal.kill("SIGKILL"))]);
}

/** Bytes that it wrote so far. */
export const written = ({ output }: TestTerminal): number => Buffer.byteLength(output);
