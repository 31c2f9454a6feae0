/**
 * Whether a program or library starts on a system that has the libraries of C and C++ of the oldest version, libgcc_s
 * and, for an addon, Node: names each symbol that is too new or that nobody has, and each other library that it needs.
 * Usage: node release/native/check-baseline.ts FILE…
 */
import { readFileSync } from "node:fs";
import { argv } from "node:process";
import { BASELINE } from "./baseline.ts";
import { dynamicSymbols, neededLibraries, versionNumber } from "./dynamic-symbols.ts";

/** The C library's own, and what Node cannot do without. */
const LIBRARIES = [
  ...["libc.so.6", "libm.so.6", "libpthread.so.0", "ld-linux-x86-64.so.2"],
  ...["libgcc_s.so.1", "libstdc++.so.6"],
];
/** Node's own interface, by the list that comes with its headers. */
const NODE_SYMBOLS = new Set(
  readFileSync("node_modules/node-api-headers/symbols.js", "utf8").match(
    /\bnapi_\w+|\bnode_api_\w+/g,
  ),
);

/** What is wrong with a file, a line for each; none: it will do. */
function complaints(file: string): string[] {
  const asked = dynamicSymbols(file).filter(({ isDefined }) => !isDefined);
  const tooNew = asked.filter(({ set, version }) => {
    const limit = BASELINE[set];
    return limit !== undefined && versionNumber(version) > versionNumber(limit);
  });
  const nobodys = asked.filter(
    ({ name, set, isWeak }) =>
      BASELINE[set] === undefined && set !== "GCC" && !isWeak && !NODE_SYMBOLS.has(name),
  );
  return [
    ...tooNew.map(({ name, set, version }) => `asks for ${name} of ${set} ${version}`),
    ...nobodys.map(({ name, set }) => `asks for ${name}${set && ` of ${set}`}, which nobody has`),
    ...neededLibraries(file)
      .filter((name) => !LIBRARIES.includes(name))
      .map((name) => `needs ${name}`),
  ].map((what) => `${file} ${what}`);
}

const [, , ...files] = argv;
const wrong = files.flatMap(complaints);
for (const line of wrong) console.error(`polytop: ${line}`);
process.exitCode = wrong.length > 0 ? 1 : 0;
