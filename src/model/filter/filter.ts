/** Reads filters; src/model/filter/filter-words.ts has their grammar. */
import { Family } from "../../tick/family.ts";
import { RUNTIMES, runtimeNamed } from "../../tick/runtimes.ts";
import type { FunctionInfo, Task } from "../../tick/tick.ts";
import {
  REASON_LABELS,
  REASONS,
  type Reason,
  reasonOf,
  stateOf,
  THREAD_STATES,
  WAIT_IDLE,
  type Wait,
} from "../../tick/waits.ts";
import { FilterError, filterGroups, kindOf, type Word, type WordKind } from "./filter-words.ts";
import { RegExpError, safeRegExp } from "./safe-regexp.ts";

const MAX_LENGTH = 500;

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

/** Any reason that can be idle. */
const IDLE_REASON = REASONS.indexOf("poll");

const wordsOf = (reason: Reason): string[] =>
  REASON_LABELS[reason].split(" ").filter((word) => word !== "");

const REASON_WORDS: ReadonlySet<string> = new Set(
  REASONS.flatMap(wordsOf).filter((word) => word !== "queue" && word !== "page"),
);

const lower = (values: readonly string[]): string[] => values.map((value) => value.toLowerCase());

/** The numbers that a word names. */
function numbersOf({ key, values, column }: Word): number[] {
  return values.map((value) => {
    if (/^\d{1,10}$/.test(value)) return Number(value);
    throw new FilterError(`${key}: at ${column} needs a number, not "${value}"`);
  });
}

/** The values of a word, all of them among those that there are. */
function knownValues({ key, values, column }: Word, known: ReadonlySet<string>): string[] {
  const wanted = lower(values);
  const unknown = values.find((_, at) => !known.has(wanted[at] ?? ""));
  if (unknown === undefined) return wanted;
  throw new FilterError(
    `${key}: at ${column} is one of ${[...known].join(", ")}, not "${unknown}"`,
  );
}

/** The pid of the kernel's thread that starts all its others, which are its children. */
const KTHREADD = 2;

/** Makes the test of a word about processes. */
function taskTest(word: Word): TaskTest {
  const { key, values } = word;
  if (key === "kthread") return ({ pid, parentPid }) => pid === KTHREADD || parentPid === KTHREADD;
  if (key === "pid" || key === "tree") {
    const pids = numbersOf(word);
    return key === "pid"
      ? (task) => pids.includes(task.pid)
      : (task, family) => pids.some((pid) => family.isBelow(task, pid));
  }
  const wanted = lower(values);
  if (key === "user") {
    return ({ uid, facts }) =>
      wanted.includes(String(uid)) || wanted.includes(facts?.user.toLowerCase() || "/");
  }
  const textOf = TASK_TEXTS[key as keyof typeof TASK_TEXTS];
  return (task) => {
    const text = textOf(task).toLowerCase();
    return wanted.some((one) => text.includes(one));
  };
}

/** The text of a process or thread that a word is searched for in. */
const TASK_TEXTS = {
  comm: ({ comm }: Task): string => comm,
  thread: ({ thread }: Task): string => thread,
  cmd: ({ comm, facts }: Task): string => `${comm} ${facts?.arguments ?? facts?.command ?? ""}`,
  container: ({ facts }: Task): string => facts?.container ?? "",
  unit: ({ facts }: Task): string => facts?.unit ?? "",
};

/** Makes the test of a word about what threads wait for. */
function waitTest(word: Word): Test<Wait> {
  if (word.key === "state") {
    const states = knownValues(word, new Set<string>(THREAD_STATES));
    return (wait) => states.includes(stateOf(wait));
  }
  const reasons = knownValues(word, REASON_WORDS);
  return (wait) => wordsOf(reasonOf(wait)).some((one) => reasons.includes(one));
}

/** Makes the test of a word about functions. */
function functionTest(word: Word): Test<FunctionInfo> {
  if (word.regexp) {
    const test = safeRegExp(word.values[0] ?? "", word.column);
    return (info) => test(info.name) || test(info.module);
  }
  if (word.key === "lang") {
    const runtimes = word.values.map((value) => {
      const runtime = runtimeNamed(value);
      if (runtime) return runtime;
      throw new FilterError(
        `lang: at ${word.column} is one of ${RUNTIMES.join(", ")}, not "${value}"`,
      );
    });
    return (info) => runtimes.includes(info.runtime);
  }
  const wanted = lower(word.values);
  const isIn = (text: string): boolean => wanted.some((one) => text.toLowerCase().includes(one));
  if (word.key === "module") return (info) => isIn(info.module);
  return (info) => isIn(info.name) || isIn(info.module);
}

/** Makes the test of a group, of which any word will do. */
function anyOf<T extends unknown[]>(
  group: readonly Word[],
  make: (word: Word) => (...values: T) => boolean,
): (...values: T) => boolean {
  const tests = group.map((word) => ({ test: make(word), negated: word.negated }));
  return (...values) => tests.some(({ test, negated }) => test(...values) !== negated);
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
    for (const group of filterGroups(text)) {
      const kind = kindOfGroup(group);
      if (kind === "process") taskTests.push(anyOf(group, taskTest));
      else if (kind === "function") functionTests.push(anyOf(group, functionTest));
      else {
        waitTests.push(anyOf(group, waitTest));
        asksForIdle ||= group.some(
          (word) =>
            word.key === "state" && !word.negated && waitTest(word)(WAIT_IDLE | IDLE_REASON),
        );
      }
    }
    const waits = { waitTests, asksForIdle };
    return { filter: makeFilter(text.trim(), taskTests, functionTests, waits) };
  } catch (error) {
    if (error instanceof FilterError || error instanceof RegExpError)
      return { error: error.message };
    throw error;
  }
}

/** What the words of a group choose: they are applied to different things, so that they must be of one kind. */
function kindOfGroup(group: readonly Word[]): WordKind | undefined {
  const [first] = group;
  const other = first && group.find((word) => kindOf(word) !== kindOf(first));
  if (!other) return first && kindOf(first);
  throw new FilterError(
    `| before ${other.column} joins words about a ${kindOf(first)} and a ${kindOf(other)}: it can only join those about the same`,
  );
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
