/** How long it takes from the start of the command to the first row. */
import { spawn } from "node:child_process";
import { env } from "node:process";
import { TestTerminal } from "../../screen/terminal.ts";
import type { Row, Section } from "../../support/measure.ts";
import { launcher } from "../../support/polytop.ts";
import { during, sleep, start } from "../../support/profile.ts";

const RUNS = 10;
const SPIN = ["-e", "1 while 1"];

/** polytops by their names: another one is measured in turn with this one, since machines have moods. */
const COMMANDS: readonly (readonly [name: string, command: string])[] = [
  ["this one", launcher],
  ...(env.POLYTOP_OTHER ? [["the other", env.POLYTOP_OTHER] as const] : []),
];

const median = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;

/** Milliseconds until a row of the table is on the screen. */
async function liveMilliseconds(command: string): Promise<number> {
  const begin = performance.now();
  const terminal = new TestTerminal(command, [], { columns: 120, rows: 40 });
  try {
    while (performance.now() - begin < 20_000) {
      if (/\bperl\b.*\(main\)|\(main\).*\bperl\b/.test((await terminal.lines()).join("\n"))) break;
      await sleep(0.005);
    }
    return performance.now() - begin;
  } finally {
    terminal.type("q");
    await terminal.exited;
  }
}

/** Milliseconds until the first byte of a refresh of a tenth of a second. */
function plainMilliseconds(command: string): Promise<number> {
  const begin = performance.now();
  const child = spawn(command, ["--json", "-d", "0.1", "-n", "1"], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let first = Number.NaN;
  child.stdout.once("data", () => {
    first = performance.now() - begin;
  });
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", () => resolve(first));
  });
}

async function times(
  what: string,
  bar: number,
  measure: (command: string) => Promise<number>,
): Promise<Row[]> {
  const found = COMMANDS.map((): number[] => []);
  for (let run = 0; run < RUNS; run++)
    for (const [at, [, command]] of COMMANDS.entries()) found[at]?.push(await measure(command));
  return COMMANDS.map(([name], at) => {
    const milliseconds = median(found[at] ?? []);
    const least = Math.min(...(found[at] ?? []));
    return {
      what: `${what}, ${name}, median of ${RUNS}`,
      bar: `≤ ${bar} ms`,
      figure: `${milliseconds.toFixed(0)} ms (least ${least.toFixed(0)} ms)`,
      ...(at === 0 ? { ok: milliseconds <= bar } : {}),
    };
  });
}

export const startTimes: readonly Section[] = [
  {
    name: "start",
    about: "from the start to the first row; POLYTOP_OTHER names another polytop to compare with",
    run: async () => [
      ...(await during([start("perl", SPIN)], () =>
        times("first row of the live view, one busy CPU", 700, liveMilliseconds),
      )),
      ...(await during([start("perl", SPIN)], () =>
        times("first byte of --json -d 0.1, one busy CPU", 700, plainMilliseconds),
      )),
      ...(await during([start("perl", SPIN), start("perl", SPIN)], () =>
        times("first row of the live view, two busy CPUs", 1200, liveMilliseconds),
      )),
    ],
  },
];
