/**
 * Whether a program or library starts on a system that has a C library of some version, libgcc_s and, for an addon,
 * Node: names each symbol that is too new or that nobody has, and each other library that it needs.
 * Usage: node release/native/check-baseline.ts VERSION FILE…
 */
import { readFileSync } from "node:fs";
import { argv } from "node:process";
import { dynamicSymbols, neededLibraries, versionNumber } from "./dynamic-symbols.ts";

/** The C library's own, and what Node cannot do without. */
const LIBRARIES = ["libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2", "libgcc_s.so.1"];
/** Node's own interface, by the list that comes with its headers. */
const NODE_SYMBOLS = new Set(
  readFileSync("node_modules/node-api-headers/symbols.js", "utf8").match(
    /\bnapi_\w+|\bnode_api_\w+/g,
  ),
);

/** What is wrong with a file, a line for each; none: it will do. */
function complaints(file: string, limit: string): string[] {
  const asked = dynamicSymbols(file).filter(({ isDefined }) => !isDefined);
  const tooNew = asked.filter(
    ({ set, version }) => set === "GLIBC" && versionNumber(version) > versionNumber(limit),
  );
  const nobodys = asked.filter(
    ({ name, set, isWeak }) =>
      set !== "GLIBC" && set !== "GCC" && !isWeak && !NODE_SYMBOLS.has(name),
  );
  return [
    ...tooNew.map(({ name, version }) => `asks for ${name} of glibc ${version}`),
    ...nobodys.map(({ name, set }) => `asks for ${name}${set && ` of ${set}`}, which nobody has`),
    ...neededLibraries(file)
      .filter((name) => !LIBRARIES.includes(name))
      .map((name) => `needs ${name}`),
  ].map((what) => `${file} ${what}`);
}

const [, , limit = "", ...files] = argv;
const wrong = files.flatMap((file) => complaints(file, limit));
for (const line of wrong) console.error(`polytop: ${line}`);
process.exitCode = wrong.length > 0 ? 1 : 0;
