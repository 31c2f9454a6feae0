/** Paints texts with colours and attributes, as SGR sequences; nothing is said by them alone. */

import { type Glyphs, glyphsFor } from "../text/format.ts";
import { readableFunctionName } from "../text/readable-name.ts";
import { EVERY_RUNTIME, type Runtime } from "../tick/runtimes.ts";
import type { FunctionInfo } from "../tick/tick.ts";
import { BLACK, blockColour, type Colours, type Role, textColour } from "./palette.ts";

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
  /** Blocks of colour can be drawn. */
  readonly hasBlocks: boolean;
  /** Puts a text on the colour of a runtime; without blocks it is just the text. */
  readonly block: Readonly<Record<Runtime, Paint>>;
  readonly runtime: Readonly<Record<Runtime, Paint>>;
  /** Names a function. */
  nameOf(info: FunctionInfo): string;
}

const sgr =
  (on: number | string, off: number | string): Paint =>
  (text) =>
    text === "" ? "" : `\u001b[${on}m${text}\u001b[${off}m`;

const eachRuntime = <T>(make: (runtime: Runtime) => T): Record<Runtime, T> =>
  Object.fromEntries(EVERY_RUNTIME.map((it) => [it, make(it)])) as Record<Runtime, T>;

const plain: Paint = (text) => text;

/** Makes the theme; without colour bold and inverse stay, which NO_COLOR is not about. */
export function makeTheme(colours: Colours, unicode: boolean): Theme {
  const painted = (parameters: string | undefined, off: number | string): Paint =>
    parameters === undefined ? plain : sgr(parameters, off);
  const text = (role: Role): Paint => painted(textColour(colours, role), 39);
  const bold = sgr(1, 22);
  const warning = text("warning");
  const underline = sgr(4, 24);
  return {
    glyphs: glyphsFor(unicode),
    bold,
    dim: text("dim"),
    inverse: sgr(7, 27),
    warning: (line) => bold(warning(line)),
    match: (line) => bold(underline(line)),
    hasBlocks: blockColour(colours, "native") !== undefined,
    block: eachRuntime((runtime) => painted(blockColour(colours, runtime), "39;49")),
    runtime: eachRuntime(text),
    nameOf: (info) => info.name,
  };
}

/** The theme of a terminal of which nothing is to be asked. */
export const NO_COLOURS: Colours = { depth: "none", background: BLACK };

/** Makes a theme call functions as the state wants. */
export function withNames(theme: Theme, { readableNames }: { readableNames: boolean }): Theme {
  return readableNames ? { ...theme, nameOf: readableFunctionName } : theme;
}
