import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { cleanName, MAX_NAME_LENGTH } from "../../../src/tick/clean-name.ts";

const FORBIDDEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u;

/** Any text, with what is dangerous more often than chance would have it. */
const text = fc
  .array(
    fc.oneof(
      fc.string({ unit: "binary", maxLength: 40 }),
      fc.constantFrom(
        "\u001b[2J",
        "\u0007",
        "\r\n",
        "\u0085",
        "\u202e",
        "\u2028",
        "\ud800",
        "\u{e0041}",
      ),
      fc.constantFrom("main", "🦀", "a\u0301", "\\x1b", "…".repeat(300)),
    ),
  )
  .map((parts) => parts.join(""));

describe("cleanName", () => {
  test.each([
    ["main", "main"],
    ["", ""],
    ["std::vector<int>::push_back", "std::vector<int>::push_back"],
    ["größe", "größe"],
    ["a\u001b[31mb", "a\\x1b[31mb"],
    ["a\u0000b\tc\nd", "a\\x00b\\x09c\\x0ad"],
    ["\u007f\u009b", "\\x7f\\x9b"],
    ["a\u202eb\u2066c", "a\\u{202e}b\\u{2066}c"],
    ["line\u2028para\u2029", "line\\u{2028}para\\u{2029}"],
    ["soft\u00adhyphen\ufeff", "soft\\xadhyphen\\u{feff}"],
    ["half\ud83d!", "half\ufffd!"],
    ["whole🦀!", "whole🦀!"],
  ])("%j is shown as %j", (given, shown) => {
    expect(cleanName(given)).toBe(shown);
  });

  test("bytes are UTF-8, and what is not is replaced", () => {
    expect(cleanName(Buffer.from("größe"))).toBe("größe");
    expect(cleanName(Uint8Array.of(0x61, 0xff, 0x62, 0xc3))).toBe("a\ufffdb\ufffd");
    expect(cleanName(Uint8Array.of(0xef, 0xbb, 0xbf, 0x61))).toBe("\\u{feff}a");
  });

  test("512 characters stay, one more is cut", () => {
    expect(cleanName("x".repeat(512))).toBe("x".repeat(512));
    expect(cleanName("x".repeat(513))).toBe(`${"x".repeat(511)}…`);
    expect(cleanName(Buffer.alloc(100_000, "x"))).toBe(`${"x".repeat(511)}…`);
  });

  test("neither an escape nor a character is cut in half", () => {
    expect(cleanName(`${"x".repeat(510)}\u001b\u001b`)).toBe(`${"x".repeat(510)}…`);
    expect(cleanName(`${"x".repeat(510)}🦀🦀`)).toBe(`${"x".repeat(510)}…`);
    expect(cleanName(`${"x".repeat(508)}\u001b`)).toBe(`${"x".repeat(508)}\\x1b`);
  });

  test("whatever the text: short, harmless, well-formed, and clean already", () => {
    fc.assert(
      fc.property(text, (given) => {
        const shown = cleanName(given);
        expect(shown.length).toBeLessThanOrEqual(MAX_NAME_LENGTH);
        expect(shown).not.toMatch(FORBIDDEN);
        expect(shown.isWellFormed()).toBe(true);
        expect(cleanName(shown)).toBe(shown);
      }),
      { numRuns: 500 },
    );
  });

  test("whatever the bytes, they are treated as the text they decode to", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 3000 }), (bytes) => {
        const decoded = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
        expect(cleanName(bytes)).toBe(cleanName(decoded));
      }),
      { numRuns: 300 },
    );
  });

  test("short printable text is left as it is", () => {
    const printable = fc.string({ unit: "grapheme-ascii", maxLength: MAX_NAME_LENGTH });
    fc.assert(
      fc.property(printable, (given) => {
        expect(cleanName(given)).toBe(given);
      }),
    );
  });
});
