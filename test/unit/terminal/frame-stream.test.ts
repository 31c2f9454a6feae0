/** What is sent to a terminal so that it shows the next frame. */
import { EventEmitter } from "node:events";
import xterm from "@xterm/headless";
import fc from "fast-check";
import { expect, test, vi } from "vitest";
import { makeFrameStream } from "../../../src/terminal/frame-stream.ts";
import { StyledLine, styledUpdate } from "../../../src/terminal/styled-cells.ts";
import { throttled } from "../../../src/terminal/throttled.ts";

const COLUMNS = 90;

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

/** Lines that are not taken apart into cells: they are sent whole. */
const odd = fc.constantFrom("e\u0301e", "\u001b[38;2;1;2;9mx\u001b[0m");

/** The rows of a terminal with the attributes of their cells. */
async function shown(text: string, rows = 2): Promise<string> {
  const terminal = new xterm.Terminal({ cols: COLUMNS, rows, allowProposedApi: true });
  await new Promise<void>((resolve) => terminal.write(text, resolve));
  const lines = Array.from({ length: rows }, (_, y) => {
    const row = terminal.buffer.active.getLine(y);
    return Array.from({ length: COLUMNS }, (__, x) => {
      const cell = row?.getCell(x);
      if (!cell) return "";
      const style = [cell.isBold(), cell.isDim(), cell.isInverse(), cell.isUnderline()];
      return `${cell.getChars() || " "}${style.map(Boolean)}${cell.getFgColor()}${cell.getBgColor()}`;
    }).join("|");
  });
  return lines.join("\n");
}

/** The cells of a line; undefined where it cannot be read. */
function cellsOf(text: string, columns = COLUMNS): StyledLine | undefined {
  const cells = new StyledLine(columns);
  return cells.read(text) ? cells : undefined;
}

test("what is sent turns one line into the other", { timeout: 120_000 }, async () => {
  await fc.assert(
    fc.asyncProperty(line, line, async (before, after) => {
      const [from, to] = [cellsOf(before), cellsOf(after)];
      if (!from || !to) throw new Error("not parsed");
      expect(await shown(before + styledUpdate(from, to, 1))).toBe(await shown(after));
    }),
    { numRuns: 300 },
  );
});

test("equal lines send nothing, and what moves the cursor is left to others", () => {
  const colored = "\u001b[36mabc\u001b[39m";
  const parsed = cellsOf(colored) ?? new StyledLine(0);
  expect(parsed).toHaveLength(3);
  expect(styledUpdate(parsed, parsed, 1)).toBe("");
  const others = [
    "\u001b[2Jx",
    "\u001b]8;;m\u0007",
    "a\tb",
    "\u001b[38;2;1;2;9mx",
    "e\u0301",
    "\u001b[3",
  ];
  for (const text of others) expect(cellsOf(text)).toBeUndefined();
  expect(cellsOf(colored, 2)).toBeUndefined();
  expect(cellsOf("価", 1)).toBeUndefined();
});

/** A terminal that keeps what is sent to it, and the stream that Ink would write to. */
function makeTerminal(rows: number) {
  const sent: string[] = [];
  const terminal = Object.assign(new EventEmitter(), {
    columns: COLUMNS,
    rows,
    isTTY: true,
    write: (text: string) => sent.push(text) > 0,
  }) as unknown as NodeJS.WriteStream;
  const frames = makeFrameStream(terminal);
  return {
    terminal,
    sent,
    frames,
    /** Hands over a frame as Ink does, each line as the token that was laid out for it. */
    draw: (lines: readonly string[]): void => {
      const { columns } = terminal;
      frames.stream.write(lines.map((text) => frames.tokenFor(text, columns)).join("\n"));
    },
  };
}

test("after any frames the terminal shows the last one", { timeout: 120_000 }, async () => {
  const frame = fc.array(fc.oneof({ weight: 9, arbitrary: line }, odd), {
    minLength: 4,
    maxLength: 4,
  });
  await fc.assert(
    fc.asyncProperty(fc.array(frame, { minLength: 1, maxLength: 4 }), async (frames) => {
      const { draw, sent } = makeTerminal(4);
      for (const one of frames) draw(one);
      expect(await shown(sent.join(""), 4)).toBe(
        await shown((frames.at(-1) ?? []).join("\r\n"), 4),
      );
    }),
    { numRuns: 100 },
  );
});

test("a line is one cell to Ink, and what Ink laid out itself is drawn as it is", async () => {
  const { frames, sent } = makeTerminal(2);
  const token = frames.tokenFor("\u001b[1mfirst\u001b[22m", COLUMNS);
  expect(token).toHaveLength(1);
  frames.stream.write(`${token}\nof Ink`);
  expect(await shown(sent.join(""))).toBe(await shown("\u001b[1mfirst\u001b[22m\r\nof Ink"));
});

test("a terminal that does not know its size is taken for one of 80 by 24", () => {
  const { terminal, frames, sent } = makeTerminal(0);
  terminal.columns = 0;
  const lines = Array.from({ length: 24 }, (_, i) => frames.tokenFor(`line ${i}`, 80));
  frames.stream.write(lines.join("\n"));
  expect(sent.join("")).toContain("line 23");
});

test("an equal frame sends nothing, one cell sends some bytes, never the line", () => {
  const { draw, sent } = makeTerminal(2);
  const names = "main::walk ".repeat(7);
  draw([`${names}1`, names]);
  draw([`${names}1`, names]);
  expect(sent).toHaveLength(1);
  draw([`${names}2`, names]);
  expect(sent).toHaveLength(2);
  expect(sent[1]?.length).toBeLessThan(30);
});

test("a frame for another size waits for its successor; another size and screen are drawn whole", () => {
  const { terminal, frames, draw, sent } = makeTerminal(2);
  draw(["a", "b"]);
  terminal.rows = 1;
  draw(["a", "b"]);
  const token = frames.tokenFor("a", 40);
  frames.stream.write(token);
  expect(sent).toHaveLength(1);
  terminal.columns = 40;
  draw(["a"]);
  expect(sent[1]).toContain("a");
  frames.stream.write("\u001b[?1049h");
  draw(["a"]);
  expect(sent.slice(2)).toEqual(["\u001b[?1049h", sent[1]]);
});

test("what comes in one event is drawn once, at its end; what comes soon after it, once later", async () => {
  vi.useFakeTimers();
  try {
    let drawn = 0;
    const changed = throttled(() => drawn++, 8);
    for (let i = 0; i < 3; i++) changed();
    expect(drawn).toBe(0);
    await vi.advanceTimersByTimeAsync(0);
    expect(drawn).toBe(1);
    for (let i = 0; i < 3; i++) changed();
    await vi.advanceTimersByTimeAsync(7);
    expect(drawn).toBe(1);
    await vi.advanceTimersByTimeAsync(1);
    expect(drawn).toBe(2);
  } finally {
    vi.useRealTimers();
  }
});
