/**
 * Makes libraries to link against that have the symbols of the libraries of C and C++ as of an older version and no
 * others, out of the machine's own: of each symbol the newest version that is old enough. What is linked with them starts
 * on that older version, and one symbol too new stays undefined, which check-baseline.ts tells of.
 * Usage: node release/native/library-stubs.ts FOLDER
 */
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { argv } from "node:process";
import { BASELINE } from "./baseline.ts";
import { type DynamicSymbol, dynamicSymbols, versionNumber } from "./dynamic-symbols.ts";

const LIBRARIES = ["libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2", "libstdc++.so.6"];

const run = (command: string, args: readonly string[]): string =>
  execFileSync(command, args, { encoding: "utf8", maxBuffer: 1 << 28 }).trim();

/** Of each name the newest version that is old enough. */
function newestOf(symbols: readonly DynamicSymbol[]): DynamicSymbol[] {
  const best = new Map<string, DynamicSymbol>();
  for (const symbol of symbols) {
    const { name, set, version, isDefined } = symbol;
    const limit = BASELINE[set];
    if (!isDefined || !limit || versionNumber(version) > versionNumber(limit)) continue;
    const known = best.get(name);
    if (!known || versionNumber(version) > versionNumber(known.version)) best.set(name, symbol);
  }
  return [...best.values()];
}

/** A definition that only its name, version, type and size matter of. */
function assembly(
  { name, set, version, type, size }: DynamicSymbol,
  library: string,
  at: number,
): string {
  const label = `${library.replace(/\W/g, "_")}_${at}`;
  const head = `.globl ${label}\n.symver ${label},${name}@@${set}_${version}\n.size ${label},${size}\n`;
  if (type === "TLS")
    return `${head}.section .tbss,"awT",@nobits\n.type ${label},@tls_object\n${label}: .skip ${size}\n`;
  if (type === "OBJECT")
    return `${head}.bss\n.type ${label},@object\n${label}: .skip ${size || 8}\n`;
  return `${head}.text\n.type ${label},@function\n${label}: ret\n`;
}

function makeStub(folder: string, library: string): void {
  const file = run("gcc", [`-print-file-name=${library}`]);
  const symbols = newestOf(dynamicSymbols(file));
  const versions = [...new Set(symbols.map(({ set, version }) => `${set}_${version}`))];
  const base = join(folder, library.replace(/\.so.*/, ""));
  writeFileSync(`${base}.s`, symbols.map((it, at) => assembly(it, library, at)).join(""));
  writeFileSync(`${base}.map`, versions.map((it) => `${it} { };\n`).join(""));
  const linked = ["-shared", "-nostdlib", `-Wl,-soname,${library}`];
  run("gcc", [...linked, `-Wl,--version-script=${base}.map`, `${base}.s`, "-o", `${base}.so`]);
}

const [, , folder = ""] = argv;
mkdirSync(folder, { recursive: true });
for (const library of LIBRARIES) makeStub(folder, library);
