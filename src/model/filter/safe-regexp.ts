/** Regular expressions that hurried people type, for names that hostile processes chose: none may take for ever. */
import { setFlagsFromString } from "node:v8";

const MOST_CHARACTERS = 200;

/** Why an expression cannot be used: `source` stands behind the column of its slash in the text of a filter. */
export class RegExpError extends Error {}

/** Makes the test of an expression that begins with a slash at a column. Throws a RegExpError. */
export function safeRegExp(source: string, column: number): (text: string) => boolean {
  if (source.length > MOST_CHARACTERS) {
    throw new RegExpError(
      `the regular expression at ${column} is longer than ${MOST_CHARACTERS} characters`,
    );
  }
  limitBacktracking();
  const slow = slowPart(source);
  if (slow) {
    throw new RegExpError(
      `${slow.what} (at ${column + 1 + slow.at}) is not allowed: it could take for ever`,
    );
  }
  try {
    const regexp = new RegExp(source);
    return (text) => regexp.test(text);
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    const reason = text.slice(text.lastIndexOf(": ") + 2);
    throw new RegExpError(`/${source}/ at ${column} is no regular expression: ${reason}`);
  }
}

let limited = false;

/**
 * Names come from hostile processes and expressions from hurried people: V8 may not try all
 * combinations of one with the other. After a number of steps back it takes its engine of
 * linear time instead.
 */
function limitBacktracking(): void {
  if (limited) return;
  limited = true;
  setFlagsFromString("--enable-experimental-regexp-engine-on-excessive-backtracks");
  setFlagsFromString("--regexp-backtracks-before-fallback=2000");
}

/** V8's engine of linear time repeats a part at most so often. */
const MAX_REPEATS = 16;

/** Finds the part of an expression that the engine of linear time does not know. */
function slowPart(source: string): { what: string; at: number } | undefined {
  // Each open group has the number of times that its busiest part is repeated.
  const open: number[] = [1];
  let last = 1;
  for (let i = 0; i < source.length; i++) {
    const character = source[i];
    const count = character === "{" ? /^\{(\d+)(,?)(\d*)\}/.exec(source.slice(i, i + 24)) : null;
    if (count) {
      last *= Math.max(Number(count[1]), Number(count[3] ?? 0));
      if (last > MAX_REPEATS) return { what: `a count above ${MAX_REPEATS}`, at: i };
      open[open.length - 1] = Math.max(open.at(-1) ?? 1, last);
      i += count[0].length - 1;
      continue;
    }
    last = 1;
    if (character === "\\") {
      if (/[1-9k]/.test(source[i + 1] ?? "")) return { what: "a back reference", at: i };
      i++;
    } else if (character === "[") {
      while (i < source.length && source[i] !== "]") i += source[i] === "\\" ? 2 : 1;
    } else if (character === "(") {
      if (source[i + 1] === "?" && source[i + 2] !== ":") return { what: "look-around", at: i };
      open.push(1);
    } else if (character === ")") {
      last = open.pop() ?? 1;
      if (open.length === 0) open.push(1);
      open[open.length - 1] = Math.max(open.at(-1) ?? 1, last);
    }
  }
  return undefined;
}
