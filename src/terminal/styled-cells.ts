/** Reads lines with SGR sequences as cells, and says what to send to turn one line into another. */
import { characterWidth } from "../text/format.ts";

// A style is a number: it has attributes in its low bits, then the colours plus one.
const BOLD = 1;
const DIM = 2;
const INVERSE = 4;
const UNDERLINE = 8;
const FOREGROUND = 4;
const BACKGROUND = 12;
const COLOR_MASK = 0xff;

const SPACE = 0x20;
const ESCAPE = 0x1b;
/** The character of the second cell of a wide one. */
const NONE = 0;
/** What is no style: a parameter that is not known has it. */
const UNKNOWN = -1;

/** Returns the style after an SGR parameter; UNKNOWN for one that is not known. */
function applyCode(style: number, code: number): number {
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
  return UNKNOWN;
}

/** Returns the style with one of the 256 colours, behind `38;5` or `48;5`: those below 16 are the named ones. */
function applyIndexed(style: number, kind: number, index: number): number {
  if (index >= COLOR_MASK) return UNKNOWN;
  const shift = kind === 38 ? FOREGROUND : BACKGROUND;
  return (style & ~(COLOR_MASK << shift)) | ((index + 1) << shift);
}

function colorCode(value: number, base: number, bright: number): string {
  if (value > 16) return `${base + 8};5;${value - 1}`;
  return String(value <= 8 ? base + value - 1 : bright + value - 9);
}

/** Makes the sequence that turns one style into another; it is short where nothing has to go. */
function sequence(before: number, style: number): string {
  if (style === 0) return "\u001b[m";
  const codes: (number | string)[] = before === 0 ? [] : [0];
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

/**
 * A line of a screen as cells. It is filled again with what comes to its place: objects for each line were a third of
 * what the screen left to be collected as garbage.
 */
export class StyledLine {
  readonly #characters: Uint32Array;
  readonly #styles: Uint32Array;
  #length = 0;

  constructor(columns: number) {
    this.#characters = new Uint32Array(columns);
    this.#styles = new Uint32Array(columns);
  }

  get length(): number {
    return this.#length;
  }

  /** The code point in a cell: a blank behind the end, 0 in the second cell of a wide character. */
  character(cell: number): number {
    return cell < this.#length ? (this.#characters[cell] ?? SPACE) : SPACE;
  }

  style(cell: number): number {
    return cell < this.#length ? (this.#styles[cell] ?? 0) : 0;
  }

  /**
   * Reads the cells of a line. Says whether it could: it cannot where there is anything but text and known SGR
   * sequences, or more than there are columns.
   */
  read(text: string): boolean {
    this.#length = 0;
    let style = 0;
    for (let i = 0; i < text.length; i++) {
      const code = text.charCodeAt(i);
      if (code >= SPACE && code < 0x7f) {
        this.#append(code, style);
      } else if (code === ESCAPE) {
        const end = text.indexOf("m", i);
        style = applySequence(style, text, i, end);
        if (style === UNKNOWN) return false;
        i = end;
      } else if (code < 0xa0) {
        return false;
      } else {
        const character = text.codePointAt(i) ?? 0;
        if (character > 0xffff) i++;
        const width = characterWidth(String.fromCodePoint(character));
        // What combines with the character before, or joins two, is drawn as terminals please.
        if (width === 0) return false;
        this.#append(character, style);
        if (width === 2) this.#append(NONE, style);
      }
    }
    return this.#length <= this.#characters.length;
  }

  #append(character: number, style: number): void {
    this.#characters[this.#length] = character;
    this.#styles[this.#length] = style;
    this.#length++;
  }
}

/** Returns the style after the SGR sequence from `start` to the `m` at `end`; UNKNOWN for any other escape. */
function applySequence(before: number, text: string, start: number, end: number): number {
  if (text[start + 1] !== "[") return UNKNOWN;
  let style = before;
  let code = 0;
  // 38 or 48 while a colour is to follow; whether the 5 between them has come.
  let kind = 0;
  let isIndexed = false;
  for (let i = start + 2; i <= end; i++) {
    const digit = text.charCodeAt(i) - 0x30;
    if (digit >= 0 && digit <= 9) {
      code = 10 * code + digit;
    } else {
      if (i < end && text[i] !== ";") return UNKNOWN;
      if (kind === 0 && (code === 38 || code === 48)) {
        kind = code;
      } else if (kind !== 0 && !isIndexed) {
        if (code !== 5) return UNKNOWN;
        isIndexed = true;
      } else {
        style = isIndexed ? applyIndexed(style, kind, code) : applyCode(style, code);
        if (style === UNKNOWN) return UNKNOWN;
        kind = 0;
        isIndexed = false;
      }
      code = 0;
    }
  }
  return end < 0 ? UNKNOWN : style;
}

/** Up to so many equal cells are sent again rather than skipped: moving the cursor costs as much. */
const SHORT_GAP = 5;

/** Makes what turns `previous` into `next` on a row, counted from 1, while no style is set. */
export function styledUpdate(previous: StyledLine, next: StyledLine, row: number): string {
  const width = Math.max(next.length, previous.length);
  const isEqual = (i: number): boolean =>
    next.character(i) === previous.character(i) && next.style(i) === previous.style(i);
  const isSecond = (i: number): boolean =>
    next.character(i) === NONE || previous.character(i) === NONE;
  let end = next.length;
  while (end > 0 && next.character(end - 1) === SPACE && next.style(end - 1) === 0) end--;
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
    while (first > 0 && isSecond(first)) first--;
    let last = i;
    for (let at = i + 1; at < end && at - last <= SHORT_GAP; at++) if (!isEqual(at)) last = at;
    while (isSecond(last + 1)) last++;
    update += moveTo(first + 1);
    let style = 0;
    for (let at = first; at <= last; at++) {
      const wanted = next.style(at);
      if (wanted !== style) update += sequence(style, wanted);
      style = wanted;
      const character = next.character(at);
      if (character !== NONE) update += String.fromCodePoint(character);
    }
    if (style !== 0) update += sequence(style, 0);
    i = last;
  }
  return update;
}
