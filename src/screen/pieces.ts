/** Makes lines of several texts, which give way to each other where there is too little room. */
import { type Cut, displayWidth, truncate } from "../text/format.ts";
import type { Paint, Theme } from "./theme.ts";

/** A part of a line that is left out as a whole when there is no room. */
export interface Piece {
  readonly text: string;
  /** The piece with the highest number goes first; one without a number stays. */
  readonly giveWay?: number;
  readonly paint?: Paint;
  /** It may be cut down to so many cells before it is left out; then it is the last of its line. */
  readonly least?: number;
  /** It is cut there. */
  readonly cut?: Cut;
}

/** Puts as many pieces as fit into `width`, `gap` cells between them. The last of what stays is cut. */
export function fitPieces(
  pieces: readonly Piece[],
  width: number,
  gap: number,
  theme: Theme,
): string {
  let chosen = pieces.filter((piece) => piece.text !== "");
  const least = (piece: Piece): number =>
    Math.min(displayWidth(piece.text), piece.least ?? Number.POSITIVE_INFINITY);
  const total = (): number =>
    chosen.reduce((sum, piece) => sum + least(piece), 0) + gap * (chosen.length - 1);
  while (chosen.length > 1 && total() > width) {
    const first = chosen.reduce((most, piece) =>
      (piece.giveWay ?? 0) > (most.giveWay ?? 0) ? piece : most,
    );
    if (first.giveWay === undefined) break;
    chosen = chosen.filter((piece) => piece !== first);
  }
  let room = width;
  const parts: string[] = [];
  for (const piece of chosen) {
    if (room <= 0) break;
    const text = truncate(piece.text, room, piece.cut ?? "end", theme.glyphs);
    parts.push(piece.paint ? piece.paint(text) : text);
    room -= displayWidth(text) + gap;
  }
  return parts.join(" ".repeat(gap));
}
