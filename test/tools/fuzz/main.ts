/**
 * Looks for inputs that parsers of other people's bytes cannot bear: `npm run fuzz [-- --seconds N] [--runs N] [NAME…]`.
 * What was found to reach more of a parser is kept in test/fuzz/corpus, which `npm test` runs again.
 */
import { parseArgs } from "node:util";
import { printCells } from "../../support/measure.ts";
import { HARNESSES } from "./harnesses.ts";
import { build, fuzz, type Limits, type Outcome } from "./native.ts";
import { fuzzTarget, TARGETS } from "./script.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seconds: { type: "string", default: "60" },
    runs: { type: "string", default: "10000000" },
  },
});
const limits: Limits = { seconds: Number(values.seconds), runs: Number(values.runs) };
const parsers = [
  ...HARNESSES.map((it) => ({ ...it, run: () => fuzz(it, limits) })),
  ...TARGETS.map((it) => ({ ...it, run: () => fuzzTarget(it, limits) })),
];
const unknown = positionals.filter((name) => !parsers.some((it) => it.name === name));
if (unknown.length > 0 || !(limits.seconds > 0) || !(limits.runs > 0)) {
  for (const { name, about } of parsers) console.log(`${name.padEnd(12)} ${about}`);
  process.exit(2);
}
const WIDTHS = [12, 12, 9, 10, 8];
build();
printCells(["", "runs", "seconds", "findings", "inputs", "lines reached"], WIDTHS);
let isClean = true;
for (const { name, run } of parsers) {
  if (positionals.length > 0 && !positionals.includes(name)) continue;
  const { runs, seconds, findings, inputs, lines }: Outcome = await run();
  if (findings.length > 0) isClean = false;
  printCells(
    [name, String(runs), seconds.toFixed(0), String(findings.length), String(inputs), lines],
    WIDTHS,
  );
}
process.exit(isClean ? 0 : 1);
