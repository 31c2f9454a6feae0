/**
 * Tries polytop on the newest versions that are offered today, and writes docs/versions.md. Run with the project's Node:
 * node test/tools/newest/main.ts [kind…]; the page keeps what was found of the kinds that are not named.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { argv } from "node:process";
import { Lacking, printCells } from "../../support/measure.ts";
import { root } from "../../support/polytop.ts";
import { dotnet } from "./dotnet.ts";
import {
  type Finding,
  find,
  findingsOf,
  HEADINGS,
  isWanting,
  type Newest,
  page,
} from "./finding.ts";
import { kernels } from "./kernels.ts";
import { node } from "./node.ts";
import { others } from "./others.ts";
import { perl } from "./perl.ts";
import { python } from "./python.ts";

/** What is tried, by the word that names it: what its lines begin with, and a list of what is offered today. */
const KINDS: Readonly<Record<string, { readonly lines: RegExp; readonly offers: () => Newest[] }>> =
  {
    perl: { lines: /^Perl\b/, offers: perl },
    python: { lines: /^CPython\b/, offers: python },
    node: { lines: /^Node\b/, offers: node },
    dotnet: { lines: /^\.NET\b/, offers: dotnet },
    others: { lines: /^(Ruby|PHP|JDK)\b/, offers: others },
    kernels: { lines: /^Linux\b/, offers: kernels },
  };

const WIDTHS = [18, 14, 13, 6, 10, 28, 30];
const PAGE = `${root}docs/versions.md`;

const print = (finding: Finding): void =>
  printCells(
    HEADINGS.map((key) => finding[key]),
    WIDTHS,
  );

async function tryAll(kind: string): Promise<Finding[]> {
  let offers: Newest[] = [];
  try {
    offers = KINDS[kind]?.offers() ?? [];
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
let told = findingsOf(readFileSync(PAGE, "utf8"));
for (const tried of names.length > 0 ? names : Object.keys(KINDS)) {
  const found = await tryAll(tried);
  told = Object.entries(KINDS).flatMap(([kind, { lines }]) =>
    kind === tried ? found : told.filter(({ what }) => lines.test(what)),
  );
  // Each takes a while: what was found is kept where a later one is interrupted.
  writeFileSync(PAGE, page(told, new Date().toISOString().slice(0, 10)));
}
process.exit(told.some(isWanting) ? 1 : 0);
