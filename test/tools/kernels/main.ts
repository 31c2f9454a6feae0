/**
 * Runs polytop on the kernels of Debian's suites, each in a virtual machine with emulated CPUs, and prints what
 * became of it. Run with the project's Node: node test/tools/kernels/main.ts [kernel…]; a kernel is a suite, or
 * `sid-cloud`, `experimental-rt`: those that Debian builds for clouds and for real time.
 */
import { argv } from "node:process";
import { Lacking, percent, printCells } from "../../support/measure.ts";
import type { Findings } from "./findings.ts";
import { areEventsRight, areWaitsRight, isProgramRight } from "./judge.ts";
import { prepareGuest, runOn } from "./machine.ts";

/**
 * Kernels 5.10, 6.1 and 6.12: each keeps the mappings of a process in another way, or the time of a file. And what is
 * newest: 7.2 and 7.3 in November 2026.
 */
const KERNELS = ["bullseye", "bookworm", "trixie", "sid", "experimental"];

const WIDTHS = [24, 10, 10, 28, 8, 12, 12, 6];

const print = (cells: readonly string[]): void => printCells(cells, WIDTHS);

/** Prints what was found; whether all of it is as it must be. */
function show(found: Findings): boolean {
  let holds = found.error === "";
  const common = [found.error ? "NO" : "yes", `${found.startSeconds.toFixed(0)} s`];
  for (const program of found.programs) {
    const { name, samples, complete, named } = program;
    const good = isProgramRight(program);
    holds &&= good;
    const figures = [String(samples), percent(complete, samples), percent(named, samples)];
    print([found.release, ...common, name, ...figures, good ? "yes" : "NO"]);
  }
  const { wrong, shares, complete, hasDeadlock } = found.waits;
  const good = areWaitsRight(found.waits);
  holds &&= good;
  const figures = [
    shares.map((share) => Math.round(share)).join("/"),
    percent(complete, 1),
    hasDeadlock ? "ring" : "NO ring",
  ];
  print([found.release, ...common, "waits", ...figures, good ? "yes" : "NO"]);
  const { events } = found;
  const isRight = areEventsRight(events);
  holds &&= isRight;
  const counted = [events.hits, percent(events.complete, 1), percent(events.inFunction, 1)];
  print([found.release, ...common, "events", ...counted.map(String), isRight ? "yes" : "NO"]);
  for (const one of [...wrong, ...events.wrong]) console.log(`  ${one}`);
  for (const change of found.changes) {
    holds &&= change.wrong.length === 0;
    print([found.release, ...common, change.what, "", "", "", change.wrong.length ? "NO" : "yes"]);
    for (const one of change.wrong) console.log(`  ${one}`);
  }
  for (const complaint of [...found.doctor, found.error].filter(Boolean))
    console.log(`  ${complaint}`);
  return holds;
}

try {
  prepareGuest();
} catch (error) {
  if (!(error instanceof Lacking)) throw error;
  console.error(error.message);
  process.exit(3);
}
let held = true;
print(["kernel", "runs", "first", "program", "samples", "complete", "named", "holds"]);
for (const kernel of argv.length > 2 ? argv.slice(2) : KERNELS)
  held = show(await runOn(kernel)) && held;
process.exit(held ? 0 : 1);
