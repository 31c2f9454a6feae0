/**
 * Names come out of files and memory that anybody may have written, and go to terminals and
 * into people's scripts. Every name passes through here once, where it is made.
 */

/** UTF-16 code units, hence characters too, that a name has at most. */
export const MAX_NAME_LENGTH = 512;

const CUT_MARK = "…";

/** Nothing to do for these, which is nearly every name there is. */
const PLAIN = /^[\x20-\x7e]*$/;

/**
 * What moves the cursor, starts an escape, turns the direction of a line, ends it, or cannot be
 * seen: all of Unicode's Cc (C0, DEL, C1), Cf (bidi overrides and isolates, zero width, tags), Zl
 * and Zp. Cs: halves of surrogate pairs without the other half.
 */
const HIDDEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u;

const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/**
 * The text as it may be shown: characters that control something or cannot be seen become `\xNN`, or
 * `\u{N…}` above 0xff (hexadecimal, lower case); invalid UTF-8 and lone surrogates become U+FFFD. What
 * is longer than 512 is cut and ends in `…`; neither an escape nor a character is cut in half.
 *
 * Cleaning twice changes nothing: a backslash is left alone.
 */
export function cleanName(text: string | Uint8Array): string {
  const raw = typeof text === "string" ? text : decoder.decode(withoutExcess(text));
  if (raw.length <= MAX_NAME_LENGTH && PLAIN.test(raw)) return raw;

  let clean = "";
  let fitting = 0;
  for (const character of raw) {
    const shown = show(character);
    if (clean.length + shown.length > MAX_NAME_LENGTH) return clean.slice(0, fitting) + CUT_MARK;
    clean += shown;
    if (clean.length <= MAX_NAME_LENGTH - CUT_MARK.length) fitting = clean.length;
  }
  return clean;
}

function show(character: string): string {
  if (!HIDDEN.test(character)) return character;
  const code = character.codePointAt(0) ?? 0;
  if (code >= 0xd800 && code <= 0xdfff) return "\ufffd";
  const digits = code.toString(16);
  return code <= 0xff ? `\\x${digits.padStart(2, "0")}` : `\\u{${digits}}`;
}

/** No character takes more than four bytes: what lies behind cannot be shown anyway. */
function withoutExcess(bytes: Uint8Array): Uint8Array {
  return bytes.length > 4 * (MAX_NAME_LENGTH + 1)
    ? bytes.subarray(0, 4 * (MAX_NAME_LENGTH + 1))
    : bytes;
}
