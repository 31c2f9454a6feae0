/**
 * Tries polytop on the newest versions that are offered today, and writes docs/versions.md. Run with the project's Node:
 * node test/tools/newest/main.ts [kind…]; the page keeps what was found of the kinds that are not named.
 */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { argv } from "node:process";
import { Lacking, printCells } from "../../support/measure.ts";
import { root } from "../../support/polytop.ts";
import { dotnet } from "./dotnet.ts";
import { type Finding, find, HEADINGS, isWanting, type Newest, page } from "./finding.ts";
import { kernels } from "./kernels.ts";
import { node } from "./node.ts";
import { others } from "./others.ts";
import { perl } from "./perl.ts";
import { python } from "./python.ts";

/** What is tried, by the word that names it; a list of what is offered today. */
const KINDS: Readonly<Record<string, () => Newest[]>> = {
  perl,
  python,
  node,
  dotnet,
  others,
  kernels,
};

const WIDTHS = [18, 14, 13, 6, 10, 28, 30];
const KEPT = `${root}build/newest.json`;

type Kept = Record<string, readonly Finding[]>;

/** What was found when a kind was tried last. */
function kept(): Kept {
  try {
    return JSON.parse(readFileSync(KEPT, "utf8")) as Kept;
  } catch {
    return {};
  }
}

const print = (finding: Finding): void =>
  printCells(
    HEADINGS.map((key) => finding[key]),
    WIDTHS,
  );

async function tryAll(kind: string): Promise<Finding[]> {
  let offers: Newest[] = [];
  try {
    offers = KINDS[kind]?.() ?? [];
  } catch (error) {
    if (!(error instanceof Lacking)) throw error;
    console.log(`${kind}: ${error.message}`);
  }
  const findings: Finding[] = [];
  for (const offer of offers) {
    const finding = await find(offer);
    print(finding);
    findings.push(finding);
  }
  return findings;
}

const names = argv.slice(2);
const unknown = names.filter((name) => !(name in KINDS));
if (unknown.length > 0) {
  console.error(`${unknown.join(", ")}: these can be named: ${Object.keys(KINDS).join(", ")}`);
  process.exit(2);
}
printCells(HEADINGS, WIDTHS);
mkdirSync(`${root}build`, { recursive: true });
const all: Kept = kept();
const told = (): Finding[] => Object.keys(KINDS).flatMap((kind) => all[kind] ?? []);
for (const kind of names.length > 0 ? names : Object.keys(KINDS)) {
  all[kind] = await tryAll(kind);
  // Each takes a while: what was found is kept where a later one is interrupted.
  writeFileSync(KEPT, JSON.stringify(all));
  writeFileSync(`${root}docs/versions.md`, page(told(), new Date().toISOString().slice(0, 10)));
}
process.exit(told().some(isWanting) ? 1 : 0);
