/** Events as people ask for them with `-e`: what the words say, before this machine is asked what it has. */
import { MAX_EVENTS } from "../../build/abi.ts";
import { UsageError } from "./errors.ts";
import {
  type CounterRow,
  CPU_TIME,
  counterOf,
  EVENT_NAMES,
  type EventName,
  isEventName,
  PERF_TYPE_SOFTWARE,
} from "./events.ts";

/** The kinds of things that `polytop list` searches. */
export const LIST_KINDS = ["events", "functions", "usdt"] as const;

export type ListKind = (typeof LIST_KINDS)[number];

/** An event as it was asked for; `text` is how. */
export type EventRequest =
  | { readonly kind: "time"; readonly text: string; readonly event: EventName }
  | {
      readonly kind: "counter";
      readonly text: string;
      readonly row: CounterRow;
      /** Letters behind a colon, as perf has them: `u` user, `k` kernel. */
      readonly modifiers: string;
    }
  | {
      readonly kind: "tracepoint";
      readonly text: string;
      readonly subsystem: string;
      readonly event: string;
      /** The field that is added up. */
      readonly field?: string;
    }
  | {
      readonly kind: "function";
      readonly text: string;
      /** A path, or the short name of a library; undefined: wherever the function is. */
      readonly file: string | undefined;
      readonly pattern: string;
      readonly isReturn: boolean;
    }
  | {
      readonly kind: "line";
      readonly text: string;
      /** As in a request for a function. */
      readonly file: string | undefined;
      /** A source file, by the end of its path. */
      readonly source: string;
      readonly line: number;
    }
  | {
      readonly kind: "kernel-function";
      readonly text: string;
      readonly pattern: string;
      readonly isReturn: boolean;
    }
  | {
      readonly kind: "usdt";
      readonly text: string;
      readonly file: string | undefined;
      readonly provider: string;
      readonly probe: string;
    };

/** The CPU's time is an event of its own. */
const MOST_EVENTS = MAX_EVENTS - 1;

const FORMS = `${EVENT_NAMES.join(", ")}, a name of \`polytop list events\`, subsystem:name, uprobe:FILE:FUNC, kprobe:FUNC or usdt:FILE:PROVIDER:NAME`;

/** Reads the value of `-e`: events with commas between them. Throws a UsageError. */
export function parseEvents(text: string): EventRequest[] {
  const requests = splitList(text).map(parseEvent);
  const texts = requests.map((request) => request.text);
  const twice = texts.find((one, i) => texts.indexOf(one) !== i);
  if (twice !== undefined) throw new UsageError(`--event has ${twice} more than once`);
  const alone = requests.find(({ kind, text: one }) => kind === "time" && one !== CPU_TIME);
  if (alone && requests.length > 1) {
    throw new UsageError(`--event ${alone.text} stands alone: it takes no other event beside it`);
  }
  if (requests.length > MOST_EVENTS) {
    throw new UsageError(`--event takes at most ${MOST_EVENTS} events`);
  }
  return requests;
}

/** Splits at commas that are outside of brackets and of /regular expressions/. */
function splitList(text: string): string[] {
  const parts = [""];
  let depth = 0;
  let isPattern = false;
  for (const [at, letter] of [...text].entries()) {
    if (letter === "/" && (text[at - 1] === ":" || isPattern)) isPattern = !isPattern;
    if ("<({".includes(letter) && !isPattern) depth++;
    if (">)}".includes(letter) && !isPattern) depth = Math.max(0, depth - 1);
    if (letter === "," && depth === 0 && !isPattern) parts.push("");
    else parts[parts.length - 1] += letter;
  }
  return parts.map((part) => part.trim());
}

/** The event at the end of a list, as far as it was typed. */
export const lastEvent = (text: string): string => splitList(text).at(-1) ?? "";

function parseEvent(text: string): EventRequest {
  if (isEventName(text)) return { kind: "time", text, event: text };
  const [word = "", rest] = cut(text, ":");
  if (word === "uprobe" || word === "uretprobe") return functionRequest(text, word, rest ?? "");
  if (word === "kprobe" || word === "kretprobe") {
    if (!rest) throw new UsageError(`--event ${text} needs a function: ${word}:FUNC`);
    return { kind: "kernel-function", text, pattern: rest, isReturn: word === "kretprobe" };
  }
  if (word === "usdt") return usdtRequest(text, rest ?? "");
  const row = counterOf(word);
  if (row) return counterRequest(text, row, rest ?? "");
  const found = /^([\w-]+):([\w-]+)(?:\/([\w]+)\/?)?$/.exec(text);
  if (!found) throw new UsageError(`--event ${text || "without a name"} is no event: use ${FORMS}`);
  const [, subsystem = "", event = "", field] = found;
  return { kind: "tracepoint", text, subsystem, event, ...(field ? { field } : {}) };
}

/** What is before and behind the first separator; nothing behind it where there is none. */
function cut(text: string, separator: string): [string, string?] {
  const at = text.indexOf(separator);
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + separator.length)];
}

function counterRequest(text: string, row: CounterRow, modifiers: string): EventRequest {
  const isSoftware = row.type === PERF_TYPE_SOFTWARE;
  if (!/^[ukpP]*$/.test(modifiers)) {
    throw new UsageError(
      `--event ${text}: behind the colon stand u (user), k (kernel), p or P (precise)`,
    );
  }
  if (isSoftware && /p/i.test(modifiers)) {
    throw new UsageError(`--event ${text}: only counters of the processor can be more precise`);
  }
  return { kind: "counter", text, row, modifiers };
}

/** `FILE:SOURCE:LINE` or `SOURCE:LINE`: a number behind the last colon is a line. */
const LINE = /^(?:(?<file>[^:]+):)?(?<source>[^:]+):(?<line>\d{1,9})$/;

/**
 * `FILE:FUNC` or `FUNC`. Names of C++ and Rust hold `::`, and a pattern `/…/` may hold anything: the file ends at the
 * first colon that stands alone.
 */
function functionRequest(text: string, word: string, rest: string): EventRequest {
  const isReturn = word === "uretprobe";
  const { source, line, file: program } = LINE.exec(rest)?.groups ?? {};
  if (source !== undefined) {
    if (isReturn) {
      throw new UsageError(`--event ${text}: a line does not return, a function does`);
    }
    return { kind: "line", text, file: program, source, line: Number(line) };
  }
  const place = /^(?:(?<file>[^:]*):(?!:))?(?<pattern>(?:\/.*\/|.*))$/s.exec(rest)?.groups;
  const { file, pattern = "" } = place ?? {};
  if (!pattern) throw new UsageError(`--event ${text} needs a function: ${word}:FILE:FUNC`);
  return { kind: "function", text, file: file || undefined, pattern, isReturn };
}

function usdtRequest(text: string, rest: string): EventRequest {
  const parts = rest.split(":");
  const [probe = "", provider = "", file] = parts.reverse();
  if (parts.length > 3 || !probe || !provider) {
    throw new UsageError(`--event ${text} is no probe: usdt:FILE:PROVIDER:NAME`);
  }
  return { kind: "usdt", text, file: file || undefined, provider, probe };
}

/** Whether the CPU's time or the time of waits is asked for, and nothing else. */
export const isTimeOnly = (requests: readonly EventRequest[]): boolean =>
  requests.every(({ kind }) => kind === "time");
