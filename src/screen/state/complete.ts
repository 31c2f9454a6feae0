/** Finds what Tab offers in a prompt. */
import { FILTER_KEYS, typedKey } from "../../model/filter/filter-words.ts";
import { lastEvent } from "../../tick/event-request.ts";
import { RUNTIMES } from "../../tick/runtimes.ts";
import type { PromptMode } from "./state.ts";

/** A process that can be named. */
export interface KnownProcess {
  readonly pid: number;
  readonly comm: string;
  /** Its program, with the script, module or archive that an interpreter runs; empty where it is not known. */
  readonly command: string;
  readonly user?: string;
  readonly container?: string;
  readonly unit?: string;
}

/** Offers are chosen from these; the busiest is the first, those without samples the last. */
export interface Facts {
  readonly processes: readonly KnownProcess[];
  readonly threads: readonly string[];
  /** Events that begin with a text. */
  readonly events?: (typed: string) => readonly string[];
}

/** These words may stand where the last word of a text is. */
export interface Completion {
  /** The text before that word. */
  readonly before: string;
  readonly words: readonly string[];
  /** The same words for eyes: a pid with its command. */
  readonly labels: readonly string[];
}

/** A word and what is shown for it. */
interface Offer {
  readonly word: string;
  readonly label: string;
}

const MAX_OFFERS = 50;

const different = (words: readonly string[]): string[] => [...new Set(words)];

/** Writes a word as the grammar wants it. */
export const quoted = (word: string): string =>
  /[\s"\\]/.test(word) ? `"${word.replace(/["\\]/g, "\\$&")}"` : word;

/** A command is shown in so many characters. */
const COMMAND_LENGTH = 40;

/** Finds pids that begin with some digits, or whose name begins with a text, or whose command holds it. */
function pids(processes: readonly KnownProcess[], typed: string, before = ""): Offer[] {
  const wanted = typed.toLowerCase();
  const named = ({ comm }: KnownProcess): boolean => comm.toLowerCase().startsWith(wanted);
  const runs = ({ command }: KnownProcess): boolean => command.toLowerCase().includes(wanted);
  const found = /^\d*$/.test(typed)
    ? processes.filter(({ pid }) => String(pid).startsWith(typed))
    : [...processes.filter(named), ...processes.filter((one) => !named(one) && runs(one))];
  return found.map(({ pid, comm, command }) => ({
    word: before + pid,
    label: `${pid} ${(command || comm).slice(0, COMMAND_LENGTH)}`,
  }));
}

const plain = (words: readonly string[]): Offer[] => words.map((word) => ({ word, label: word }));

function filterWords(word: string, facts: Facts): Offer[] {
  const negation = word.startsWith("!") ? "!" : "";
  const rest = word.slice(negation.length);
  const [, key, written = ""] = /^(\w+):(.*)$/s.exec(rest) ?? [];
  // A value may be quoted from its beginning on; it is offered with both quotes.
  const value = written.startsWith('"') ? written.slice(1).replace(/\\(.)|"$/gs, "$1") : written;
  const begins = (text: string): boolean => text.toLowerCase().startsWith(value.toLowerCase());
  const named = (texts: readonly string[]): Offer[] =>
    plain(
      different(texts)
        .filter(begins)
        .map((text) => `${negation}${key}:${quoted(text)}`),
    );
  if (key === "pid" || key === "tree") {
    const parts = value.split(",");
    const typed = parts.pop() ?? "";
    const before = parts.map((part) => `${part},`).join("");
    return pids(facts.processes, typed, `${negation}${key}:${before}`);
  }
  const { processes } = facts;
  const known = (texts: readonly (string | undefined)[]): Offer[] =>
    named(texts.filter((text) => text !== undefined && text !== "") as string[]);
  if (key === "comm") return named(processes.map(({ comm }) => comm));
  if (key === "user") return known(processes.map(({ user }) => user));
  if (key === "container") return known(processes.map(({ container }) => container));
  if (key === "unit") return known(processes.map(({ unit }) => unit));
  if (key === "thread") return named(facts.threads);
  if (key === "lang") return named(RUNTIMES);
  const keys = FILTER_KEYS.filter((one) => one.startsWith(rest));
  return plain(keys.map((one) => `${negation}${typedKey(one)}`));
}

/** The last word of a filter; quotes hold spaces, also where the closing one is still to come. */
export function lastWord(text: string): string {
  let start = 0;
  let isQuoted = false;
  for (let i = 0; i < text.length; i++) {
    if (text[i] === "\\" && isQuoted) i++;
    else if (text[i] === '"') isQuoted = !isQuoted;
    else if (!isQuoted && /[\s|]/.test(text[i] ?? "")) start = i + 1;
  }
  return text.slice(start);
}

/** Finds what the last word of a text could become. */
export function complete(mode: PromptMode, text: string, facts: Facts): Completion {
  if (mode === "events") {
    const typed = lastEvent(text);
    const words = (facts.events?.(typed) ?? []).slice(0, MAX_OFFERS);
    return { before: text.slice(0, text.length - typed.length), words, labels: words };
  }
  const word = mode === "pid" ? (/[^\s,]*$/.exec(text)?.[0] ?? "") : lastWord(text);
  const before = text.slice(0, text.length - word.length);
  const offers = mode === "pid" ? pids(facts.processes, word) : filterWords(word, facts);
  // A pid may be listed once for each name that it had.
  const known = new Map(offers.map((offer) => [offer.word, offer.label]));
  const words = [...known.keys()].slice(0, MAX_OFFERS);
  return { before, words, labels: words.map((one) => known.get(one) ?? one) };
}

/** Finds the longest beginning that all words have. */
export function commonStart(words: readonly string[]): string {
  let common = words[0] ?? "";
  for (const word of words) {
    let length = 0;
    while (length < common.length && word[length] === common[length]) length++;
    common = common.slice(0, length);
  }
  return common;
}
