/** Every option of the command line, once: the parser and the help read this table. */
import packageJson from "../../package.json" with { type: "json" };
import { exampleOf, FILTER_KEYS } from "../model/filter/filter-words.ts";
import { SORT_KEYS } from "../model/sort.ts";
import { EXPORT_FORMATS, SINK_FORMATS, type SinkFormat } from "../output/formats.ts";
import { EVENT_NAMES } from "../tick/events.ts";

/** One option of the command line. */
export interface OptionDefinition {
  readonly type: "string" | "boolean";
  readonly shortFlag?: string;
  /** What stands for the value in the help; none for a boolean. */
  readonly value?: string;
  readonly help: string;
  /** Starts as true and is switched off by `--no-…`. */
  readonly negative?: true;
}

/** An option for each row of a table, under the same key. */
function eachRow<Key extends string, Row>(
  table: Readonly<Record<Key, Row>>,
  make: (row: Row) => OptionDefinition,
): Record<Key, OptionDefinition> {
  const rows = Object.entries<Row>(table).map(([key, row]) => [key, make(row)]);
  return Object.fromEntries(rows) as Record<Key, OptionDefinition>;
}

/** Every option. Numbers are read as text, so that `-F abc` can be named in the error. */
export const OPTIONS = {
  delay: {
    type: "string",
    shortFlag: "d",
    value: "SECONDS",
    help: "time between refreshes, 0.1 to 60 (default 1)",
  },
  frequency: {
    type: "string",
    shortFlag: "F",
    value: "HZ",
    help: "samples a second on each CPU, 1 to 9999 (default 99; events 499)",
  },
  count: {
    type: "string",
    shortFlag: "c",
    value: "N",
    help: "with -e: look at every Nth hit of an event, which counts for N",
  },
  event: {
    type: "string",
    shortFlag: "e",
    value: "EVENT[,…]",
    help: `${EVENT_NAMES.join(", ")}, page-faults, subsystem:name, uprobe:FUNC (default cpu)`,
  },
  pid: {
    type: "string",
    shortFlag: "p",
    value: "PID[,PID…]",
    help: "only these processes (default all)",
  },
  filter: {
    type: "string",
    shortFlag: "f",
    value: "TEXT",
    help: "show what matches: text, /regex/, or the words below; ! for not, | for or",
  },
  sort: {
    type: "string",
    shortFlag: "s",
    value: "KEY",
    help: `${SORT_KEYS.join(", ")} (default self)`,
  },
  iterations: { type: "string", shortFlag: "n", value: "N", help: "stop after N refreshes" },
  once: { type: "boolean", help: "the same as --batch -n 1" },
  ...eachRow(SINK_FORMATS, (format: SinkFormat) => ({
    type: "boolean",
    help: format.help,
    ...(format.shortFlag ? { shortFlag: format.shortFlag } : {}),
  })),
  rows: {
    type: "string",
    value: "N",
    help: "functions in --batch and --json, 0 for all (default 50)",
  },
  stacks: {
    type: "string",
    value: "N",
    help: "with --json: the N hottest stacks of each function too",
  },
  kernel: { type: "boolean", negative: true, help: "leave kernel frames out" },
  async: {
    type: "boolean",
    negative: true,
    help: "show the scheduler's frames in place of those that await",
  },
  nativeFrames: { type: "boolean", help: "show the interpreters' own native frames too" },
  idle: { type: "boolean", help: "with -e wait and wall, show waits for work too" },
  readableNames: {
    type: "boolean",
    help: "on the screen, name what the C# compiler made after its source",
  },
  arguments: {
    type: "boolean",
    negative: true,
    help: "show programs and scripts without their arguments",
  },
  cache: {
    type: "boolean",
    negative: true,
    help: "neither read nor write the tables that are kept on disk",
  },
  color: { type: "boolean", negative: true, help: "no colour, like NO_COLOR=1" },
  light: { type: "boolean", help: "the screen has a light background; it is asked otherwise" },
  dark: { type: "boolean", help: "the screen has a dark background" },
  ascii: { type: "boolean", help: "draw with ASCII alone, as on the Linux console" },
  ...eachRow(EXPORT_FORMATS, ({ help }) => ({ type: "string", value: "FILE", help })),
  output: { type: "string", shortFlag: "o", value: "FILE", help: "the recording of `record`" },
  help: { type: "boolean", shortFlag: "h", help: "this text" },
  version: { type: "boolean", shortFlag: "v", help: "the version" },
} as const satisfies Record<string, OptionDefinition>;

export type Key = keyof typeof OPTIONS;
export const DEFINITIONS = Object.entries(OPTIONS) as [Key, OptionDefinition][];

/** nativeFrames → --native-frames */
export const dashed = (key: string): string =>
  `--${key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;

const FILTER_EXAMPLES = FILTER_KEYS.map(exampleOf);

/** The text of `--help`. */
export function helpText(): string {
  const rows = DEFINITIONS.map(([key, definition]) => {
    const { shortFlag, value, negative, help } = definition as OptionDefinition;
    const long = negative ? dashed(`no-${key}`) : dashed(key);
    const short = shortFlag ? `-${shortFlag}, ` : "    ";
    return [`  ${short}${long}${value ? ` ${value}` : ""}`, help] as const;
  });
  const width = Math.max(...rows.map(([left]) => left.length)) + 2;
  return `${packageJson.description}.

Usage: polytop [OPTION…]                  live view; plain text where there is no terminal
       polytop [OPTION…] -- COMMAND ARG…  samples a command and what it starts, until it ends
       polytop record -o FILE [OPTION…]   samples into a recording, without a screen
       polytop replay FILE [OPTION…]      live view, or plain text, of a recording
       polytop doctor [--json]            what this machine lacks, and what mends it
       polytop list [KIND] [PATTERN]      events, functions or usdt probes for -e that match

${rows.map(([left, help]) => `${left.padEnd(width)}${help}`).join("\n")}

Filter words, each with one value or several with commas:
  ${FILTER_EXAMPLES.slice(0, 7).join(" ")}
  ${FILTER_EXAMPLES.slice(7).join(" ")}

Examples:
  polytop                            what burns the CPUs, refreshed each second
  polytop -p 4211,4212 -F 499        two processes, sampled more often
  polytop -f 'lang:perl !Ledger'     Perl functions, without those of Ledger
  polytop --once | awk '$1 > 5'      functions above 5 percent
  polytop --json -n 10 > ten.jsonl   ten refreshes for a program to read
  polytop --folded -n 30 > out.txt   30 seconds of stacks for a flame graph
  polytop record -o a.polytop -n 60  a minute to look at later: polytop replay a.polytop

Exit status: 0 done, 1 failed while running, 2 wrong usage, 3 this machine or user cannot.
`;
}

/** The text of `--version`: of a release also what it was made of, and the oldest C library that it starts on. */
export function versionText(release?: { readonly commit: string; readonly glibc: string }): string {
  const made = release ? ` (commit ${release.commit.slice(0, 12)}, glibc ${release.glibc})` : "";
  return `${packageJson.name} ${packageJson.version}${made}\n`;
}
