/** What `polytop list` prints: events, functions and static probes that match, each as `-e` takes it. */
import type { Addon } from "../addon/binding.ts";
import { cleanName } from "../tick/clean-name.ts";
import { EXIT_CANNOT, UserError } from "../tick/errors.ts";
import { LIST_KINDS, type ListKind } from "../tick/event-request.ts";
import { COUNTER_ROWS, EVENT_NAMES, PERF_TYPE_SOFTWARE } from "../tick/events.ts";
import { exactName, functionsIn } from "./functions.ts";
import { hasKprobes, kernelFunctions } from "./kernel-functions.ts";
import { isGlob, isRegex, type Matches, matcher } from "./pattern.ts";
import { filesFor } from "./probed-files.ts";
import { hasCounters } from "./resolve.ts";
import { Tracepoints } from "./tracepoints.ts";

/** What is wanted; a file before a colon in the pattern narrows functions and static probes to it. */
export interface ListRequest {
  /** Undefined: all of them. */
  readonly kind: ListKind | undefined;
  /** A part of a name, a glob or a /regular expression/. */
  readonly pattern: string;
  readonly pids: readonly number[];
}

const KIND_WORDS: Readonly<Record<ListKind, string>> = {
  events: "events",
  functions: "functions",
  usdt: "static probes",
};

/** Whoever searches has only a part of a name. */
const searcher = (pattern: string): Matches =>
  matcher(isGlob(pattern) || isRegex(pattern) ? pattern : `*${pattern}*`);

/** Lists what matches, a line each. Throws a UserError where nothing does, or where a file is not there. */
export function list({ kind, pattern, pids }: ListRequest, addon: Addon): string[] {
  const lines = (kind ? [kind] : LIST_KINDS).flatMap((one) => LISTS[one](pattern, pids, addon));
  if (lines.length > 0) return [...new Set(lines)];
  throw new UserError(
    `no ${kind ? KIND_WORDS[kind] : "events, functions or static probes"} match ${pattern}`,
    EXIT_CANNOT,
  );
}

const LISTS: Readonly<
  Record<ListKind, (pattern: string, pids: readonly number[], addon: Addon) => string[]>
> = {
  events: (pattern, _pids, addon) => {
    const counters = [...COUNTER_ROWS]
      .filter(([, { type }]) => type === PERF_TYPE_SOFTWARE || hasCounters())
      .map(([name]) => name);
    return [...EVENT_NAMES, ...counters, ...tracepoints(addon)].filter(searcher(pattern));
  },
  functions: (pattern, pids, addon) => {
    const { file, rest } = splitFile(pattern);
    const sought = isGlob(rest) || isRegex(rest) ? rest : `*${rest}*`;
    const inFiles = eachReadable(filesFor(file, { addon, pids }, pattern), (path) =>
      functionsIn(path, sought, addon).map((one) => `uprobe:${path}:${exactName(one)}`),
    );
    const ofKernel =
      file === undefined && pids.length === 0 && hasKprobes() ? kernelFunctions() : [];
    return [...inFiles, ...ofKernel.filter(searcher(rest)).map((name) => `kprobe:${name}`)].map(
      cleanName,
    );
  },
  usdt: (pattern, pids, addon) => {
    const { file, rest } = splitFile(pattern);
    const matches = searcher(rest);
    return eachReadable(filesFor(file, { addon, pids }, pattern), (path) =>
      addon
        .listStaticProbes(path)
        .map(({ provider, name }) => `${provider}:${name}`)
        .filter(matches)
        .map((name) => `usdt:${path}:${name}`),
    ).map(cleanName);
  },
};

/** A machine without a file system for tracing has other events all the same. */
function tracepoints(addon: Addon): string[] {
  try {
    return new Tracepoints(addon).names();
  } catch (error) {
    if (error instanceof UserError) return [];
    throw error;
  }
}

/** The file before the first colon that stands alone: names of C++ and Rust hold `::`. */
function splitFile(pattern: string): { file: string | undefined; rest: string } {
  const [, file, rest = ""] = /^([^:/*?[][^:]*|\/[^:]*):(?!:)(.*)$/s.exec(pattern) ?? [];
  return file === undefined ? { file, rest: pattern } : { file, rest: rest || "*" };
}

/** What is found in files; one that cannot be read is left out. */
function eachReadable(files: readonly string[], find: (path: string) => string[]): string[] {
  return files.flatMap((path) => {
    try {
      return find(path);
    } catch (error) {
      if (error instanceof UserError) throw error;
      return [];
    }
  });
}
