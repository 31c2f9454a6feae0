/**
 * Paints texts with colours and attributes, as SGR sequences. Only named colours are used, so that the
 * palette of a light or a dark terminal stays in charge; nothing is said by them alone.
 */

import { type Glyphs, glyphsFor } from "../text/format.ts";
import { readableFunctionName } from "../text/readable-name.ts";
import { byRuntime, type Colour, type Runtime } from "../tick/runtimes.ts";
import type { FunctionInfo } from "../tick/tick.ts";

/** Paints a text. */
export type Paint = (text: string) => string;

/** Everything is drawn with these. */
export interface Theme {
  readonly glyphs: Glyphs;
  readonly bold: Paint;
  readonly dim: Paint;
  readonly inverse: Paint;
  readonly warning: Paint;
  /** Marks what a search found. */
  readonly match: Paint;
  /** Colours may be used. */
  readonly color: boolean;
  /** Puts a text on the colour of a runtime; without colours it is just the text. */
  readonly block: Readonly<Record<Runtime, Paint>>;
  readonly runtime: Readonly<Record<Runtime, Paint>>;
  /** Names a function. */
  nameOf(info: FunctionInfo): string;
}

const sgr =
  (on: number, off: number): Paint =>
  (text) =>
    text === "" ? "" : `\u001b[${on}m${text}\u001b[${off}m`;

/** SGR has these numbers for colours: 30 more for the text, 40 more for what is behind it. */
const COLOURS: Readonly<Record<Colour, number>> = {
  red: 1,
  green: 2,
  yellow: 3,
  blue: 4,
  magenta: 5,
  cyan: 6,
};

const plain: Paint = (text) => text;

/** Makes the theme; without colour bold, dim and inverse stay, which NO_COLOR is not about. */
export function makeTheme(color: boolean, unicode: boolean): Theme {
  const colour = (code: number): Paint => (color ? sgr(code, 39) : plain);
  const bold = sgr(1, 22);
  const red = colour(31);
  const block =
    (code: number): Paint =>
    (text) =>
      text === "" || !color ? text : `\u001b[30;${code}m${text}\u001b[39;49m`;
  const underline = sgr(4, 24);
  return {
    glyphs: glyphsFor(unicode),
    bold,
    dim: sgr(2, 22),
    inverse: sgr(7, 27),
    warning: (text) => bold(red(text)),
    match: (text) => bold(underline(text)),
    color,
    block: byRuntime((row) => block(40 + COLOURS[row.colour])),
    runtime: byRuntime((row) => colour(30 + COLOURS[row.colour])),
    nameOf: (info) => info.name,
  };
}

/** Makes a theme call functions as the state wants. */
export function withNames(theme: Theme, { readableNames }: { readableNames: boolean }): Theme {
  return readableNames ? { ...theme, nameOf: readableFunctionName } : theme;
}
