/**
 * A short cut through what Ink sends to the terminal. Ink sends a line from its first difference to
 * its end, and takes it apart into graphemes to find that place when it is not ASCII: with history
 * lines that would be most of a refresh, and more bytes than a slow line should get. Here a line is
 * compared cell by cell and only runs that differ are sent. It stands in front of Ink's own writer
 * (`log-update.js`, which Ink makes once for its output), tells it what is on the screen by its own
 * `sync`, and leaves to it whatever is not plain: the first frame, other sizes, a shown cursor,
 * sequences it does not know. Where Ink's writer looks different inside, nothing is put in front.
 */
import logUpdate from "../../node_modules/ink/build/log-update.js";
import { parseStyled, type StyledLine, styledUpdate } from "./styled-cells.ts";

/** What is used of Ink's writer. */
interface Writer {
  (text: string): boolean;
  clear(): void;
  done(): void;
  reset(): void;
  sync(text: string): void;
  setCursorPosition(position: unknown): void;
  isCursorDirty(): boolean;
  willRender(text: string): boolean;
  getCursorPosition(): unknown;
}

/** The stream that it writes to. */
interface Stream {
  readonly columns?: number;
  write(text: string): unknown;
}

type Create = (stream: Stream, options?: { incremental?: boolean }) => Writer;

const METHODS = [
  "clear",
  "done",
  "reset",
  "sync",
  "setCursorPosition",
  "isCursorDirty",
  "willRender",
  "getCursorPosition",
] as const;

const isKnown = (writer: Writer): boolean =>
  typeof writer === "function" && METHODS.every((name) => typeof writer[name] === "function");

/** What is on the screen, the cursor on its last line. */
interface Screen {
  readonly lines: readonly string[];
  readonly parsed: (StyledLine | undefined)[];
  readonly columns: number | undefined;
}

/** Moves, changed runs, and back to the last line; undefined where a line has to be left to Ink. */
function frameUpdate(screen: Screen, next: readonly string[]): string | undefined {
  let update = "";
  let row = next.length - 1;
  for (const [i, line] of next.entries()) {
    const before = screen.lines[i] ?? "";
    if (line === before) continue;
    const from = screen.parsed[i] ?? parseStyled(before);
    const to = parseStyled(line);
    if (!from || !to || to.cells.length > (screen.columns ?? 0)) return undefined;
    screen.parsed[i] = to;
    if (i < row) update += `\u001b[${row - i}A`;
    else if (i > row) update += `\u001b[${i - row}B`;
    row = i;
    update += styledUpdate(from, to);
  }
  const down = next.length - 1 - row;
  return down > 0 ? `${update}\u001b[${down}B` : update;
}

function inFront(stream: Stream, inner: Writer): Writer {
  let screen: Screen | undefined;
  /** Where the cursor shall be shown, if anywhere. */
  let cursor: unknown;
  const forget = (): void => {
    screen = undefined;
  };
  const render = (text: string): boolean => {
    const lines = text.split("\n");
    const { columns } = stream;
    const isPlain =
      screen?.lines.length === lines.length &&
      screen.columns === columns &&
      cursor === undefined &&
      !inner.getCursorPosition() &&
      !text.endsWith("\n");
    const update = screen && isPlain ? frameUpdate(screen, lines) : undefined;
    if (update === undefined) {
      const isWritten = inner(text);
      // With a line feed at the end the cursor would be below the frame.
      const isUsable = !text.endsWith("\n") && !inner.getCursorPosition();
      screen = isUsable ? { lines, parsed: [], columns } : undefined;
      return isWritten;
    }
    if (!inner.willRender(text)) return false;
    stream.write(update);
    inner.sync(text);
    screen = { lines, parsed: screen?.parsed ?? [], columns };
    return true;
  };
  return Object.assign(render, {
    clear: () => {
      forget();
      inner.clear();
    },
    done: () => {
      forget();
      inner.done();
    },
    reset: () => {
      forget();
      inner.reset();
    },
    // Ink wrote by itself: it knows where the cursor is now.
    sync: (text: string) => {
      forget();
      inner.sync(text);
    },
    setCursorPosition: (position: unknown) => {
      cursor = position;
      inner.setCursorPosition(position);
    },
    isCursorDirty: () => inner.isCursorDirty(),
    willRender: (text: string) => inner.willRender(text),
    getCursorPosition: () => inner.getCursorPosition(),
  });
}

let installed = false;

/** Takes the short cut from now on; before Ink renders for the first time. */
export function installFastLines(): void {
  const made = logUpdate as unknown as { create: Create };
  if (installed || typeof made.create !== "function") return;
  installed = true;
  const create = made.create;
  made.create = (stream, options) => {
    const inner = create(stream, options);
    return options?.incremental === true && isKnown(inner) ? inFront(stream, inner) : inner;
  };
}
