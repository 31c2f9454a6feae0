/** The manual page, polytop(1): made of the table of options and of the help. */
import { helpText } from "../../src/options/option-table.ts";
import type { ReleaseFacts } from "../facts.ts";
import { COMMANDS, OPTION_WORDS, spellings } from "./words.ts";

/** Text as roff takes it: no escapes, no requests, dashes that can be copied. */
function roff(text: string): string {
  return text
    .replaceAll("\\", "\\e")
    .replaceAll("-", "\\-")
    .replaceAll("…", "...")
    .replaceAll(/^([.'])/gm, "\\&$1");
}

/** A part of the help, which begins with a heading and ends with an empty line. */
function partOf(help: string, heading: string): string {
  const [, part = ""] = help.split(`${heading}\n`);
  return (part.split("\n\n")[0] ?? "").replaceAll(/^ {2}/gm, "");
}

const options = (): string[] =>
  OPTION_WORDS.flatMap((option) => {
    const names = spellings(option).map((name) => `\\fB${roff(name)}\\fR`);
    const value = option.value && ` \\fI${roff(option.value)}\\fR`;
    return [".TP", `${names.join(", ")}${value}`, roff(option.help)];
  });

const ENVIRONMENT: readonly (readonly [name: string, about: string])[] = [
  ["NO_COLOR", "no colour, where it is not empty"],
  ["POLYTOP_BUDGET", "percent of one CPU that polytop may cost before it samples less; 0: any"],
  ["POLYTOP_DEBUG", "1: an error shows where in polytop it happened"],
  [
    "POLYTOP_OWN_GLIBC",
    "1: take the C library that came with the tar file, not that of the system",
  ],
  ["XDG_CACHE_HOME", "where tables of programs are kept; root's are in /var/cache"],
];

const FILES: readonly (readonly [name: string, about: string])[] = [
  ["/var/cache/polytop", "tables of programs, kept from run to run; may be deleted at any time"],
];

const entries = (rows: readonly (readonly [name: string, about: string])[]): string[] =>
  rows.flatMap(([name, about]) => [".TP", `.B ${roff(name)}`, roff(about)]);

/** The page. */
export function manual({ version, description, epoch }: ReleaseFacts): string {
  const date = new Date(epoch * 1000).toISOString().slice(0, 10);
  const help = helpText();
  return [
    `.TH POLYTOP 1 "${date}" "polytop ${version}" "User Commands"`,
    ".SH NAME",
    `polytop \\- ${roff(description.replace(/^./, (it) => it.toLowerCase()))}`,
    ".SH SYNOPSIS",
    ".B polytop",
    "[\\fIOPTION\\fR]...",
    ...COMMANDS.flatMap(([name]) => {
      const words: Readonly<Record<string, string>> = {
        record: "\\fB\\-o\\fR \\fIFILE\\fR [\\fIOPTION\\fR]...",
        replay: "\\fIFILE\\fR [\\fIOPTION\\fR]...",
        doctor: "[\\fB\\-\\-json\\fR]",
      };
      return [".br", `.B polytop ${name}`, words[name] ?? ""];
    }),
    ".SH DESCRIPTION",
    "Samples all CPUs with eBPF and shows which functions burn the time, live, with complete stacks.",
    "Nothing is restarted, instrumented or attached to.",
    "Where there is no terminal it prints plain text.",
    ".SH COMMANDS",
    ...entries(COMMANDS),
    ".SH OPTIONS",
    ...options(),
    ".SH EXAMPLES",
    ".nf",
    roff(partOf(help, "Examples:")),
    ".fi",
    ".SH EXIT STATUS",
    roff(/^Exit status: (.*)$/m.exec(help)?.[1] ?? ""),
    ".SH ENVIRONMENT",
    ...entries(ENVIRONMENT),
    ".SH FILES",
    ...entries(FILES),
    ".SH SEE ALSO",
    ".BR perf (1),",
    ".BR bpf (2),",
    ".BR capabilities (7)",
    "",
  ].join("\n");
}
