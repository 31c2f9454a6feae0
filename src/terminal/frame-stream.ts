/**
 * The terminal as Ink sees it. Ink takes each line apart into cells, styles and graphemes, puts it
 * together again, and sends a line from its first difference to its end: with lists of whole lines
 * that is most of what a refresh costs, and more bytes than a slow line should get. So a line goes
 * through Ink as one cell, a token. Ink lays out and hands over whole frames (its option `debug`);
 * here the lines stand in for their tokens again, and only the cells that differ are sent.
 */
import { sizeOf } from "./size.ts";
import { StyledLine, styledUpdate } from "./styled-cells.ts";

/** The token, of the private use area. Lines themselves never go through Ink, so none can be taken for it. */
const TOKEN = "\ue000";

/** Leaves the other screen. A terminal that has none keeps the picture, and what follows would be written into it. */
const LEAVE_SCREEN = "\u001b[?1049l";
const ERASE_SCREEN = "\u001b[H\u001b[J";

/** What Ink sends that is no frame changes a mode of the terminal: the other screen, the cursor. */
const MODE = "\u001b[?";

const BEGIN_UPDATE = "\u001b[?2026h";
const END_UPDATE = "\u001b[?2026l";
const HIDE_CURSOR = "\u001b[?25l";

/** A row of the screen as cells, where it was looked at as such. */
class Row {
  #shown: StyledLine;
  #next: StyledLine;
  /** Whether the cells are those of the line that is shown. */
  #isKnown = false;

  constructor(columns: number) {
    this.#shown = new StyledLine(columns);
    this.#next = new StyledLine(columns);
  }

  /** Makes what turns the line that is shown into another; undefined where both are not told apart by their cells. */
  turn(before: string, line: string, row: number): string | undefined {
    const isKnown = this.#isKnown || this.#shown.read(before);
    this.#isKnown = this.#next.read(line);
    [this.#shown, this.#next] = [this.#next, this.#shown];
    return isKnown && this.#isKnown ? styledUpdate(this.#next, this.#shown, row) : undefined;
  }
}

/** What is on the screen. */
interface Shown {
  readonly columns: number;
  readonly lines: readonly string[];
  /** As many as there are lines. */
  readonly rows: readonly Row[];
}

/** What to send to turn one picture into another of the same size. */
function difference(shown: Shown, next: readonly string[]): string {
  let update = "";
  for (const [i, line] of next.entries()) {
    const before = shown.lines[i] ?? "";
    if (line === before) continue;
    update += shown.rows[i]?.turn(before, line, i + 1) ?? wholeLine(line, i + 1);
  }
  return update;
}

/** Erases before it writes: behind the last cell of a row there is no place to erase from. */
const wholeLine = (line: string, row: number): string => `\u001b[${row};1H\u001b[K${line}`;

/** A stream to give to Ink. */
export interface FrameStream {
  readonly stream: NodeJS.WriteStream;
  /** Keeps a line that was made for so many columns; returns the token that Ink is to lay out for it. */
  tokenFor(line: string, columns: number): string;
}

/** Stands between Ink and a terminal. */
export function makeFrameStream(terminal: NodeJS.WriteStream): FrameStream {
  let shown: Shown | undefined;
  /** Lines of the frame that Ink is putting together, in their order, and their width. */
  let kept: string[] = [];
  let width = 0;

  const draw = (frame: string): boolean => {
    let next = 0;
    const lines = frame.split("\n").map((one) => (one === TOKEN ? (kept[next++] ?? "") : one));
    kept = [];
    const { columns, rows } = sizeOf(terminal);
    // A frame that was made for another size is not drawn: the next one is on its way.
    if (lines.length !== rows || width !== columns) return true;
    const isSame = shown?.columns === columns && shown.lines.length === rows;
    const update =
      shown && isSame
        ? difference(shown, lines)
        : HIDE_CURSOR + lines.map((line, i) => wholeLine(line, i + 1)).join("");
    shown = {
      columns,
      lines,
      rows: isSame && shown ? shown.rows : lines.map(() => new Row(columns)),
    };
    return update === "" || terminal.write(BEGIN_UPDATE + update + END_UPDATE);
  };

  const write = (...args: Parameters<NodeJS.WriteStream["write"]>): boolean => {
    const [text] = args;
    if (typeof text === "string" && text !== "" && !text.startsWith(MODE)) return draw(text);
    if (text !== "") shown = undefined;
    if (typeof text === "string" && text.includes(LEAVE_SCREEN)) terminal.write(ERASE_SCREEN);
    return terminal.write(...args);
  };

  const stream = new Proxy(terminal, {
    get: (target, name) => {
      if (name === "write") return write;
      // Ink makes a grid of all cells, each an object, on every frame. Tokens need one column.
      if (name === "columns") return 1;
      const value = Reflect.get(target, name);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
  return {
    stream,
    tokenFor: (line, columns) => {
      kept.push(line);
      width = columns;
      return TOKEN;
    },
  };
}
