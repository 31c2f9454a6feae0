/**
 * Reads filters. A filter is words joined by AND: `text`, `/regex/`, `pid:42`, `tree:42` (that process and
 * all below it), `comm:nginx`, `thread:worker`, `lang:perl`, `module:libc`; `!` negates; quotes hold
 * words with spaces.
 */
import { setFlagsFromString } from "node:v8";
import { Family } from "../tick/family.ts";
import { RUNTIMES, runtimeNamed } from "../tick/runtimes.ts";
import type { FunctionInfo, Task } from "../tick/tick.ts";
import {
  REASON_LABELS,
  REASONS,
  type Reason,
  reasonOf,
  stateOf,
  THREAD_STATES,
  WAIT_IDLE,
  type Wait,
} from "../tick/waits.ts";

const MAX_LENGTH = 500;
const MAX_REGEXP = 200;

/** A filter that was understood. */
export interface Filter {
  /** The text as it was typed. */
  readonly text: string;
  /** It has terms about processes, which choose samples. */
  readonly hasTaskTerms: boolean;
  /** It has terms about functions, which choose rows. */
  readonly hasFunctionTerms: boolean;
  /** `family` knows processes that were not sampled, for `tree:`. */
  matchesTask(task: Task, family?: Family): boolean;
  matchesFunction(info: FunctionInfo): boolean;
  /** It has terms about what threads wait for, which choose samples too. */
  readonly hasWaitTerms: boolean;
  /** It names waits for work, which are left out otherwise. */
  readonly asksForIdle: boolean;
  matchesWait(wait: Wait): boolean;
}

type Test<T> = (value: T) => boolean;
type TaskTest = (task: Task, family: Family) => boolean;

/** These words may stand before a colon. */
export const FILTER_KEYS = [
  "pid",
  "tree",
  "comm",
  "thread",
  "lang",
  "module",
  "why",
  "state",
] as const;
const KEY = new RegExp(`^(${FILTER_KEYS.join("|")}):`);

interface Word {
  /** The column of its first character, counted from 1. */
  readonly column: number;
  readonly negated: boolean;
  readonly key: "" | (typeof FILTER_KEYS)[number];
  readonly value: string;
  readonly regexp: boolean;
}

class FilterError extends Error {}

const isSpace = (character: string | undefined): boolean => character === " " || character === "\t";

/** Finds the end of the regular expression whose `/` is at `start`: a slash before a space or the end. */
function regexpEnd(text: string, start: number): number {
  for (let i = start + 1; i < text.length; i++) {
    if (text[i] === "\\") i++;
    else if (text[i] === "/" && (i + 1 === text.length || isSpace(text[i + 1]))) return i;
  }
  const column = start + 1;
  throw new FilterError(
    `the regular expression at ${column} has no closing /; quote it to search for the text`,
  );
}

/** Reads a bare or quoted word from `start`; returns it and where it ends. */
function readValue(text: string, start: number): [string, number] {
  if (text[start] !== '"') {
    let end = start;
    while (end < text.length && !isSpace(text[end])) end++;
    return [text.slice(start, end), end];
  }
  let value = "";
  for (let i = start + 1; i < text.length; i++) {
    const character = text[i];
    if (character === '"') return [value, i + 1];
    if (character === "\\" && i + 1 < text.length) i++;
    value += text[i] ?? "";
  }
  throw new FilterError(`the quote at ${start + 1} is not closed`);
}

function words(text: string): Word[] {
  const found: Word[] = [];
  let at = 0;
  while (at < text.length) {
    if (isSpace(text[at])) {
      at++;
      continue;
    }
    const column = at + 1;
    const negated = text[at] === "!";
    if (negated) at++;
    if (at >= text.length || isSpace(text[at]))
      throw new FilterError(`! at ${column} negates nothing`);
    if (text[at] === "/") {
      const end = regexpEnd(text, at);
      found.push({ column, negated, key: "", value: text.slice(at + 1, end), regexp: true });
      at = end + 1;
      continue;
    }
    const key = KEY.exec(text.slice(at, at + 8))?.[1] as Word["key"] | undefined;
    if (key) at += key.length + 1;
    const [value, end] = readValue(text, at);
    if (value === "") throw new FilterError(`${key ?? "the word"}: at ${column} needs a value`);
    found.push({ column, negated, key: key ?? "", value, regexp: false });
    at = end;
  }
  return found;
}

