/**
 * A short cut through Ink's drawing, which is what a refresh costs most. Ink takes every line apart
 * into cells, styles and graphemes to let texts overlap and be clipped, and puts it together again:
 * 12,000 cells at 200x60, which more than doubles what a refresh costs (test/bench/screen.ts). The lists are whole lines of
 * known width, one below the other; where nothing else is in a frame, lines go through as they are.
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

/** The lines of a frame that holds nothing but whole lines; undefined for any other. */
function wholeLines({ operations, height }: OutputInside): string[] | undefined {
  if (!Array.isArray(operations)) return undefined;
  const lines: string[] = new Array(height).fill("");
  const taken: boolean[] = new Array(height).fill(false);
  for (const { type, x, y, text, transformers } of operations as readonly Operation[]) {
    if (type !== "write" || x !== 0 || taken[y] !== false || text.includes("\n")) return undefined;
    taken[y] = true;
    lines[y] = transformers.reduce((line, transform) => transform(line, 0), text).trimEnd();
  }
  return lines;
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
