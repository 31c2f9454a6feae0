/** The command line as the manual page and the completions show it: made of the table of options. */
import { SORT_KEYS } from "../../src/model/sort.ts";
import { DEFINITIONS, dashed, type OptionDefinition } from "../../src/options/option-table.ts";
import { EVENT_NAMES } from "../../src/tick/events.ts";

/** The first words that are no options. */
export const COMMANDS: readonly (readonly [name: string, about: string])[] = [
  ["record", "samples into a recording, without a screen"],
  ["replay", "shows a recording"],
  ["doctor", "says what this machine lacks, and what mends it"],
];

/** What may follow an option. */
export type ValueKind =
  | { readonly kind: "none" | "file" | "pids" | "text" }
  | { readonly kind: "words"; readonly words: readonly string[] };

/** One option as it is typed. */
export interface OptionWords {
  readonly long: string;
  /** With its dash; empty: there is none. */
  readonly short: string;
  /** What stands for the value; empty: it has none. */
  readonly value: string;
  readonly help: string;
  readonly follows: ValueKind;
}

function kindOf(key: string, { value }: OptionDefinition): ValueKind {
  if (value === undefined) return { kind: "none" };
  if (key === "sort") return { kind: "words", words: SORT_KEYS };
  if (key === "event") return { kind: "words", words: EVENT_NAMES };
  if (key === "pid") return { kind: "pids" };
  return { kind: value === "FILE" ? "file" : "text" };
}

/** All options, in the order of the help. */
export const OPTION_WORDS: readonly OptionWords[] = DEFINITIONS.map(([key, definition]) => {
  const { shortFlag, value = "", negative, help }: OptionDefinition = definition;
  return {
    long: dashed(negative ? `no-${key}` : key),
    short: shortFlag ? `-${shortFlag}` : "",
    value,
    help,
    follows: kindOf(key, definition),
  };
});

/** The spellings of one option. */
export const spellings = ({ short, long }: OptionWords): string[] =>
  short ? [short, long] : [long];
