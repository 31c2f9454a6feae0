/** What polytop must do wherever it was installed: each check throws, or says in a word what it found. */
import type { Snapshot } from "../../support/profile.ts";
import type { System } from "./systems.ts";

/** How polytop is started there. */
export interface Installed {
  readonly system: System;
  /** The command, with what must stand before its options. */
  readonly command: readonly string[];
  /** How its doctor must say that it was installed. */
  readonly way: string;
}

/** Options by which a refresh takes little of a test's time. */
const SHORT = ["-d", "0.5"];

function hold(holds: boolean, what: string): asserts holds {
  if (!holds) throw new Error(what);
}

async function output({ system, command }: Installed, args: readonly string[]): Promise<string> {
  const { status, signal, stdout, stderr } = await system.run([...command, ...args]);
  hold(status === 0, `${args.join(" ")} ended with ${status ?? signal}: ${stderr || stdout}`);
  return stdout;
}

const snapshotsOf = (text: string): Snapshot[] =>
  text
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Snapshot);

function checkSums(snapshots: readonly Snapshot[], count: number): string {
  hold(snapshots.length === count, `${snapshots.length} refreshes, not ${count}`);
  for (const { samples, stacks, functions } of snapshots) {
    const { complete, truncated, broken, guessed = 0 } = stacks as Readonly<Record<string, number>>;
    const sum = (complete ?? 0) + (truncated ?? 0) + (broken ?? 0) + guessed;
    hold(samples > 0 && sum === samples, `${samples} samples, ${sum} stacks`);
    hold(functions.length > 0, "no function");
  }
  // Of native code only the parser knows how it is unwound and what it is called.
  const named = snapshots.flatMap(({ functions }) =>
    functions.filter(({ runtime, name }) => runtime === "native" && !name.startsWith("[")),
  );
  hold(named.length > 0, "no native function has a name");
  const samples = snapshots.reduce((all, it) => all + it.samples, 0);
  return `${samples} samples`;
}

/** All checks, by name. */
export const CHECKS: Readonly<Record<string, (installed: Installed) => Promise<string>>> = {
  "--version": async (installed) => {
    const text = await output(installed, ["--version"]);
    const [, found] =
      /^polytop \d+\.\d+\.\d+ \((commit [0-9a-f]{12}\S*, glibc 2\.28)\)\n$/.exec(text) ?? [];
    hold(found !== undefined, text);
    return found;
  },
  "--once": async (installed) => {
    const text = await output(installed, ["--once", "--rows", "4"]);
    const rows = text.split("\n").filter((line) => /^\s*\d+\.\d+\s/.test(line));
    hold(rows.length > 0, `no row: ${text}`);
    return `${rows.length} rows`;
  },
  "--json -n 2": async (installed) =>
    checkSums(snapshotsOf(await output(installed, ["--json", "-n", "2", ...SHORT])), 2),
  "record, replay": async (installed) => {
    await output(installed, ["record", "-o", "/tmp/a.polytop", "-n", "2", ...SHORT]);
    return checkSums(
      snapshotsOf(await output(installed, ["replay", "/tmp/a.polytop", "--json"])),
      2,
    );
  },
  doctor: async (installed) => {
    const text = await output(installed, ["doctor"]);
    hold(text.endsWith("polytop can run here.\n"), text);
    const line = text.split("\n").find((it) => /^ok +installation/.test(it));
    hold(line?.includes(` ${installed.way} `) === true, text);
    return "can run here";
  },
  "live in a terminal": async ({ system, command }) => {
    const terminal = system.terminal(command);
    const begin = performance.now();
    let rows: string[] = [];
    while (rows.length === 0 && performance.now() - begin < 30_000) {
      await new Promise((resolve) => setTimeout(resolve, 50));
      rows = (await terminal.lines()).filter((line) =>
        /\d+\.\d\s*%?.*\b(native|kernel|perl|python)\b/.test(line),
      );
    }
    const seconds = ((performance.now() - begin) / 1000).toFixed(1);
    const screen = (await terminal.lines()).join("\n");
    terminal.type("q");
    const { exitCode } = await terminal.exited;
    hold(rows.length > 0, `no row on the screen:\n${screen}`);
    hold(exitCode === 0, `q ended it with ${exitCode}`);
    return `first row after ${seconds} s`;
  },
};
