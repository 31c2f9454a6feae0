/** Draws the help, of the tables that the program runs by. */
import { cell, clean, displayWidth, type Glyphs } from "../text/format.ts";
import { wrapCells, wrapWords } from "../text/wrap.ts";
import { BINDINGS } from "./keys/bindings.ts";
import type { Theme } from "./theme.ts";
import { VIEWS } from "./views/registry.ts";

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
      const name = cell(i === 0 ? label : "", labels, glyphs);
      return `   ${theme.bold(name)}  ${cell(line, room, glyphs).trimEnd()}`;
    }),
  );
}

const keyLabel = (label: string, glyphs: Glyphs): string =>
  glyphs.unicode ? label : (ASCII_LABELS[label] ?? label);

/** The header says these words. */
export const HEADER_TERMS: readonly (readonly [string, string])[] = [
  ["busy", "part of the CPUs' time that was not idle; percentages of the lists are of this"],
  ["bars", "the same by the language of the innermost frame"],
  ["complete", "samples whose stack reaches the outermost frame of its thread"],
  [
    "guessed",
    "samples whose stack reaches it through code without unwind rules: a caller may lack",
  ],
  ["missed", "samples that the kernel took and that could not be counted"],
  ["polytop", "what it costs itself, of one CPU, the kernel side included"],
];

/** Draws all lines of the help for a window of `width` cells. */
export function helpLines(width: number, theme: Theme): string[] {
  const title = (text: string): string => ` ${theme.bold(text)}`;
  const keys = BINDINGS.map((one) => [keyLabel(one.label, theme.glyphs), one.help] as const);
  return [
    title("Keys"),
    ...entries(keys, width, theme),
    "",
    ...VIEWS.flatMap(({ id, columns }) => {
      const list = columns?.map(({ heading, meaning }) => [heading, meaning] as const);
      return list ? [title(`Columns of the ${id}`), ...entries(list, width, theme), ""] : [];
    }),
    title("The header"),
    ...entries(HEADER_TERMS, width, theme),
  ];
}

/** Draws all lines of the page of notices. */
export function noticeLines(notices: readonly string[], width: number, theme: Theme): string[] {
  const { glyphs } = theme;
  const room = Math.max(10, width - 4);
  if (notices.length === 0) return ["", "   There is nothing to be known."];
  return notices.flatMap((text) => {
    const lines = wrapWords(text, room - 2).flatMap((line) =>
      wrapCells(clean(line, glyphs.unicode), room - 2),
    );
    return ["", ...lines.map((line, i) => ` ${theme.bold(i === 0 ? "!" : " ")} ${line}`)];
  });
}
