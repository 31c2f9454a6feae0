/** Reads lines with SGR sequences as cells, and says what to send to turn one line into another. */
import { characterWidth } from "../text/format.ts";

/** A line has a string for each cell (the second cell of a wide character is empty) and its style. */
export interface StyledLine {
  readonly cells: readonly string[];
  readonly styles: readonly number[];
}

// A style is a number: it has attributes in its low bits, then the colours plus one.
const BOLD = 1;
const DIM = 2;
const INVERSE = 4;
const UNDERLINE = 8;
const FOREGROUND = 4;
const BACKGROUND = 12;
const COLOR_MASK = 0xff;

/** Returns the style after an SGR parameter; undefined for one that is not known. */
function applyCode(style: number, code: number): number | undefined {
  if (code === 0) return 0;
  if (code === 1) return style | BOLD;
  if (code === 2) return style | DIM;
  if (code === 4) return style | UNDERLINE;
  if (code === 7) return style | INVERSE;
  if (code === 22) return style & ~(BOLD | DIM);
  if (code === 24) return style & ~UNDERLINE;
  if (code === 27) return style & ~INVERSE;
  const without = (shift: number): number => style & ~(COLOR_MASK << shift);
  if (code === 39) return without(FOREGROUND);
  if (code === 49) return without(BACKGROUND);
  if (code >= 30 && code <= 37) return without(FOREGROUND) | ((code - 29) << FOREGROUND);
  if (code >= 90 && code <= 97) return without(FOREGROUND) | ((code - 81) << FOREGROUND);
  if (code >= 40 && code <= 47) return without(BACKGROUND) | ((code - 39) << BACKGROUND);
  if (code >= 100 && code <= 107) return without(BACKGROUND) | ((code - 91) << BACKGROUND);
  return undefined;
}

const colorCode = (value: number, base: number, bright: number): number =>
  value <= 8 ? base + value - 1 : bright + value - 9;

/** Makes the sequence that turns one style into another; it is short where nothing has to go. */
function sequence(before: number, style: number): string {
  if (style === 0) return "\u001b[m";
  const codes: number[] = before === 0 ? [] : [0];
  if (style & BOLD) codes.push(1);
  if (style & DIM) codes.push(2);
  if (style & UNDERLINE) codes.push(4);
  if (style & INVERSE) codes.push(7);
  const foreground = (style >> FOREGROUND) & COLOR_MASK;
  const background = (style >> BACKGROUND) & COLOR_MASK;
  if (foreground > 0) codes.push(colorCode(foreground, 30, 90));
  if (background > 0) codes.push(colorCode(background, 40, 100));
  return `\u001b[${codes.join(";")}m`;
}

/** Finds the end of the SGR sequence that starts at `start`; -1 for any other escape. */
function sequenceEnd(text: string, start: number): number {
  if (text[start + 1] !== "[") return -1;
  for (let i = start + 2; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === 0x6d) return i;
    if (code !== 0x3b && (code < 0x30 || code > 0x39)) return -1;
  }
  return -1;
}

/** Reads the cells of a line; undefined when it holds anything but text and known SGR sequences. */
export function parseStyled(text: string): StyledLine | undefined {
  const cells: string[] = [];
  const styles: number[] = [];
  let style = 0;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code >= 0x20 && code < 0x7f) {
      cells.push(text[i] as string);
      styles.push(style);
    } else if (code === 0x1b) {
      const end = sequenceEnd(text, i);
      if (end < 0) return undefined;
      for (const part of text.slice(i + 2, end).split(";")) {
        const next = applyCode(style, Number(part));
        if (next === undefined) return undefined;
        style = next;
      }
      i = end;
    } else if (code < 0xa0) {
      return undefined;
    } else {
      const character = String.fromCodePoint(text.codePointAt(i) ?? 0);
      i += character.length - 1;
      const width = characterWidth(character);
      // What combines with the character before, or joins two, is drawn as terminals please.
      if (width === 0) return undefined;
      cells.push(character);
      styles.push(style);
      if (width === 2) {
        cells.push("");
        styles.push(style);
      }
    }
  }
  return { cells, styles };
}

/** Up to so many equal cells are sent again rather than skipped: moving the cursor costs as much. */
const SHORT_GAP = 5;

/** Makes what turns `previous` into `next` on a row, counted from 1, while no style is set. */
export function styledUpdate(previous: StyledLine, next: StyledLine, row: number): string {
  const { cells, styles } = next;
  const width = Math.max(cells.length, previous.cells.length);
  const isEqual = (i: number): boolean =>
    (cells[i] ?? " ") === (previous.cells[i] ?? " ") &&
    (styles[i] ?? 0) === (previous.styles[i] ?? 0);
  let end = cells.length;
  while (end > 0 && cells[end - 1] === " " && styles[end - 1] === 0) end--;
  let update = "";
  const moveTo = (column: number): string =>
    update === "" ? `\u001b[${row};${column}H` : `\u001b[${column}G`;
  for (let i = 0; i < width; i++) {
    if (isEqual(i)) continue;
    if (i >= end) {
      // Nothing but blanks follow.
      return `${update}${moveTo(i + 1)}\u001b[K`;
    }
    let first = i;
    // Half of a wide character cannot be sent.
    while (first > 0 && (cells[first] === "" || previous.cells[first] === "")) first--;
    let last = i;
    for (let at = i + 1; at < end && at - last <= SHORT_GAP; at++) if (!isEqual(at)) last = at;
    while (cells[last + 1] === "" || previous.cells[last + 1] === "") last++;
    update += moveTo(first + 1);
    let style = 0;
    for (let at = first; at <= last; at++) {
      const wanted = styles[at] ?? 0;
      if (wanted !== style) update += sequence(style, wanted);
      style = wanted;
      update += cells[at] ?? " ";
    }
    if (style !== 0) update += sequence(style, 0);
    i = last;
  }
  return update;
}
