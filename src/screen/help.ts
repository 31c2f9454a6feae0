/** Help, made of the tables that the program runs by. */
import { CHANGE_COLUMN, type Column, FUNCTION_COLUMNS } from "../model/columns.ts";
import { cell, displayWidth, type Glyphs } from "../model/format.ts";
import { PROCESS_COLUMNS } from "../model/process-columns.ts";
import { BINDINGS } from "./bindings.ts";
import type { Theme } from "./paint.ts";

/** Breaks a text into lines of at most `width` cells, at spaces. */
export function wrapWords(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    const longer = line === "" ? word : `${line} ${word}`;
    if (line !== "" && displayWidth(longer) > width) {
      lines.push(line);
      line = word;
    } else {
      line = longer;
    }
  }
  return [...lines, line];
}

const ASCII_LABELS: Readonly<Record<string, string>> = {
  "⏎": "enter",
  "↑ k": "up k",
  "↓ j": "down j",
  "→": "right",
  "←": "left",
};

function entries(
  list: readonly (readonly [string, string])[],
  width: number,
  theme: Theme,
): string[] {
  const { glyphs } = theme;
  const labels = Math.max(...list.map(([label]) => displayWidth(label)));
  const room = Math.max(10, width - labels - 5);
  return list.flatMap(([label, text]) =>
    wrapWords(text, room).map((line, i) => {
      const name = cell(i === 0 ? label : "", labels, "left", "end", glyphs);
      return `   ${theme.bold(name)}  ${cell(line, room, "left", "end", glyphs).trimEnd()}`;
    }),
  );
}

const columnEntries = <Row, Context>(
  columns: readonly Column<Row, Context>[],
): (readonly [string, string])[] => columns.map((column) => [column.heading, column.meaning]);

const keyLabel = (label: string, glyphs: Glyphs): string =>
  glyphs.unicode ? label : (ASCII_LABELS[label] ?? label);

/** What the header says. */
export const HEADER_TERMS: readonly (readonly [string, string])[] = [
  ["busy", "part of the CPUs' time that was not idle; percentages of the lists are of this"],
  ["bars", "the same by the language of the innermost frame"],
  ["complete", "samples whose stack reaches the outermost frame of its thread"],
  ["missed", "samples that the kernel took and that could not be counted"],
  ["polytop", "what it costs itself, of one CPU, the kernel side included"],
];

/** All lines of the help for a window of `width` cells. */
export function helpLines(width: number, theme: Theme): string[] {
  const title = (text: string): string => ` ${theme.bold(text)}`;
  const keys = BINDINGS.map((one) => [keyLabel(one.label, theme.glyphs), one.help] as const);
  return [
    title("Keys"),
    ...entries(keys, width, theme),
    "",
    title("Columns of the functions"),
    ...entries(columnEntries([...FUNCTION_COLUMNS, CHANGE_COLUMN]), width, theme),
    "",
    title("Columns of the processes"),
    ...entries(columnEntries(PROCESS_COLUMNS), width, theme),
    "",
    title("The header"),
    ...entries(HEADER_TERMS, width, theme),
  ];
}
