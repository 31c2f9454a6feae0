/** What an event could become that is being typed. */
import { readdirSync } from "node:fs";
import { basename, dirname } from "node:path";
import { cleanName } from "../tick/clean-name.ts";
import { COUNTER_ROWS, CPU_TIME, PERF_TYPE_SOFTWARE } from "../tick/events.ts";
import { exactName, functionsIn } from "./functions.ts";
import { hasKprobes, kernelFunctions } from "./kernel-functions.ts";
import { filesFor, type SearchContext } from "./probed-files.ts";
import { hasCounters } from "./resolve.ts";
import { Tracepoints } from "./tracepoints.ts";

/** So many words are offered at most. */
const MOST_WORDS = 50;

/** Files of which the names are kept: reading them takes some ten milliseconds each. */
const KEPT_FILES = 8;

/** What stands before the name of a place. */
const PLACES = ["uprobe:", "uretprobe:", "usdt:", "kprobe:", "kretprobe:"];

/** A text is completed anew with each key: names are read once. */
export class EventCompleter {
  readonly #context: Omit<SearchContext, "pids">;
  readonly #names = new Map<string, readonly string[]>();
  #last: { readonly key: string; readonly words: readonly string[] } | undefined;

  constructor(context: Omit<SearchContext, "pids">) {
    this.#context = context;
  }

  /** Events that begin with a text, as `-e` takes them. */
  complete(typed: string, pids: readonly number[]): readonly string[] {
    const key = `${pids.join(",")} ${typed}`;
    if (this.#last?.key === key) return this.#last.words;
    const words = [...new Set(this.#find(typed, pids))].slice(0, MOST_WORDS);
    this.#last = { key, words };
    return words;
  }

  #find(typed: string, pids: readonly number[]): string[] {
    const [, word = "", rest = ""] = /^(\w+):(.*)$/s.exec(typed) ?? [];
    if (word === "uprobe" || word === "uretprobe") {
      return this.#places(rest, pids, (path) => this.#functions(path)).map((it) => `${word}:${it}`);
    }
    if (word === "usdt") {
      return this.#places(rest, pids, (path) => this.#staticProbes(path)).map((it) => `usdt:${it}`);
    }
    if (word === "kprobe" || word === "kretprobe") {
      const names = this.#known("kernel", kernelFunctions);
      return names.filter((name) => name.startsWith(rest)).map((name) => `${word}:${name}`);
    }
    const all = this.#known("events", () => this.#events());
    const begin = all.filter((name) => name.startsWith(typed));
    if (word !== "") return begin;
    // There are thousands of tracepoints: first their subsystems.
    return begin.map((name) => (name.includes(":") ? name.slice(0, name.indexOf(":") + 1) : name));
  }

  #events(): string[] {
    const counters = [...COUNTER_ROWS]
      .filter(([, { type }]) => type === PERF_TYPE_SOFTWARE || hasCounters())
      .map(([name]) => name);
    const places = PLACES.filter((place) => hasKprobes() || !place.startsWith("k"));
    const tracepoints = orNothing(() => new Tracepoints(this.#context.addon).names());
    return [CPU_TIME, ...counters, ...places, ...tracepoints];
  }

  /** `FILE:NAME` or `NAME`, as far as it was typed. */
  #places(
    rest: string,
    pids: readonly number[],
    namesIn: (path: string) => readonly string[],
  ): string[] {
    const [, file, name = ""] = /^([^:]+):(?!:)(.*)$/s.exec(rest) ?? [];
    const files = orNothing(() => filesFor(file, { ...this.#context, pids }, rest));
    const named = (wanted: string): string[] =>
      files.flatMap((path) => namesIn(path).filter((one) => one.startsWith(wanted)));
    if (file !== undefined) return named(name).map((one) => `${file}:${one}`);
    if (rest.includes("/")) return paths(rest);
    const words = [...new Set(files.map((path) => `${shortName(path)}:`))];
    const begin = words.filter((word) => word.startsWith(rest));
    // With nothing typed there are thousands.
    return rest === "" ? begin : [...begin, ...named(rest)];
  }

  #functions(path: string): readonly string[] {
    return this.#known(`functions ${path}`, () =>
      functionsIn(path, "*", this.#context.addon)
        .map(exactName)
        .filter((name) => cleanName(name) === name)
        .sort(),
    );
  }

  #staticProbes(path: string): readonly string[] {
    return this.#known(`probes ${path}`, () =>
      this.#context.addon
        .listStaticProbes(path)
        .map(({ provider, name }) => `${provider}:${name}`)
        .filter((name) => cleanName(name) === name),
    );
  }

  #known(key: string, find: () => readonly string[]): readonly string[] {
    const known = this.#names.get(key) ?? orNothing(find);
    this.#names.delete(key);
    this.#names.set(key, known);
    const [oldest] = this.#names.keys();
    if (this.#names.size > KEPT_FILES && oldest !== undefined) this.#names.delete(oldest);
    return known;
  }
}

/** `libc` for libc.so.6, and the name itself for a program. */
const shortName = (path: string): string => basename(path).replace(/\.so(\.\d+)*$/, "");

/** A file that cannot be read has nothing to offer. */
function orNothing<T>(find: () => readonly T[]): readonly T[] {
  try {
    return find();
  } catch (error) {
    if (error instanceof Error) return [];
    throw error;
  }
}

/** Files and folders that a path could become; a folder is not finished, behind a file stands a colon. */
function paths(typed: string): string[] {
  const folder = typed.endsWith("/") ? typed : `${dirname(typed)}/`.replace("//", "/");
  const begin = typed.slice(typed.lastIndexOf("/") + 1);
  const found = orNothing(() => readdirSync(folder, { withFileTypes: true }));
  return found
    .filter(({ name }) => name.startsWith(begin) && cleanName(name) === name)
    .map((one) => `${folder}${one.name}${one.isDirectory() ? "/" : ":"}`)
    .sort();
}
