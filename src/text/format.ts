/**
 * Makes text for cells: numbers in few characters, strings cut to exact display width. The few glyphs
 * that are drawn have an ASCII form each.
 */

/** The glyphs that the screen draws. */
export interface Glyphs {
  readonly unicode: boolean;
  readonly ellipsis: string;
  /** Blocks begin at the left of a cell and fill an eighth of it, two, … all of it. */
  readonly blocks: readonly string[];
  readonly pointer: string;
  readonly none: string;
  readonly descending: string;
  readonly ascending: string;
  readonly child: string;
  readonly enter: string;
  /** The heights of a history line; the lowest is the first. */
  readonly levels: readonly string[];
  readonly open: string;
  readonly closed: string;
  /** Each frame of a flame begins with it. */
  readonly edge: string;
}

/** Terminals that say they speak UTF-8 get these. */
export const UNICODE_GLYPHS: Glyphs = {
  unicode: true,
  ellipsis: "…",
  blocks: ["▏", "▎", "▍", "▌", "▋", "▊", "▉", "█"],
  pointer: "▶",
  none: "-",
  descending: "↓",
  ascending: "↑",
  child: "└ ",
  enter: "⏎",
  levels: ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"],
  open: "▾",
  closed: "▸",
  edge: "▏",
};

/** All other terminals get these. */
export const ASCII_GLYPHS: Glyphs = {
  unicode: false,
  ellipsis: "~",
  blocks: ["#"],
  pointer: ">",
  none: "-",
  descending: "v",
  ascending: "^",
  child: "` ",
  enter: "enter",
  levels: [".", ":", "-", "=", "+", "*", "%", "#"],
  open: "-",
  closed: "+",
  edge: "|",
};

/** Returns the glyphs to draw with. */
export const glyphsFor = (unicode: boolean): Glyphs => (unicode ? UNICODE_GLYPHS : ASCII_GLYPHS);

/**
 * Writes `part` of `whole` in percent with one decimal: "31.2", "100", and "0.0" for little. It takes
 * at most four characters.
 */
export function percent(part: number, whole: number): string {
  const value = whole > 0 ? (100 * part) / whole : 0;
  return value >= 99.95 ? Math.round(value).toString() : value.toFixed(1);
}

/** Writes a share that must not be rounded up to 100: "99.9", "100" only when nothing is missing. */
export function sharePercent(part: number, whole: number): string {
  if (whole <= 0 || part >= whole) return "100";
  return (Math.floor((1000 * part) / whole) / 10).toFixed(1);
}

/** Writes a difference in percentage points: "+3.1", "-12.0", "0.0". */
export function points(value: number): string {
  const text = Math.abs(value).toFixed(1);
  return text === "0.0" ? text : `${value > 0 ? "+" : "-"}${text}`;
}

/** Writes 412007 as "412,007". */
export function thousands(value: number): string {
  const digits = Math.round(Math.abs(value)).toString();
  let text = "";
  for (let i = 0; i < digits.length; i++) {
    if (i > 0 && (digits.length - i) % 3 === 0) text += ",";
    text += digits[i];
  }
  return value < 0 ? `-${text}` : text;
}

/** Writes a rate: "172", "8.1", "0.2", "0"; large ones as "12.3k", "4.1M". */
export function rate(perSecond: number): string {
  if (perSecond === 0) return "0";
  if (perSecond >= 99_950) return `${scaled(perSecond, ["k", "M", "G"])}`;
  if (perSecond >= 9.95) return thousands(perSecond);
  return perSecond < 0.05 ? "<0.1" : perSecond.toFixed(1);
}

function scaled(value: number, units: readonly string[]): string {
  let rest = value;
  let unit = "";
  for (const next of units) {
    if (rest < 999.5) break;
    rest /= 1000;
    unit = next;
  }
  return `${rest >= 99.95 ? rest.toFixed(0) : rest.toFixed(1)}${unit}`;
}

/** Writes "96 MB" in decimal units, as memory is sold and as other tops show it. */
export function bytes(value: number): string {
  if (value < 1000) return `${Math.round(value)} B`;
  const units = ["kB", "MB", "GB", "TB"];
  let rest = value / 1000;
  let unit = 0;
  while (rest >= 999.5 && unit < units.length - 1) {
    rest /= 1000;
    unit++;
  }
  return `${rest >= 9.95 ? rest.toFixed(0) : rest.toFixed(1)} ${units[unit] ?? ""}`;
}

/** Writes seconds as a clock does: "0:12", "12:03", "1:00:05". */
export function clock(seconds: number): string {
  const whole = Math.max(0, Math.floor(seconds));
  const two = (n: number): string => n.toString().padStart(2, "0");
  const minutes = Math.floor(whole / 60);
  return minutes < 60
    ? `${minutes}:${two(whole % 60)}`
    : `${Math.floor(minutes / 60)}:${two(minutes % 60)}:${two(whole % 60)}`;
}

/** Writes milliseconds since 1970 as the time of day here: "12:00:01". */
export function timeOfDay(time: number): string {
  const date = new Date(time);
  return [date.getHours(), date.getMinutes(), date.getSeconds()]
    .map((part) => part.toString().padStart(2, "0"))
    .join(":");
}

