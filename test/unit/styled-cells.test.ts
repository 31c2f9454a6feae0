import xterm from "@xterm/headless";
import fc from "fast-check";
import { expect, test } from "vitest";
import { parseStyled, styledUpdate } from "../../src/screen/styled-cells.ts";

const piece = fc.record({
  text: fc.constantFrom("a", "bc", " ", "      ", "▁▃█", "価格", "…", "12.3", "x".repeat(9)),
  codes: fc.constantFrom("", "1", "2", "7", "36", "31", "1;4", "30;46"),
});
const line = fc
  .array(piece, { maxLength: 8 })
  .map((pieces) =>
    pieces
      .map(({ text, codes }) => (codes === "" ? text : `\u001b[${codes}m${text}\u001b[0m`))
      .join(""),
  );

/** The first line of a terminal with the attributes of its cells. */
async function shown(text: string): Promise<string> {
  const terminal = new xterm.Terminal({ cols: 90, rows: 2, allowProposedApi: true });
  await new Promise<void>((resolve) => terminal.write(text, resolve));
  const row = terminal.buffer.active.getLine(0);
  const cells = Array.from({ length: 90 }, (_, i) => {
    const cell = row?.getCell(i);
    if (!cell) return "";
    const style = [cell.isBold(), cell.isDim(), cell.isInverse(), cell.isUnderline()].map(Boolean);
    return `${cell.getChars() || " "}${style}${cell.getFgColor()}${cell.getBgColor()}`;
  });
  return cells.join("|");
}

test("what is sent turns one line into the other", { timeout: 120_000 }, async () => {
  await fc.assert(
    fc.asyncProperty(line, line, async (before, after) => {
      const [from, to] = [parseStyled(before), parseStyled(after)];
      if (!from || !to) throw new Error("not parsed");
      expect(await shown(before + styledUpdate(from, to))).toBe(await shown(after));
    }),
    { numRuns: 300 },
  );
});

test("equal lines send nothing, and what moves the cursor is left to others", () => {
  const parsed = parseStyled("\u001b[36mabc\u001b[39m") ?? { cells: [], styles: [] };
  expect(styledUpdate(parsed, parsed)).toBe("");
  for (const text of ["\u001b[2Jx", "\u001b]8;;x\u0007", "a\tb", "\u001b[38;5;9mx", "e\u0301"]) {
    expect(parseStyled(text)).toBeUndefined();
  }
});
