/** What became of a version that polytop was tried on, and how that is told. */
import { Lacking, type Row } from "../../support/measure.ts";

/** A version that is offered today, and how it is tried. */
export interface Newest {
  /** `Perl`, `Linux`. */
  readonly what: string;
  readonly version: string;
  /** Who offers it: `sid`, `npm`. */
  readonly from: string;
  /** Throws Lacking where it cannot be had. */
  run(): Promise<Tried>;
}

/** What came of it; a row is one of `npm run accuracy`. */
export interface Tried {
  /** What polytop says that a user must know; nothing: the version is known. */
  readonly notices: readonly string[];
  readonly complete: Row;
  readonly named: Row;
  readonly shares: Row;
}

/** One line of the table. */
export interface Finding {
  readonly what: string;
  readonly version: string;
  readonly from: string;
  readonly known: string;
  readonly complete: string;
  readonly named: string;
  readonly shares: string;
  /** What must change for it to be read as other versions are; `nothing`. */
  readonly change: string;
}

export const HEADINGS: readonly (keyof Finding)[] = [
  "what",
  "version",
  "from",
  "known",
  "complete",
  "named",
  "shares",
  "change",
];

/** What is to be done, in words. */
function changeOf({ notices, complete, named, shares }: Tried): string {
  const rows = { complete, named, shares };
  const missed = Object.entries(rows)
    .filter(([, { ok }]) => ok === false)
    .map(([name, { figure, bar }]) => `${name}: ${figure}, must be ${bar}`);
  return [...notices, ...missed].join("; ") || "nothing";
}

/** A text whose paths are the last part of each alone: where things lie on this machine is nobody's business. */
const withoutFolders = (text: string): string =>
  text.replace(/(?<![\w.~-])~?(?:\/[\w.@+~-]+)+\/([\w.@+~-]+)\/?/g, "$1");

/** Tries a version; what cannot be had is told, and what fails is what must change. */
export async function find({ what, version, from, run }: Newest): Promise<Finding> {
  const nothing = { known: "", complete: "", named: "", shares: "" };
  try {
    const tried = await run();
    const { notices, complete, named, shares } = tried;
    return {
      ...{ what, version, from, known: notices.length > 0 ? "no" : "yes" },
      ...{ complete: complete.figure, named: named.figure, shares: shares.figure },
      change: changeOf(tried),
    };
  } catch (error) {
    const why = withoutFolders(error instanceof Error ? error.message : String(error));
    const change = error instanceof Lacking ? `not tried: ${why}` : `it fails: ${why}`;
    return { what, version, from, ...nothing, change };
  }
}

/** Whether something must change. */
export const isWanting = ({ change }: Finding): boolean =>
  change !== "nothing" && !change.startsWith("not tried");

const cell = (text: string): string => text.replace(/\|/g, "\\|").replace(/\n/g, " ");

/** The findings that a page tells of. */
export function findingsOf(text: string): Finding[] {
  const rows = text.split("\n").filter((line) => line.startsWith("| "));
  // The first line of the table says what its columns are.
  return rows.slice(1).map((line) => {
    const cells = line.slice(2, -2).split(" | ");
    const [what = "", version = "", from = "", known = "", complete = "", ...rest] = cells.map(
      (it) => it.replace(/\\\|/g, "|"),
    );
    const [named = "", shares = "", change = ""] = rest;
    return { what, version, from, known, complete, named, shares, change };
  });
}

/** The page of all findings; `day`: when they were made. */
export function page(findings: readonly Finding[], day: string): string {
  const lines = findings.map((one) => `| ${HEADINGS.map((key) => cell(one[key])).join(" | ")} |`);
  return `# The newest versions

What polytop makes of the newest versions that Debian's sid and experimental, npm and NuGet offered on ${day}.
\`npm run newest\` writes this page; names behind it (\`npm run newest -- perl node\`) try some of them and keep the rest.

- *known*: polytop says nothing of the version; else a notice tells what it does with it.
- *complete*: samples whose walk reached the outermost frame. *named*: stacks that are those which the program itself saw
  (.NET: methods named as in the runtime's own map; Linux: samples with a name).
- *shares*: what was measured of functions whose shares are known: 40 / 30 / 20 / 10 % of the time, of .NET and Linux 60 / 30 / 10.

| runtime | version | from | known | complete | named | shares | what must change |
|---|---|---|---|---|---|---|---|
${lines.join("\n")}
`;
}
