/**
 * Tries the files of a release in out/ and nothing else of this clone: in systems of their own, and on bare kernels.
 * `npm run release -- --test` prints a table; with --quick the systems that cost no download. Names choose rows: of
 * artefacts (tar.gz, deb, …), bad-input, deb-life, and of suites, whose kernels are booted. `live` runs test/live instead.
 */
import { spawn } from "node:child_process";
import { env } from "node:process";
import { Lacking, printCells } from "../../support/measure.ts";
import { artefact, deb, image, linked, npm, rpm, tarball } from "./artefacts.ts";
import { BAD_INPUT } from "./bad-input.ts";
import { boot, SUITES } from "./bare.ts";
import { CHECKS, type Installed } from "./checks.ts";
import { lifeOfDeb } from "./deb-life.ts";
import { tryLive } from "./live.ts";
import { busybox, debian, ownDebian, System } from "./systems.ts";

/** One row of the table; throws where it does not hold. */
interface Row {
  readonly system: string;
  readonly artefact: string;
  readonly check: string;
  run(): Promise<string>;
}

/** An artefact on a system, with all checks. */
interface Pair {
  readonly artefact: string;
  readonly system: () => System;
  readonly install: (system: System) => Promise<Installed>;
  /** Costs a download or a minute. */
  readonly isSlow?: boolean;
}

/** A system that lacks what C++ programs need. */
function withoutLibraryOfCpp(): System {
  const system = debian("bookworm");
  void system.sh("rm -f /usr/lib/x86_64-linux-gnu/libstdc++.so.6*");
  return system;
}

const PAIRS: readonly Pair[] = [
  { artefact: "tar.gz", system: () => busybox("musl"), install: (it) => tarball(it) },
  { artefact: "tar.gz", system: ownDebian, install: linked },
  { artefact: "deb", system: ownDebian, install: deb },
  { artefact: "tar.gz", system: () => debian("bullseye"), install: linked, isSlow: true },
  { artefact: "tar.gz", system: () => debian("bookworm"), install: linked, isSlow: true },
  { artefact: "tar.gz", system: () => debian("trixie"), install: linked, isSlow: true },
  { artefact: "tar.gz", system: withoutLibraryOfCpp, install: linked, isSlow: true },
  {
    artefact: "tar.xz",
    system: () => busybox("none"),
    install: (it) => tarball(it, "*linux-x64.tar.xz"),
    isSlow: true,
  },
  ...["bullseye", "bookworm", "trixie"].flatMap((suite): Pair[] => [
    { artefact: "deb", system: () => debian(suite), install: deb, isSlow: true },
    { artefact: "npm", system: () => debian(suite), install: (it) => npm(it), isSlow: true },
  ]),
  { artefact: "rpm", system: () => debian("bookworm"), install: rpm, isSlow: true },
  { artefact: "oci", system: () => new System("the image alone", undefined), install: image },
];

const WIDTHS = [26, 8, 22, 6, 8];
const print = (cells: readonly string[]): void => printCells(cells, WIDTHS);

const DEB_LIFE: Row = {
  system: "bookworm",
  artefact: "deb",
  check: "upgrade, removal",
  run: lifeOfDeb,
};

/** What became of one row: whether it holds. On the machine that all changes are tested on (CI=true) none may be left out. */
async function report({ system, artefact: what, check, run }: Row): Promise<boolean> {
  const begin = performance.now();
  let verdict = "yes";
  let words: string;
  try {
    words = await run();
  } catch (error) {
    verdict = error instanceof Lacking ? "skip" : "NO";
    words = error instanceof Error ? error.message : String(error);
  }
  const seconds = `${((performance.now() - begin) / 1000).toFixed(1)} s`;
  print([system, what, check, verdict, seconds, words.trim().replaceAll("\n", " | ")]);
  return verdict === "yes" || (verdict === "skip" && env.CI !== "true");
}

async function tryPair({ artefact: what, system: make, install }: Pair): Promise<boolean> {
  let system: System | undefined;
  let installed: Installed | undefined;
  const name = (): string => system?.name ?? "";
  try {
    let held = await report({
      system: "",
      artefact: what,
      check: "install",
      run: async () => {
        system = make();
        installed = await install(system);
        return `on ${name()}`;
      },
    });
    for (const [check, run] of installed ? Object.entries(CHECKS) : []) {
      const tried = installed;
      if (tried)
        held =
          (await report({ system: name(), artefact: what, check, run: () => run(tried) })) && held;
    }
    return held;
  } finally {
    system?.remove();
  }
}

async function tryBare(suite: string): Promise<boolean> {
  let results = new Map<string, string>();
  const row = { system: `bare kernel of ${suite}`, artefact: "tar" };
  const run = async (): Promise<string> => {
    const files = ["*linux-x64.tar.xz", "*linux-x64.tar.gz"];
    results = await boot(suite, files.map(tryArtefact).find((it) => it !== undefined) ?? "");
    return results.get("kernel") ?? "";
  };
  let held = await report({ ...row, check: "boots", run });
  for (const check of results.size > 0 ? Object.keys(CHECKS) : []) {
    const found = results.get(check) ?? "nothing was said";
    const holds = found.startsWith("0 ") && !/^0 [01]$/.test(found);
    const judge = (): Promise<string> =>
      holds ? Promise.resolve(found.slice(2)) : Promise.reject(new Error(found));
    held = (await report({ ...row, check, run: judge })) && held;
  }
  return held;
}

function tryArtefact(pattern: string): string | undefined {
  try {
    return artefact(pattern);
  } catch {
    return undefined;
  }
}

/** Which rows are run. */
export interface Choice {
  readonly isQuick: boolean;
  /** Artefacts, `bad-input`, `deb-life` or suites, whose kernels are booted; all where it is empty. */
  readonly names: readonly string[];
}

/** Runs rows; resolves to whether all hold. */
export async function tryRelease({ isQuick, names }: Choice): Promise<boolean> {
  const [first, ...files] = names;
  if (first === "live") return tryLive(files);
  const known = [...PAIRS.map((it) => it.artefact), "bad-input", "deb-life", ...SUITES];
  const unknown = names.filter((name) => !known.includes(name));
  if (unknown.length > 0) throw new Error(`no row is named ${unknown.join(" ")}`);
  const isChosen = (name: string): boolean => names.length === 0 || names.includes(name);
  const load = spawn("sh", ["-c", "while :; do :; done"], { stdio: "ignore" });
  let held = true;
  try {
    print(["system", "file", "check", "holds", "took"]);
    for (const pair of PAIRS.filter(({ isSlow }) => !(isQuick && isSlow)))
      if (isChosen(pair.artefact)) held = (await tryPair(pair)) && held;
    if (isChosen("bad-input"))
      for (const [check, { system, artefact: what, run }] of Object.entries(BAD_INPUT))
        held = (await report({ system, artefact: what, check, run })) && held;
    if (isChosen("deb-life") && !isQuick) held = (await report(DEB_LIFE)) && held;
  } finally {
    load.kill();
  }
  for (const suite of SUITES)
    if (isChosen(suite) && !isQuick) held = (await tryBare(suite)) && held;
  return held;
}