function regexpTest(word: Word): Test<string> {
  const { column, value } = word;
  if (value.length > MAX_REGEXP) {
    throw new FilterError(
      `the regular expression at ${column} is longer than ${MAX_REGEXP} characters`,
    );
  }
  limitBacktracking();
  const slow = slowPart(value);
  if (slow) {
    throw new FilterError(
      `${slow.what} (at ${column + 1 + slow.at}) is not allowed: it could take for ever`,
    );
  }
  try {
    const regexp = new RegExp(value);
    return (text) => regexp.test(text);
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    const reason = text.slice(text.lastIndexOf(": ") + 2);
    throw new FilterError(`/${value}/ at ${column} is no regular expression: ${reason}`);
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

/** Makes the test of a word about processes; undefined for a word about functions. */
function taskTest({ key, value, column }: Word): TaskTest | undefined {
  const wanted = value.toLowerCase();
  if (key === "comm") return (task) => task.comm.toLowerCase().includes(wanted);
  if (key === "thread") return (task) => task.thread.toLowerCase().includes(wanted);
  if (key !== "pid" && key !== "tree") return undefined;
  const pids = value.split(",").map((part) => {
    if (!/^\d{1,10}$/.test(part)) {
      throw new FilterError(`${key}: at ${column} needs a number, not "${part}"`);
    }
    return Number(part);
  });
  return key === "pid"
    ? (task) => pids.includes(task.pid)
    : (task, family) => pids.some((pid) => family.isBelow(task, pid));
}

/** Any reason that can be idle. */
const IDLE_REASON = REASONS.indexOf("poll");

/** Makes the test of a word about what threads wait for: several of these, with commas, are any of them. */
function waitTest({ key, value, column }: Word): Test<Wait> | undefined {
  if (key !== "why" && key !== "state") return undefined;
  const wanted = value.toLowerCase().split(",");
  const known = key === "why" ? REASON_WORDS : new Set<string>(THREAD_STATES);
  const unknown = wanted.find((word) => !known.has(word));
  if (unknown !== undefined) {
    throw new FilterError(
      `${key}: at ${column} is one of ${[...known].join(", ")}, not "${unknown}"`,
    );
  }
  if (key === "state") return (wait) => wanted.includes(stateOf(wait));
  return (wait) => wordsOf(reasonOf(wait)).some((word) => wanted.includes(word));
}

const wordsOf = (reason: Reason): string[] =>
  REASON_LABELS[reason].split(" ").filter((word) => word !== "");

const REASON_WORDS: ReadonlySet<string> = new Set(
  REASONS.flatMap(wordsOf).filter((word) => word !== "queue" && word !== "page"),
);

function functionTest(word: Word): Test<FunctionInfo> {
  if (word.regexp) {
    const test = regexpTest(word);
    return (info) => test(info.name) || test(info.module);
  }
  const wanted = word.value.toLowerCase();
  if (word.key === "lang") {
    const runtime = runtimeNamed(wanted);
    if (!runtime) {
      throw new FilterError(
        `lang: at ${word.column} is one of ${RUNTIMES.join(", ")}, not "${word.value}"`,
      );
    }
    return (info) => info.runtime === runtime;
  }
  if (word.key === "module") return (info) => info.module.toLowerCase().includes(wanted);
  return (info) =>
    info.name.toLowerCase().includes(wanted) || info.module.toLowerCase().includes(wanted);
}

/** Puts these words about processes and threads in place of those that a filter has. */
export function withTaskWords(text: string, words: string): string {
  const others = text.replace(/(^|\s)!?(pid|tree|thread):("(\\.|[^"])*"|\S*)/g, "$1");
  return `${words} ${others.trim().replace(/\s+/g, " ")}`.trim();
}

/** Reads a filter; what is wrong with it names the place. An empty text is a filter that lets everything pass. */
export function parseFilter(text: string): { filter: Filter } | { error: string } {
  if (text.length > MAX_LENGTH) return { error: `a filter has at most ${MAX_LENGTH} characters` };
  try {
    const taskTests: TaskTest[] = [];
    const functionTests: Test<FunctionInfo>[] = [];
    const waitTests: Test<Wait>[] = [];
    let asksForIdle = false;
    for (const word of words(text)) {
      const task = taskTest(word);
      const { negated } = word;
      if (task) {
        taskTests.push((one, family) => task(one, family) !== negated);
        continue;
      }
      const wait = waitTest(word);
      if (wait) {
        waitTests.push((one) => wait(one) !== negated);
        asksForIdle ||= word.key === "state" && !negated && wait(WAIT_IDLE | IDLE_REASON);
        continue;
      }
      const test = functionTest(word);
      functionTests.push((info) => test(info) !== negated);
    }
    const waits = { waitTests, asksForIdle };
    return { filter: makeFilter(text.trim(), taskTests, functionTests, waits) };
  } catch (error) {
    if (error instanceof FilterError) return { error: error.message };
    throw error;
  }
}

function makeFilter(
  text: string,
  taskTests: readonly TaskTest[],
  functionTests: readonly Test<FunctionInfo>[],
  { waitTests, asksForIdle }: { waitTests: readonly Test<Wait>[]; asksForIdle: boolean },
): Filter {
  // Functions are interned: each is asked about once, not again each refresh.
  const known = new WeakMap<FunctionInfo, boolean>();
  return {
    text,
    hasTaskTerms: taskTests.length > 0,
    hasFunctionTerms: functionTests.length > 0,
    hasWaitTerms: waitTests.length > 0,
    asksForIdle,
    matchesWait: (wait) => waitTests.every((test) => test(wait)),
    matchesTask: (task, family = new Family()) => taskTests.every((test) => test(task, family)),
    matchesFunction: (info) => {
      let matches = known.get(info);
      if (matches === undefined) {
        matches = functionTests.every((test) => test(info));
        known.set(info, matches);
      }
      return matches;
    },
  };
}
