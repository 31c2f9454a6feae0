/** A screen as a picture: what a terminal shows, cell by cell, as SVG. */
import { fixedColour } from "../../../src/screen/palette.ts";
import type { Cell } from "../../screen/terminal.ts";

const CELL = { width: 8.4, height: 18 };
const MARGIN = 12;
const BACKGROUND = "#16181d";
const FOREGROUND = "#d8dbe2";

/** The first eight colours of a terminal, readable on the background. */
const PALETTE = [
  "#16181d",
  "#f0716c",
  "#7fc47f",
  "#e0c060",
  "#6ea8ef",
  "#c98be0",
  "#5cc4c4",
  "#d8dbe2",
];

const escaped = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

const number = (value: number): string => String(Number(value.toFixed(1)));

interface Look {
  readonly ink: string;
  readonly paper: string;
  readonly style: string;
}

/** A colour by its number, as a page writes it: those from 16 on look the same on every terminal. */
const colourOf = (number: number): string =>
  PALETTE[number] ??
  `#${fixedColour(number)
    .map((part) =>
      Math.round(255 * part)
        .toString(16)
        .padStart(2, "0"),
    )
    .join("")}`;

function lookOf({ foreground, background, bold, dim, inverse, underline }: Cell): Look {
  const front = foreground === undefined ? FOREGROUND : colourOf(foreground);
  const back = background === undefined ? BACKGROUND : colourOf(background);
  const style = [
    bold ? ' font-weight="bold"' : "",
    dim ? ' opacity="0.6"' : "",
    underline ? ' text-decoration="underline"' : "",
  ].join("");
  return inverse ? { ink: back, paper: front, style } : { ink: front, paper: back, style };
}

const same = (a: Look, b: Look): boolean =>
  a.ink === b.ink && a.paper === b.paper && a.style === b.style;

/**
 * One run of cells that look alike. The length of each text is given, so that a cell stays a cell
 * whatever the font; texts end where two blanks follow each other, which XML would make one.
 */
function run({ ink, paper, style }: Look, text: string, column: number, row: number): string {
  const left = (cells: number): string => number(MARGIN + cells * CELL.width);
  const width = (cells: number): string => number(cells * CELL.width);
  const top = MARGIN + row * CELL.height;
  const fill = ink === FOREGROUND ? "" : ` fill="${ink}"`;
  const baseline = number(top + CELL.height * 0.76);
  const texts = [...text.matchAll(/\S+(?: \S+)*/g)].map(
    ({ 0: part, index }) =>
      `<text x="${left(column + index)}" y="${baseline}" textLength="${width(part.length)}"${fill}${style}>${escaped(part)}</text>`,
  );
  const back = `<rect x="${left(column)}" y="${number(top)}" width="${width(text.length)}" height="${CELL.height}" fill="${paper}"/>`;
  return (paper === BACKGROUND ? "" : back) + texts.join("");
}

function line(cells: readonly Cell[], row: number): string {
  let drawn = "";
  for (let from = 0; from < cells.length; ) {
    const look = lookOf(cells[from] as Cell);
    let to = from;
    let text = "";
    while (to < cells.length && same(look, lookOf(cells[to] as Cell))) {
      text += (cells[to] as Cell).text;
      to++;
    }
    drawn += run(look, text, from, row);
    from = to;
  }
  return drawn;
}

/** The picture. Characters of two cells or two code units are not expected in it. */
export function svgOf(screen: readonly (readonly Cell[])[], title: string): string {
  const columns = Math.max(...screen.map((cells) => cells.length));
  const width = number(columns * CELL.width + 2 * MARGIN);
  const height = screen.length * CELL.height + 2 * MARGIN;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" role="img">`,
    `<title>${escaped(title)}</title>`,
    `<rect width="100%" height="100%" rx="6" fill="${BACKGROUND}"/>`,
    `<g font-family="ui-monospace,Menlo,Consolas,DejaVu Sans Mono,monospace" font-size="14" fill="${FOREGROUND}">`,
    ...screen.map(line).filter((text) => text !== ""),
    "</g>",
    "</svg>",
    "",
  ].join("\n");
}
