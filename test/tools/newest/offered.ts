/** What Debian's newest suites, npm and NuGet offer today. */
import { execFileSync } from "node:child_process";
import { debianCache } from "../../support/debian.ts";
import { Lacking } from "../../support/measure.ts";
import { root } from "../../support/polytop.ts";

/** Where Debian's versions come first. */
const SUITES = ["sid", "experimental"] as const;

const TIMEOUT_MS = 120_000;

/** A version of a package of Debian. */
export interface DebianOffer {
  readonly suite: (typeof SUITES)[number];
  readonly package: string;
  /** As its makers number it, without Debian's own part. */
  readonly version: string;
}

/** Numbers of a name or version, for comparing: `python3.15` is later than `python3.9`. */
const numbersOf = (text: string): number[] => (text.match(/\d+/g) ?? []).map(Number);

function compare(left: string, right: string): number {
  const [ours, theirs] = [numbersOf(left), numbersOf(right)];
  const at = ours.findIndex((number, index) => number !== theirs[index]);
  return at < 0 ? ours.length - theirs.length : (ours[at] ?? 0) - (theirs[at] ?? 0);
}

/** The latest of some names or versions. */
const latest = (texts: readonly string[]): string => texts.toSorted(compare).at(-1) ?? "";

function run(command: string, args: readonly string[], tool = "get"): string {
  const env = { ...process.env, SUITE_TOOL: tool };
  const stdio = ["ignore", "pipe", "ignore"] as const;
  try {
    return execFileSync(command, args, {
      env,
      encoding: "utf8",
      stdio: [...stdio],
      timeout: TIMEOUT_MS,
    });
  } catch (error) {
    throw new Lacking(`${command} cannot say what is offered: ${(error as Error).message}`);
  }
}

const updated = new Set<string>();

/** Runs apt-cache on the lists of a suite, which are fetched once a run. */
function aptCache(suite: string, ...args: readonly string[]): string {
  const folder = `${debianCache}/.apt/newest-${suite}`;
  const program = `${root}test/support/suite-apt`;
  if (!updated.has(suite)) run(program, [folder, suite, "update"]);
  updated.add(suite);
  return run(program, [folder, suite, ...args], "cache");
}

/** The package whose name has the highest numbers of those that fit a pattern of apt, in each suite that has a newer one. */
export function offeredByDebian(pattern: string): DebianOffer[] {
  const offers = SUITES.flatMap((suite): DebianOffer[] => {
    const found = aptCache(suite, "search", "--names-only", pattern);
    const names = found.split("\n").map((line) => line.split(" ")[0] ?? "");
    const name = latest(names.filter(Boolean));
    if (name === "") return [];
    const said = aptCache(suite, "policy", name);
    const [, whole = ""] = /Candidate: (?:\d+:)?(\S+)/.exec(said) ?? [];
    return [{ suite, package: name, version: whole.replace(/-[^-]*$/, "") }];
  });
  return offers.filter((one, at) =>
    offers.slice(0, at).every(({ version }) => compare(version, one.version) < 0),
  );
}

/** The latest version of a package of npm that is no preview. */
export function offeredByNpm(name: string): string {
  const versions = JSON.parse(run("npm", ["view", name, "versions", "--json"])) as string[];
  return latest(versions.filter((version) => /^[\d.]+$/.test(version)));
}

interface NugetAnswer {
  readonly searchResult: readonly {
    readonly packages: readonly { readonly version: string }[];
  }[];
}

/** The latest version of a package of NuGet, previews too. */
export function offeredByNuget(name: string): string {
  const args = ["package", "search", name, "--exact-match", "--prerelease", "--format", "json"];
  const { searchResult } = JSON.parse(run("dotnet", args)) as NugetAnswer;
  return latest(searchResult.flatMap(({ packages }) => packages.map(({ version }) => version)));
}
