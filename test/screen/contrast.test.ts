/** Every pair of colours that a view uses can be read, on the palettes that terminals have. */
import { expect, test } from "vitest";
import { contrast, fixedColour, LEAST_CONTRAST } from "../../src/screen/palette.ts";
import type { Rgb } from "../../src/terminal/input-stream.ts";
import { openTerminals } from "./start.ts";
import type { TestTerminal } from "./terminal.ts";

const { start } = openTerminals({ ticks: 12 });

const rgb = (hex: string): Rgb => {
  const part = (at: number): number => Number.parseInt(hex.slice(at, at + 2), 16) / 255;
  return [part(0), part(2), part(4)];
};
const palette = (hexes: string): readonly Rgb[] => hexes.split(" ").map(rgb);

/** The eight colours as xterm (XTerm-col.ad), the Linux console (vt.c) and Solarized have them. */
const PALETTES = {
  xterm: palette("000000 cd0000 00cd00 cdcd00 0000ee cd00cd 00cdcd e5e5e5"),
  vga: palette("000000 aa0000 00aa00 aa5500 0000aa aa00aa 00aaaa aaaaaa"),
  solarized: palette("073642 dc322f 859900 b58900 268bd2 d33682 2aa198 eee8d5"),
};

/** What is behind the text of a dark and a light terminal with each. */
const BACKGROUNDS = {
  dark: { xterm: rgb("000000"), vga: rgb("000000"), solarized: rgb("002b36") },
  light: { xterm: rgb("ffffff"), vga: rgb("ffffff"), solarized: rgb("fdf6e3") },
};

/** The colours of text and of what is behind it, as numbers; undefined: the terminal's own. */
type Pair = readonly [text: number | undefined, behind: number | undefined];

async function pairsOf(terminal: TestTerminal): Promise<Map<string, Pair>> {
  const pairs = new Map<string, Pair>();
  for (const cell of (await terminal.cells()).flat()) {
    expect(cell.dim, "faint text has a contrast that nobody knows").toBe(false);
    // The terminal's own colours are its user's.
    if (cell.foreground === undefined && cell.background === undefined) continue;
    if (cell.text === " " && cell.background === undefined) continue;
    expect(cell.inverse).toBe(false);
    const pair: Pair = [cell.foreground, cell.background];
    pairs.set(String(pair), pair);
  }
  return pairs;
}

test.each([
  ["many", "dark"],
  ["many", "light"],
  ["few", "dark"],
  ["few", "light"],
] as const)("%s colours, %s", async (depth, background) => {
  const terminal = start(120, 40, { depth, background });
  await terminal.shows("SELF%");
  const pairs = new Map<string, Pair>();
  const views = [
    ["", "SELF%"],
    ["2", "COMMAND"],
    ["3", "outermost first"],
    ["4", "▏all"],
    ["/e\r", "filter e"],
    ["5", "STACKS/S"],
    ["1\r", "CALLERS"],
    ["?", "this help"],
  ] as const;
  for (const [keys, text] of views) {
    for (const key of keys) terminal.type(key);
    await terminal.shows(text);
    for (const [name, pair] of await pairsOf(terminal)) pairs.set(name, pair);
  }
  const least = { "many dark": 11, "many light": 11, "few dark": 2, "few light": 0 };
  expect(pairs.size).toBeGreaterThanOrEqual(least[`${depth} ${background}`]);
  for (const [name, colours] of Object.entries(PALETTES)) {
    const own = BACKGROUNDS[background][name as keyof typeof PALETTES];
    const colour = (number: number): Rgb => colours[number] ?? fixedColour(number);
    for (const [text, behind] of pairs.values()) {
      const ratio = contrast(
        text === undefined ? own : colour(text),
        behind === undefined ? own : colour(behind),
      );
      const pair = `${text} on ${behind} with the palette of ${name}`;
      expect(ratio, pair).toBeGreaterThanOrEqual(LEAST_CONTRAST);
    }
  }
});

test("the terminal is asked what is behind its text, and what it answers chooses the colours", async () => {
  const terminal = start(100, 30, { background: "asked" });
  await terminal.shows("SELF%");
  expect(terminal.output).toContain("\u001b]11;?\u0007");
  const colours = async (): Promise<Set<number | undefined>> =>
    new Set((await terminal.cells()).flat().map(({ foreground }) => foreground));
  expect(await colours()).toContain(210);
  terminal.type("\u001b]11;rgb:fdfd/f6f6/e3e3\u0007");
  await expect.poll(colours, { timeout: 8000 }).toContain(124);
  expect(await colours()).not.toContain(210);
  terminal.type("q");
  expect((await terminal.exited).exitCode).toBe(0);
});
