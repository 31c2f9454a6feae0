/** The newest of what has no reader in polytop: whether its native frames make whole stacks. */
import { unpackDebian } from "../../support/debian.ts";
import { Lacking, percent, type Row, ratio } from "../../support/measure.ts";
import { sampleProgram, sumOf } from "../accuracy/loops.ts";
import type { Newest, Tried } from "./finding.ts";
import { offeredByDebian } from "./offered.ts";

const FIB_RUBY = "def fib(n) = n < 2 ? n : fib(n - 1) + fib(n - 2); loop { fib 20 }";
const FIB_PHP =
  "function fib($n) { return $n < 2 ? $n : fib($n - 1) + fib($n - 2); } while (1) fib(20);";

/** What goes on by itself, given the program that the package is named after. */
const PROGRAMS = [
  { what: "Ruby", pattern: "^ruby[0-9.]+$", command: ["-e", FIB_RUBY] },
  { what: "PHP", pattern: "^php[0-9.]+-cli$", command: ["-r", FIB_PHP] },
] as const;

const BAR = 0.99;
const untold = (figure: string): Row => ({ what: "", bar: "", figure });

async function tried(root: string, command: readonly string[]): Promise<Tried> {
  const counts = await sampleProgram(root, command);
  const samples = sumOf(counts, () => true);
  const complete = sumOf(counts, ({ stack }) => stack.outcome === "complete");
  return {
    notices: [],
    complete: {
      what: "complete",
      bar: `≥ ${100 * BAR} %`,
      figure: percent(complete, samples),
      ok: ratio(complete, samples) >= BAR,
    },
    named: untold("native frames alone"),
    shares: untold(""),
  };
}

export const others = (): Newest[] =>
  PROGRAMS.flatMap(({ what, pattern, command }) =>
    offeredByDebian(pattern).map(({ suite, version, package: name }) => ({
      what,
      version,
      from: suite,
      run: () => {
        const unpacked = unpackDebian({ name: `${name}-${version}`, suite, packages: [name] });
        if (typeof unpacked === "string") throw new Lacking(unpacked);
        return tried(unpacked.root, [name.replace(/-cli$/, ""), ...command]);
      },
    })),
  );
