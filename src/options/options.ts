/** Reads the command line: everything checked, with errors that say what would be right. */
import meow from "meow";
import packageJson from "../../package.json" with { type: "json" };
import { parseFilter } from "../model/filter/filter.ts";
import { parsePid } from "../model/pids.ts";
import { SORT_KEYS, type SortKey } from "../model/sort.ts";
import { EXPORT_NAMES, type ExportName, type ExportPaths } from "../output/formats.ts";
import { UsageError } from "../tick/errors.ts";
import { isTimeOnly, LIST_KINDS, parseEvents } from "../tick/event-request.ts";
import { CPU_TIME } from "../tick/events.ts";
import type {
  Format,
  ListOptions,
  Options,
  RecordOptions,
  ReplayOptions,
  SampleOptions,
  ShowOptions,
} from "./asked.ts";
import { DEFINITIONS, dashed, type Key, OPTIONS, type OptionDefinition } from "./option-table.ts";

const MAX_PIDS = 1024;

/** Samples a second on each CPU: of the CPU's time, and at most where other events are counted. */
const DEFAULT_HZ = 99;
const EVENT_HZ = 499;

/** What was typed: a text for each option that has a value. */
class Flags {
  private readonly values: Readonly<Record<string, unknown>>;

  constructor(values: Readonly<Record<string, unknown>>) {
    this.values = values;
  }

  has(key: Key): boolean {
    return this.values[key] !== undefined && this.values[key] !== false;
  }

  boolean(key: Key): boolean {
    return this.values[key] === true;
  }

  /** Switched off by `--no-…`. */
  isOff(key: Key): boolean {
    return this.values[key] === false;
  }

  text(key: Key): string | undefined {
    const value = this.values[key];
    if (value === undefined) return undefined;
    if (typeof value !== "string" || value === "") {
      const { value: name = "value", shortFlag } = OPTIONS[key] as OptionDefinition;
      const short = shortFlag ? `-${shortFlag}, ` : "";
      throw new UsageError(`${short}${dashed(key)} needs a value: ${dashed(key)} ${name}`);
    }
    return value;
  }

  /** A number in a range, undefined when not given. */
  number(key: Key, from: number, to: number, kind: "whole" | "decimal"): number | undefined {
    const text = this.text(key);
    if (text === undefined) return undefined;
    const form = kind === "whole" ? /^\d{1,15}$/ : /^(\d{1,9}(\.\d*)?|\.\d+)$/;
    const value = Number(text);
    if (!form.test(text) || value < from || value > to) {
      const upper = to === Number.MAX_SAFE_INTEGER ? "or more" : `to ${to}`;
      const noun = kind === "whole" ? "a whole number" : "a number";
      throw new UsageError(`${dashed(key)} is ${noun}, ${from} ${upper}, not "${text}"`);
    }
    return value;
  }
}

/** Reads the arguments after the program's name; throws a UsageError. */
export function parseOptions(argv: readonly string[]): Options {
  const end = argv.indexOf("--");
  const program = end < 0 ? undefined : argv.slice(end + 1);
  const { input, flags } = read(end < 0 ? argv : argv.slice(0, end));
  if (flags.boolean("help")) return { command: "help" };
  if (flags.boolean("version")) return { command: "version" };
  const [word, ...rest] = input;
  if (program && (word === "replay" || word === "doctor" || word === "list")) {
    throw new UsageError(`${word} starts no command: leave out -- and what is behind it`);
  }
  if (word === "replay") return replayOptions(rest, flags);
  if (word === "list") return listOptions(rest, flags);
  const isCommand = word === "doctor" || word === "record";
  const stray = isCommand ? rest[0] : word;
  if (stray !== undefined) {
    throw new UsageError(`unexpected word "${stray}": options start with - (see polytop --help)`);
  }
  if (word === "doctor") return doctorOptions(flags);
  if (word === "record") return recordOptions(flags, program);
  reject(flags, ["output"], "belongs to `polytop record`");
  return { command: "run", ...showOptions(flags), ...sampleOptions(flags, program) };
}

/** `-p1,2` as `--pid=1,2`: the parser of the command line takes apart what is no plain number. */
function detach(argv: readonly string[]): string[] {
  const end = argv.includes("--") ? argv.indexOf("--") : argv.length;
  return argv.map((word, i) => {
    const found =
      i < end
        ? DEFINITIONS.find(
            ([, { type, shortFlag }]) => type === "string" && word.startsWith(`-${shortFlag}`),
          )
        : undefined;
    return found && word.length > 2
      ? `${dashed(found[0])}=${word.slice(2).replace(/^=/, "")}`
      : word;
  });
}

