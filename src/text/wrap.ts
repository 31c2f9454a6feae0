/** Breaks texts into lines. */
import { characterWidth, displayWidth } from "./format.ts";

/** Breaks a text into lines of at most `width` cells, at spaces. */
export function wrapWords(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    const longer = line === "" ? word : `${line} ${word}`;
    if (line !== "" && displayWidth(longer) > width) {
      lines.push(line);
      line = word;
    } else {
      line = longer;
    }
  }
  return [...lines, line];
}

/** Breaks a text into lines of at most `width` cells, between any two characters: a name has no better places. */
export function wrapCells(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = "";
  let cells = 0;
  for (const character of text) {
    const more = characterWidth(character);
    if (cells > 0 && cells + more > width) {
      lines.push(line);
      line = "";
      cells = 0;
    }
    line += character;
    cells += more;
  }
  return [...lines, line];
}
