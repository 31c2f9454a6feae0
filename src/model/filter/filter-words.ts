/**
 * The grammar of filters: words joined by AND, with `|` between two of which either will do. A word is `text`, `/regex/`,
 * or one of the table below with its values; `!` negates it, and quotes hold spaces and all that has a meaning.
 */

/** What a word chooses: samples by their process or by their wait, or rows by their function. */
export type WordKind = "process" | "function" | "wait";

interface WordRow {
  readonly kind: WordKind;
  /** What stands behind the colon, for help; empty: the word stands alone. */
  readonly example: string;
  readonly meaning: string;
}

/** The words, in the order of the help. */
export const FILTER_WORDS = {
  pid: { kind: "process", example: "42", meaning: "a process by its number" },
  tree: { kind: "process", example: "42", meaning: "that process and all below it" },
  comm: { kind: "process", example: "nginx", meaning: "processes by their name" },
  cmd: { kind: "process", example: "app.py", meaning: "processes by their command line" },
  user: { kind: "process", example: "www-data", meaning: "processes of a user, by name or number" },
  container: { kind: "process", example: "3f2a", meaning: "processes in a container or pod" },
  unit: { kind: "process", example: "nginx", meaning: "processes of a unit of systemd" },
  thread: { kind: "process", example: "worker", meaning: "threads by their name" },
  kthread: { kind: "process", example: "", meaning: "threads of the kernel" },
  lang: { kind: "function", example: "perl", meaning: "functions of a language" },
  module: { kind: "function", example: "libc", meaning: "functions of a file" },
  why: { kind: "wait", example: "lock", meaning: "what is waited for" },
  state: { kind: "wait", example: "runnable", meaning: "the state of the thread" },
} as const satisfies Record<string, WordRow>;

export type FilterKey = keyof typeof FILTER_WORDS;
export const FILTER_KEYS = Object.keys(FILTER_WORDS) as FilterKey[];

/** A word with a value of it: `pid:42`. */
export const exampleOf = (key: FilterKey): string => typedKey(key) + FILTER_WORDS[key].example;

/** A word as it is typed: `pid:`, and `kthread` without a colon. */
export const typedKey = (key: FilterKey): string =>
  FILTER_WORDS[key].example === "" ? key : `${key}:`;

export interface Word {
  /** The column of its first character, counted from 1. */
  readonly column: number;
  readonly negated: boolean;
  /** Undefined: a text or a regular expression, which is searched for in functions. */
  readonly key: FilterKey | undefined;
  /** Any of these will do. */
  readonly values: readonly string[];
  readonly regexp: boolean;
}

export const kindOf = ({ key }: Word): WordKind =>
  key === undefined ? "function" : FILTER_WORDS[key].kind;

/** A filter is not understood; the message names the place. */
export class FilterError extends Error {}

const isSpace = (character: string | undefined): boolean => character === " " || character === "\t";
const endsWord = (character: string | undefined): boolean =>
  character === undefined || character === "|" || isSpace(character);

/** Finds the end of the regular expression whose `/` is at `start`: a slash at the end of a word. */
function regexpEnd(text: string, start: number): number {
  for (let i = start + 1; i < text.length; i++) {
    if (text[i] === "\\") i++;
    else if (text[i] === "/" && endsWord(text[i + 1])) return i;
  }
  throw new FilterError(
    `the regular expression at ${start + 1} has no closing /; quote it to search for the text`,
  );
}

/** Reads a bare or quoted text from `start`; returns it, whether it was quoted, and where it ends. */
function readText(text: string, start: number): { value: string; quoted: boolean; end: number } {
  if (text[start] !== '"') {
    let end = start;
    while (!endsWord(text[end])) end++;
    return { value: text.slice(start, end), quoted: false, end };
  }
  let value = "";
  for (let i = start + 1; i < text.length; i++) {
    const character = text[i];
    if (character === '"') return { value, quoted: true, end: i + 1 };
    if (character === "\\" && i + 1 < text.length) i++;
    value += text[i] ?? "";
  }
  throw new FilterError(`the quote at ${start + 1} is not closed`);
}

/** What may be the name of a word with its colon; two colons belong to the name of a function. */
const KEY = /^([a-z]+):(?!:)/i;

/** The key that begins at a place and where its value begins; undefined where a text does. */
function readKey(text: string, at: number, column: number): [FilterKey, number] | undefined {
  const typed = KEY.exec(text.slice(at, at + 64))?.[1];
  if (typed === undefined) {
    const { value, quoted, end } = readText(text, at);
    return value === "kthread" && !quoted ? [value, end] : undefined;
  }
  const key = FILTER_KEYS.find((one) => one === typed.toLowerCase() && typedKey(one) !== one);
  if (key) return [key, at + key.length + 1];
  throw new FilterError(
    `there is no word ${typed}: (at ${column}); there are ${FILTER_KEYS.map(typedKey).join(" ")}. Quote it to search for the text`,
  );
}

/** Reads the word at a place; returns it and where it ends. */
function readWord(text: string, start: number): [Word, number] {
  const column = start + 1;
  const negated = text[start] === "!";
  const at = negated ? start + 1 : start;
  if (endsWord(text[at])) {
    throw new FilterError(
      negated ? `! at ${column} negates nothing` : `| at ${column} stands between no two words`,
    );
  }
  if (text[at] === "/") {
    const end = regexpEnd(text, at);
    const values = [text.slice(at + 1, end)];
    return [{ column, negated, key: undefined, values, regexp: true }, end + 1];
  }
  const found = text[at] === '"' ? undefined : readKey(text, at, column);
  const [key, first] = found ?? [undefined, at];
  if (key === "kthread") return [{ column, negated, key, values: [], regexp: false }, first];
  const { value, quoted, end } = readText(text, first);
  const values = key === undefined || quoted ? [value] : value.split(",");
  if (values.some((one) => one === "")) {
    throw new FilterError(`${key ?? "the word"}: at ${column} needs a value`);
  }
  return [{ column, negated, key, values, regexp: false }, end];
}

/** Reads a filter as groups of words: each group must be met, by any of its words. Throws a FilterError. */
export function filterGroups(text: string): Word[][] {
  const groups: Word[][] = [];
  let joins = false;
  const skip = (from: number): number => {
    let at = from;
    while (isSpace(text[at])) at++;
    return at;
  };
  for (let at = skip(0); at < text.length; ) {
    const [word, end] = readWord(text, at);
    if (joins) groups.at(-1)?.push(word);
    else groups.push([word]);
    at = skip(end);
    joins = text[at] === "|";
    if (joins) {
      const column = at + 1;
      at = skip(column);
      if (at >= text.length) throw new FilterError(`| at ${column} stands between no two words`);
    }
  }
  return groups;
}
