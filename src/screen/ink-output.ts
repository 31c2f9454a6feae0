/**
 * A short cut through Ink's drawing, which is what a refresh costs most. Ink takes every line apart
 * into cells, styles and graphemes to let texts overlap and be clipped, and puts it together again:
 * 12,000 cells at 200x60, which more than doubles what a refresh costs (test/tools/bench/views.ts). The
 * lists are whole lines of known width, one below the other, and the one table has texts of known
 * width beside each other; where nothing else is in a frame, lines go through as they are.
 * Any other frame, and any Ink that looks different inside, is drawn by Ink as ever.
 */
import Output from "../../node_modules/ink/build/output.js";

/** One text to draw, as Ink keeps it until the frame is asked for. */
interface Operation {
  readonly type: string;
  readonly x: number;
  readonly y: number;
  readonly text: string;
  readonly transformers: readonly ((line: string, index: number) => string)[];
}

/** What is read of Ink's frame. */
interface OutputInside {
  readonly operations?: readonly Operation[];
  readonly height: number;
}

interface Drawn {
  output: string;
  height: number;
}

/** Colours and the like begin with ESC, the only control character that a clean line holds. */
const SGR = /\p{Cc}\[[\d;]*m/gu;
const ASCII = /^[\x20-\x7e]*$/;

/** Puts a text behind what is on a line already, as the cells of a small table are; or cannot. */
function behind(line: string, x: number, text: string): string | undefined {
  const before = line.replace(SGR, "");
  if (!ASCII.test(before) || before.length > x) return undefined;
  return line + " ".repeat(x - before.length) + text;
}

/** The lines of a frame that holds nothing but lines and texts beside each other; else undefined. */
function wholeLines({ operations, height }: OutputInside): string[] | undefined {
  if (!Array.isArray(operations)) return undefined;
  const lines: (string | undefined)[] = new Array(height).fill(undefined);
  for (const { type, x, y, text, transformers } of operations as readonly Operation[]) {
    if (type !== "write" || y < 0 || y >= height || text.includes("\n")) return undefined;
    const drawn = transformers.reduce((line, transform) => transform(line, 0), text);
    const line = lines[y] === undefined && x === 0 ? drawn : behind(lines[y] ?? "", x, drawn);
    if (line === undefined) return undefined;
    lines[y] = line;
  }
  return lines.map((line) => line?.trimEnd() ?? "");
}

let installed = false;

/** Takes the short cut from now on. */
export function installFastOutput(): void {
  const prototype = Output.prototype as unknown as { get: () => Drawn };
  if (installed || typeof prototype.get !== "function") return;
  installed = true;
  const slow = prototype.get;
  prototype.get = function get(this: OutputInside): Drawn {
    const lines = wholeLines(this);
    return lines ? { output: lines.join("\n"), height: lines.length } : slow.call(this);
  };
}
