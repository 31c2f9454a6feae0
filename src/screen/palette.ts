/**
 * Chooses colours that can be read: on whatever a terminal has behind its text, each has a contrast of 4.5 : 1 at least,
 * as WCAG 2.2 defines it (success criterion 1.4.3), or the text is left in the terminal's own colour.
 */
import type { Rgb } from "../terminal/input-stream.ts";
import { byRuntime, type Runtime } from "../tick/runtimes.ts";

/** How many colours a terminal can be asked for: none, the eight whose look its palette chooses, or the 256 of xterm. */
export type Depth = "none" | "few" | "many";

/** What is known of a terminal's colours. */
export interface Colours {
  readonly depth: Depth;
  /** What is behind its text. */
  readonly background: Rgb;
}

export const BLACK: Rgb = [0, 0, 0];
export const WHITE: Rgb = [1, 1, 1];

/** Text of less contrast is hard to read. */
export const LEAST_CONTRAST = 4.5;

const linear = (part: number): number =>
  part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;

/** How bright a colour is, 0 to 1: the relative luminance of WCAG. */
export const luminance = ([red, green, blue]: Rgb): number =>
  0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue);

/** The contrast ratio of two colours, 1 to 21. */
export function contrast(one: Rgb, other: Rgb): number {
  const [less = 0, more = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (more + 0.05) / (less + 0.05);
}

/** Whether a colour lies behind light or dark text. */
export const isLight = (background: Rgb): boolean =>
  contrast(background, BLACK) > contrast(background, WHITE);

/** The steps of xterm's colour cube (256colres.pl), and its greys from number 232 on. */
const STEPS = [0, 95, 135, 175, 215, 255];
const CUBE = 16;
const GREYS = 232;

/** A colour of the 256 by its number from 16 on: those below look as the palette of the terminal says. */
export function fixedColour(number: number): Rgb {
  if (number >= GREYS) {
    const grey = (8 + 10 * (number - GREYS)) / 255;
    return [grey, grey, grey];
  }
  const place = number - CUBE;
  const step = (at: number): number => (STEPS[at] ?? 0) / 255;
  return [step(Math.floor(place / 36)), step(Math.floor(place / 6) % 6), step(place % 6)];
}

/** What is painted: the language of a function, what is wrong, and what is beside the point. */
export type Role = Runtime | "warning" | "dim";

const OF_RUNTIMES = {
  dark: byRuntime((row) => row.onDark),
  light: byRuntime((row) => row.onLight),
};

/** The colours of text, of the 256. */
export const TEXT: Readonly<Record<"dark" | "light", Readonly<Record<Role, number>>>> = {
  dark: { ...OF_RUNTIMES.dark, warning: 210, dim: 248 },
  light: { ...OF_RUNTIMES.light, warning: 124, dim: 240 },
};

/** The text of a block of a flame; what is behind it is the text of a dark terminal. */
export const BLOCK_TEXT = CUBE;

/**
 * Of the eight colours these can be read on a dark terminal with the palettes of xterm, the Linux console and Solarized;
 * none can on a light one. The number is that of SGR.
 */
export const FEW_ON_DARK: Partial<Readonly<Record<Role, number>>> = { perl: 36, native: 32 };

/** The parameters of SGR that paint a text in a role; undefined: it keeps the terminal's own colour. */
export function textColour({ depth, background }: Colours, role: Role): string | undefined {
  const isDark = !isLight(background);
  if (depth === "few" && isDark) return FEW_ON_DARK[role]?.toString();
  if (depth !== "many") return undefined;
  const number = TEXT[isDark ? "dark" : "light"][role];
  return contrast(fixedColour(number), background) >= LEAST_CONTRAST ? `38;5;${number}` : undefined;
}

/** The parameters of SGR that draw a block of a runtime; undefined where blocks cannot be told from text. */
export const blockColour = ({ depth }: Colours, runtime: Runtime): string | undefined =>
  depth === "many" ? `38;5;${BLOCK_TEXT};48;5;${TEXT.dark[runtime]}` : undefined;
