/** docs/reference.md: every column and every counter, out of the tables that the program runs by. */
import counterFile from "../../../bpf/counters.json" with { type: "json" };
import { HEADER_TERMS } from "../../../src/screen/help.ts";
import { BINDINGS } from "../../../src/screen/keys/bindings.ts";
import { VIEWS } from "../../../src/screen/views/registry.ts";
import type { KeyGroup } from "../../../src/screen/views/view.ts";
import { CHANGE_COLUMN, type Column, FUNCTION_COLUMNS } from "../../../src/text/columns.ts";
import { PROCESS_COLUMNS } from "../../../src/text/process-columns.ts";
import { RUNTIME_ROWS, RUNTIMES } from "../../../src/tick/runtimes.ts";
import type { CounterDefinition } from "../../../src/tick/source.ts";

type AnyColumn = Pick<Column<never, never>, "heading" | "meaning" | "plain" | "json">;

/** Vertical bars end a cell, angle brackets would be tags. */
const cell = (text: string): string => text.replaceAll("|", "\\|").replaceAll("<", "&lt;");

const table = (headings: readonly string[], rows: readonly (readonly string[])[]): string =>
  [headings, headings.map(() => "---"), ...rows]
    .map((row) => `| ${row.map(cell).join(" | ")} |`)
    .join("\n");

/** Columns as a table; those of a list that plain output has name it. */
function columnTable(columns: readonly AnyColumn[]): string {
  const isPlain = columns.some(({ plain }) => plain);
  return table(
    ["column", "meaning", ...(isPlain ? ["plain output"] : []), "JSON"],
    columns.map(({ heading, meaning, plain, json }) => [
      heading,
      meaning,
      ...(isPlain ? [plain ? "yes" : ""] : []),
      json === undefined ? "" : `\`${json}\``,
    ]),
  );
}

const KINDS: Readonly<Record<string, string>> = {
  attempt: "tries",
  frames: "amount",
  complete: "good end",
  guessed: "guessed end",
  truncated: "cut short",
  error: "error",
  loss: "loss",
};

/** The groups of counters: runtimes, and what belongs to none. */
const GROUPS: readonly (readonly [runtime: string, title: string])[] = [
  ...RUNTIMES.map((id) => [id, RUNTIME_ROWS[id].title] as const),
  ["sampler", "The sampler itself"],
];

function counterTable(runtime: string): string {
  const counters: readonly CounterDefinition[] = counterFile.counters;
  return table(
    ["counter", "kind", "what it counts", "what to do"],
    counters
      .filter((one) => one.runtime === runtime)
      .map(({ name, kind, label, meaning, hint }) => [
        `\`${name}\``,
        KINDS[kind] ?? kind,
        label === undefined ? meaning : `${meaning}; its stacks end in \`[${label}]\``,
        hint,
      ]),
  );
}

/** The views where the keys of a group do something. */
const viewsWith = (group: KeyGroup): string =>
  VIEWS.filter(({ keys }) => keys.includes(group))
    .map(({ id }) => id)
    .join(", ");

/** The page. */
export function referencePage(): string {
  return `${[
    "# Every column, every counter, every key",
    "Made by `npm run docs` from the tables that polytop itself runs by; a test holds them together.",
    "## The header",
    table(["word", "meaning"], HEADER_TERMS),
    "## Functions",
    "Percentages are of the samples of the time shown: this refresh, the last 10 s, or all since `c`.",
    columnTable([...FUNCTION_COLUMNS, CHANGE_COLUMN]),
    "## Processes",
    columnTable(PROCESS_COLUMNS),
    "## Counters of the unwinders",
    "Each refresh shows by how much they grew. Every sample ends in exactly one of: a good end, cut short, an error, a loss. `--json` holds all of them under `metrics`, those that are 0 too.",
    ...GROUPS.flatMap(([runtime, title]) => [`### ${title}`, counterTable(runtime)]),
    "## Keys",
    table(
      ["key", "what it does", "where"],
      BINDINGS.map(({ label, help, group }) => [
        `\`${label}\``,
        help,
        group === undefined ? "everywhere" : viewsWith(group),
      ]),
    ),
  ].join("\n\n")}\n`;
}