/** Refuses `--once=3` and `-b3`: the parser of the command line takes them for other things, in silence. */
function refuseValues(words: readonly string[]): void {
  for (const word of words.slice(0, words.includes("--") ? words.indexOf("--") : undefined)) {
    const given = /^(--[^=]+)=(.*)$/s.exec(word) ?? /^-[a-z]*([a-z])(\d.*)$/is.exec(word);
    const found = DEFINITIONS.find(
      ([key, { type, shortFlag }]: [Key, OptionDefinition]) =>
        type === "boolean" && given && [dashed(key), shortFlag].includes(given[1]),
    );
    if (found && given?.[2] !== "true" && given?.[2] !== "false") {
      throw new UsageError(`${dashed(found[0])} takes no value, not "${given?.[2]}"`);
    }
  }
}

function read(argv: readonly string[]): { input: readonly string[]; flags: Flags } {
  const flags = Object.fromEntries(
    DEFINITIONS.map(([key, { type, shortFlag }]) => [
      key,
      { type, ...(shortFlag ? { shortFlag } : {}) },
    ]),
  );
  const words = detach(argv);
  refuseValues(words);
  try {
    const result = meow("", {
      importMeta: import.meta,
      argv: words,
      flags,
      // The package as bundled: nothing is to be searched for on the disk.
      pkg: { name: packageJson.name, version: packageJson.version },
      description: false,
      autoHelp: false,
      autoVersion: false,
      // Not its default of false: what was not typed must be told from --no-….
      booleanDefault: undefined,
    });
    const unknown = Object.keys(result.flags).find((key) => !Object.hasOwn(OPTIONS, key));
    if (unknown !== undefined) {
      const name = unknown.length === 1 ? `-${unknown}` : dashed(unknown);
      throw new UsageError(`unknown option ${name} (see polytop --help)`);
    }
    return { input: result.input.map(String), flags: new Flags(result.flags) };
  } catch (error) {
    const twice = /^The flag --(\w+) can only be set once/.exec(String((error as Error).message));
    if (twice?.[1]) throw new UsageError(`${dashed(twice[1])} is given more than once`);
    throw error;
  }
}

function reject(flags: Flags, keys: readonly Key[], why: string): void {
  const given = keys.find((key) => flags.has(key));
  if (given !== undefined) throw new UsageError(`${dashed(given)} ${why}`);
}

function recordOptions(flags: Flags, program?: readonly string[]): RecordOptions {
  reject(flags, ["batch", "json", "folded"], "prints refreshes: `polytop record` prints nothing");
  reject(
    flags,
    ["sort", "rows", "readableNames"],
    "is about what is shown: `polytop replay` shows a recording",
  );
  const output = flags.text("output");
  if (output === undefined) throw new UsageError("record needs a file: polytop record -o FILE");
  const shown = showOptions(flags);
  if (shown.filter && Object.keys(shown.exports).length === 0) {
    throw new UsageError("--filter is about what is shown: a recording holds all, use --pid");
  }
  return { command: "record", output, ...shown, ...sampleOptions(flags, program) };
}

function replayOptions(words: readonly string[], flags: Flags): ReplayOptions {
  const [file, stray] = words;
  if (file === undefined || file === "") {
    throw new UsageError("replay needs a recording: polytop replay FILE");
  }
  if (stray !== undefined) throw new UsageError(`replay takes one recording, not "${stray}" too`);
  reject(
    flags,
    ["frequency", "event", "count"],
    "is about sampling: a recording is not sampled again",
  );
  if (flags.isOff("cache"))
    throw new UsageError("--no-cache is about sampling: a recording needs no tables");
  reject(flags, ["output"], "belongs to `polytop record`");
  return { command: "replay", file, ...showOptions(flags), delaySeconds: delaySeconds(flags) };
}

function doctorOptions(flags: Flags): Options {
  for (const [key] of DEFINITIONS) {
    if (key !== "json" && key !== "color" && flags.has(key)) {
      throw new UsageError(`doctor takes --json and nothing else, not ${dashed(key)}`);
    }
  }
  return { command: "doctor", json: flags.boolean("json") };
}

