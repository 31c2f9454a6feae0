/** History lines: shares of some seconds each as heights of blocks. */
import type { Glyphs } from "./format.ts";

/** The height of a share in percent: 0 for nothing, then one more for each doubling from 0.4 % on. */
export function level(share: number, levels: number): number {
  if (share <= 0) return 0;
  return Math.max(1, Math.min(levels, Math.floor(Math.log2(share / 0.4)) + 2));
}

/** A line of shares in percent, a cell for each; undefined where one is not known. */
export function drawTrail(shares: readonly (number | undefined)[], glyphs: Glyphs): string {
  const { levels } = glyphs;
  let line = "";
  for (const share of shares) {
    const at = share === undefined ? 0 : level(share, levels.length);
    line += at === 0 ? " " : levels[at - 1];
  }
  return line;
}