/** Writes a time in words: "12 s", "3 min 5 s", "1 h 2 min". */
export function duration(seconds: number): string {
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  const minutes = Math.floor(whole / 60);
  if (minutes < 60) return `${minutes} min ${whole % 60} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** Writes an interval: "1 s", "0.5 s". */
export const seconds = (value: number): string =>
  `${Number.isInteger(value) ? value : Number(value.toFixed(1))} s`;

const PRINTABLE_ASCII = /^[\x20-\x7e]*$/;
// Marks and invisible formatting take no cell; controls and direction overrides must never get out.
const ZERO_WIDTH = /^[\p{Mn}\p{Me}\p{Cf}]$/u;
const INVISIBLE = /\p{Default_Ignorable_Code_Point}/gu;
const UNSAFE = /[\p{Cc}\u200e\u200f\u202a-\u202e\u2066-\u2069\u2028\u2029]/gu;
const EMOJI = /^\p{Emoji_Presentation}$/u;

/** Characters from the first to the last code point of these ranges take two cells. */
const WIDE: readonly (readonly [number, number])[] = [
  [0x1100, 0x115f],
  [0x2329, 0x232a],
  [0x2e80, 0x303e],
  [0x3041, 0x33ff],
  [0x3400, 0x4dbf],
  [0x4e00, 0x9fff],
  [0xa000, 0xa4cf],
  [0xa960, 0xa97f],
  [0xac00, 0xd7a3],
  [0xf900, 0xfaff],
  [0xfe10, 0xfe19],
  [0xfe30, 0xfe6f],
  [0xff00, 0xff60],
  [0xffe0, 0xffe6],
  [0x16fe0, 0x18aff],
  [0x1aff0, 0x1b2fb],
  [0x1f200, 0x1f2ff],
  [0x20000, 0x3fffd],
];

/** Widths and 1 of the characters below this one that were met: what a screen is drawn with, and most names. */
const KNOWN_BELOW = 0x3000;
const knownWidths = new Uint8Array(KNOWN_BELOW);

/** Says how many cells one character takes. */
export function characterWidth(character: string): number {
  const code = character.codePointAt(0) ?? 0;
  if (code < 0x300) return 1;
  const known = knownWidths[code] ?? 0;
  if (known > 0) return known - 1;
  const width = findWidth(character, code);
  if (code < KNOWN_BELOW) knownWidths[code] = width + 1;
  return width;
}

function findWidth(character: string, code: number): number {
  if (ZERO_WIDTH.test(character)) return 0;
  for (const [first, last] of WIDE) if (code >= first && code <= last) return 2;
  return EMOJI.test(character) ? 2 : 1;
}

/** Says how many cells of a terminal `text` takes. */
export function displayWidth(text: string): number {
  if (PRINTABLE_ASCII.test(text)) return text.length;
  let width = 0;
  for (const character of text) width += characterWidth(character);
  return width;
}

/** Takes from `text` what could move the cursor or turn the direction, and all but ASCII unless `unicode`. */
export function clean(text: string, unicode: boolean): string {
  if (PRINTABLE_ASCII.test(text)) return text;
  const safe = text.replace(UNSAFE, unicode ? "\ufffd" : "?").replace(INVISIBLE, "");
  return unicode ? safe : safe.replace(/[^\x20-\x7e]/gu, "?");
}

/** A text that is too long loses characters there. */
export type Cut = "end" | "middle" | "start";

function take(characters: readonly string[], room: number): string {
  let width = 0;
  let text = "";
  for (const character of characters) {
    width += characterWidth(character);
    if (width > room) break;
    text += character;
  }
  return text;
}

/** Cuts `text` to at most `width` cells; a glyph stands for what was left out. */
export function truncate(text: string, width: number, cut: Cut, glyphs: Glyphs): string {
  const safe = clean(text, glyphs.unicode);
  const ascii = PRINTABLE_ASCII.test(safe);
  if ((ascii ? safe.length : displayWidth(safe)) <= width) return safe;
  if (width <= 0) return "";
  const room = width - 1;
  // The end of a name tells more than its beginning, which is a package or namespace.
  const head = cut === "end" ? room : cut === "start" ? 0 : Math.floor(room * 0.4);
  const tail = room - head;
  if (ascii) {
    return safe.slice(0, head) + glyphs.ellipsis + (tail > 0 ? safe.slice(-tail) : "");
  }
  const characters = [...safe];
  const end = [...take(characters.toReversed(), tail)].reverse().join("");
  return take(characters, head) + glyphs.ellipsis + end;
}

/** Cuts or pads `text` to exactly `width` cells. */
export function cell(
  text: string,
  width: number,
  glyphs: Glyphs,
  align: "left" | "right" = "left",
  cut: Cut = "end",
): string {
  if (width <= 0) return "";
  // Most cells hold a number or a short name.
  if (text.length <= width && PRINTABLE_ASCII.test(text)) {
    return align === "left" ? text.padEnd(width) : text.padStart(width);
  }
  const short = truncate(text, width, cut, glyphs);
  const gap = width - displayWidth(short);
  if (gap <= 0) return short;
  return align === "left" ? short + " ".repeat(gap) : " ".repeat(gap) + short;
}

/** Draws a bar that would fill `cells` cells at a share of 1; behind its end there is no padding. */
export function bar(share: number, cells: number, glyphs: Glyphs): string {
  const steps = glyphs.blocks.length;
  const filled = Math.round(Math.min(1, Math.max(0, share)) * cells * steps);
  const whole = Math.floor(filled / steps);
  const part = filled % steps;
  const full = glyphs.blocks[steps - 1] ?? "#";
  return full.repeat(whole) + (part > 0 ? (glyphs.blocks[part - 1] ?? "") : "");
}
