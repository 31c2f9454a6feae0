import fc from "fast-check";
import { expect, test } from "vitest";
import { FUNCTION_COLUMNS } from "../../../src/text/columns.ts";
import {
  ASCII_GLYPHS,
  bar,
  bytes,
  cell,
  clean,
  clock,
  displayWidth,
  duration,
  percent,
  rate,
  seconds,
  sharePercent,
  thousands,
  truncate,
  UNICODE_GLYPHS,
} from "../../../src/text/format.ts";
import { placeColumns } from "../../../src/text/place-columns.ts";
import { PROCESS_COLUMNS } from "../../../src/text/process-columns.ts";

test("numbers take few characters", () => {
  expect([percent(312, 1000), percent(1, 1), percent(0, 0), percent(9996, 10_000)]).toEqual([
    "31.2",
    "100",
    "0.0",
    "100",
  ]);
  // What is missing is never rounded away.
  expect([sharePercent(9999, 10_000), sharePercent(5, 5), sharePercent(0, 0)]).toEqual([
    "99.9",
    "100",
    "100",
  ]);
  expect([thousands(412_007), thousands(7), thousands(-1234)]).toEqual(["412,007", "7", "-1,234"]);
  expect([0, 0.01, 0.2, 8.06, 172, 9999, 123_456, 4_100_000].map(rate)).toEqual([
    "0",
    "<0.1",
    "0.2",
    "8.1",
    "172",
    "9,999",
    "123k",
    "4.1M",
  ]);
  expect([512, 9_600, 96e6, 1.2e9].map(bytes)).toEqual(["512 B", "9.6 kB", "96 MB", "1.2 GB"]);
  expect([12, 723, 3605].map(clock)).toEqual(["0:12", "12:03", "1:00:05"]);
  expect([12, 185, 3720].map(duration)).toEqual(["12 s", "3 min 5 s", "1 h 2 min"]);
  expect([1, 0.5].map(seconds)).toEqual(["1 s", "0.5 s"]);
});

test("long texts lose their middle, end or start", () => {
  expect(truncate("Namespace.Type.Method", 11, "middle", UNICODE_GLYPHS)).toBe("Name…Method");
  expect(truncate("Namespace.Type.Method", 11, "middle", ASCII_GLYPHS)).toBe("Name~Method");
  expect(truncate("abcdef", 4, "end", UNICODE_GLYPHS)).toBe("abc…");
  expect(truncate("abcdef", 4, "start", UNICODE_GLYPHS)).toBe("…def");
  expect(cell("価格::計算", 7, UNICODE_GLYPHS)).toBe("価格::…");
});

test("widths are those of a terminal", () => {
  expect(displayWidth("abc")).toBe(3);
  expect(displayWidth("価格")).toBe(4);
  expect(displayWidth("e\u0301")).toBe(1);
  expect(displayWidth("🚀")).toBe(2);
});

test("nothing that moves the cursor or turns the direction gets out", () => {
  expect(clean("a\u001b[31mb\u202ec\nd\u200be", true)).toBe("a\ufffd[31mb\ufffdc\ufffdde");
  expect(clean("é価", false)).toBe("??");
});

test("a cell is exactly as wide as asked for, whatever is in it", () => {
  const text = fc.string({ unit: "grapheme", maxLength: 60 });
  const cut = fc.constantFrom("end" as const, "middle" as const, "start" as const);
  fc.assert(
    fc.property(
      text,
      fc.integer({ min: 1, max: 50 }),
      cut,
      fc.constantFrom("left" as const, "right" as const),
      fc.boolean(),
      (value, width, where, align, unicode) => {
        const glyphs = unicode ? UNICODE_GLYPHS : ASCII_GLYPHS;
        const made = cell(value, width, glyphs, align, where);
        expect(displayWidth(made)).toBe(width);
        if (!unicode) expect(made).toMatch(/^[\x20-\x7e]*$/);
      },
    ),
    { numRuns: 500 },
  );
});

test("bars are filled in eighths, or with # where there are none", () => {
  expect(bar(0.5, 4, UNICODE_GLYPHS)).toBe("██");
  expect(bar(0.3, 4, UNICODE_GLYPHS)).toBe("█▎");
  expect(bar(0.5, 4, ASCII_GLYPHS)).toBe("##");
  expect(bar(7, 4, ASCII_GLYPHS)).toBe("####");
});

test("columns fit into any window and give way in their order", () => {
  const ids = (width: number): string =>
    placeColumns(FUNCTION_COLUMNS, width)
      .map(({ column }) => column.id)
      .join(" ");
  expect(ids(39)).toBe("self lang name");
  expect(ids(60)).toBe("self total lang name module");
  expect(ids(79)).toBe("self total lang name module processes");
  expect(ids(199)).toBe("self total lang name module processes since history");
  for (let width = 8; width <= 300; width++) {
    for (const columns of [
      placeColumns(FUNCTION_COLUMNS, width),
      placeColumns(PROCESS_COLUMNS, width),
    ]) {
      const sum = columns.reduce((total, one) => total + one.width, columns.length - 1);
      expect(sum).toBeLessThanOrEqual(width);
      if (width >= 60)
        expect(columns.find((one) => one.column.width.grow)?.width).toBeGreaterThanOrEqual(12);
    }
  }
});