function listOptions(words: readonly string[], flags: Flags): ListOptions {
  for (const [key] of DEFINITIONS) {
    if (key !== "pid" && key !== "color" && flags.has(key)) {
      throw new UsageError(`list takes --pid and nothing else, not ${dashed(key)}`);
    }
  }
  const kind = LIST_KINDS.find((name) => name === words[0]);
  const [pattern = "*", stray] = kind ? words.slice(1) : words;
  if (stray !== undefined) throw new UsageError(`list takes one pattern, not "${stray}" too`);
  return { command: "list", kind, pattern, pids: pids(flags.text("pid")) };
}

const delaySeconds = (flags: Flags): number | undefined =>
  flags.number("delay", 0.1, 60, "decimal");

function sampleOptions(flags: Flags, program: readonly string[] | undefined): SampleOptions {
  if (program && !program[0]) throw new UsageError("-- needs a command: polytop -- COMMAND ARG…");
  if (program) reject(flags, ["pid"], "and a command exclude each other: choose one");
  const events = parseEvents(flags.text("event") ?? CPU_TIME);
  const count = flags.number("count", 1, 1e12, "whole");
  if (count !== undefined) {
    if (flags.has("frequency")) {
      throw new UsageError("--count and --frequency exclude each other: choose one");
    }
    if (isTimeOnly(events)) {
      throw new UsageError("--count is for events that are counted (-e): time has --frequency");
    }
  }
  const standard = isTimeOnly(events) ? DEFAULT_HZ : EVENT_HZ;
  const frequency = flags.number("frequency", 1, 9999, "whole") ?? standard;
  return {
    delaySeconds: delaySeconds(flags) ?? 1,
    frequency,
    events,
    count,
    program,
    cache: !flags.isOff("cache"),
    arguments: !flags.isOff("arguments"),
  };
}

/** A line of JSON holds so many stacks of a function at most. */
const MOST_STACKS = 1000;

function showOptions(flags: Flags): ShowOptions {
  const filter = flags.text("filter") ?? "";
  const parsed = parseFilter(filter);
  if ("error" in parsed) throw new UsageError(`--filter: ${parsed.error}`);
  const sort = flags.text("sort") ?? "self";
  if (!isSortKey(sort)) {
    throw new UsageError(`--sort is one of ${SORT_KEYS.join(", ")}, not "${sort}"`);
  }
  return {
    format: format(flags),
    pids: pids(flags.text("pid")),
    filter,
    sort,
    iterations: iterations(flags),
    rows: flags.number("rows", 0, Number.MAX_SAFE_INTEGER, "whole") ?? 50,
    stacks: flags.number("stacks", 0, MOST_STACKS, "whole") ?? 0,
    kernel: !flags.isOff("kernel"),
    nativeFrames: flags.boolean("nativeFrames"),
    physical: flags.isOff("async"),
    idle: flags.boolean("idle"),
    readableNames: flags.boolean("readableNames"),
    color: !flags.isOff("color"),
    ascii: flags.boolean("ascii"),
    light: flags.boolean("light"),
    dark: flags.boolean("dark"),
    exports: exportPaths(flags),
  };
}

function exportPaths(flags: Flags): ExportPaths {
  const paths: Partial<Record<ExportName, string>> = {};
  for (const name of EXPORT_NAMES) {
    const path = flags.text(name);
    if (path !== undefined) paths[name] = path;
  }
  return paths;
}

const isSortKey = (text: string): text is SortKey =>
  (SORT_KEYS as readonly string[]).includes(text);

function format(flags: Flags): Format {
  if (flags.boolean("json") && flags.boolean("folded")) {
    throw new UsageError("--json and --folded exclude each other: choose one");
  }
  if (flags.boolean("json")) return "json";
  if (flags.boolean("folded")) return "folded";
  return flags.boolean("batch") || flags.boolean("once") ? "batch" : "live";
}

function iterations(flags: Flags): number | undefined {
  const count = flags.number("iterations", 1, Number.MAX_SAFE_INTEGER, "whole");
  if (!flags.boolean("once")) return count;
  if (count !== undefined && count !== 1) {
    throw new UsageError("--once is one refresh: leave it out to have -n");
  }
  return 1;
}

function pids(text: string | undefined): readonly number[] {
  if (text === undefined) return [];
  const found = text.split(",").map(parsePid);
  if (!found.every((pid) => pid !== undefined)) {
    throw new UsageError(`--pid is a list like 42,43, not "${text}"`);
  }
  const unique = [...new Set(found)];
  if (unique.length > MAX_PIDS) throw new UsageError(`--pid takes at most ${MAX_PIDS} processes`);
  return unique;
}
