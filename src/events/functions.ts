/** Functions of programs and of the kernel, and probes that are written into programs: where they are. */
import { existsSync, readFileSync } from "node:fs";
import type { Addon } from "../addon/binding.ts";
import { EVENT_KINDS, type FileProbes, type ResolvedEvent } from "../addon/events.ts";
import { EXIT_CANNOT, UserError } from "../tick/errors.ts";
import type { EventRequest } from "../tick/event-request.ts";
import { closest } from "./closest.ts";
import { COMMON_LIBRARIES, findFile, mappedFiles } from "./loader-cache.ts";
import { isGlob, isRegex, matcher } from "./pattern.ts";

/** So many functions are probed at once: more slow down whoever runs them, and the kernel takes long to set them. */
const MOST_FUNCTIONS = 2000;
/** One by one, as kernels before 6.6 want it. */
const MOST_LINKS = 300;

/** Names in a notice. */
const NAMED = 5;

const cannot = (text: string): UserError => new UserError(text, EXIT_CANNOT);

/** A function that was found. */
export interface FoundFunction {
  readonly path: string;
  /** As people write it. */
  readonly name: string;
  readonly offset: number;
  readonly isChooser: boolean;
}

/** Files in which what nobody names a file for is looked for. */
export function filesFor(
  file: string | undefined,
  pids: readonly number[],
  text: string,
): string[] {
  if (file !== undefined) {
    const found = findFile(file);
    if (found === undefined) {
      throw cannot(`${text}: there is no file, program of PATH or library ${file}`);
    }
    return [found];
  }
  const mapped = pids.flatMap(mappedFiles);
  if (mapped.length > 0) return mapped;
  return COMMON_LIBRARIES.flatMap((name) => findFile(name) ?? []);
}

/** The functions of a file that a pattern stands for, by their raw names or by those that people write. */
export function functionsIn(path: string, pattern: string, addon: Addon): FoundFunction[] {
  const { names, offsets, choosers } = addon.listFunctions(path);
  const matches = matcher(pattern);
  const row = (place: number, name: string): FoundFunction => ({
    path,
    name,
    offset: offsets[place] ?? 0,
    isChooser: choosers[place] === 1,
  });
  const raw = names.flatMap((name, place) => (matches(name) ? [row(place, name)] : []));
  if (raw.length > 0 && !isGlob(pattern) && !isRegex(pattern)) return raw;
  const written = addon.demangle(names);
  const found = written.flatMap((name, place) => {
    if (name === names[place]) return [];
    // A name may be written with its parameters or without them.
    return matches(name) || matches(name.replace(/\(.*$/s, "")) ? [row(place, name)] : [];
  });
  return [...raw, ...found];
}

/** Files with the places to probe in each, each place once. */
function byFile(
  found: readonly { path: string; offset: number; semaphore?: number }[],
): FileProbes[] {
  const files = new Map<string, Map<number, number>>();
  for (const { path, offset, semaphore = 0 } of found) {
    const places = files.get(path) ?? new Map<number, number>();
    files.set(path, places.set(offset, semaphore));
  }
  return [...files].map(([path, places]) => ({
    path,
    places: [...places].map(([offset, semaphore]) => ({ offset, semaphore })),
  }));
}

function checkCount(text: string, files: readonly FileProbes[], isMany: boolean): number {
  const count = files.reduce((sum, { places }) => sum + places.length, 0);
  const most = isMany ? MOST_FUNCTIONS : MOST_LINKS;
  if (count > most) {
    throw cannot(
      `${text} stands for ${count} functions, more than the ${most} that are probed at once: make it narrower`,
    );
  }
  return count;
}

/** From 6.6 on the kernel probes many functions with one link. */
function hasMultiProbes(): boolean {
  const release = readFileSync("/proc/sys/kernel/osrelease", "utf8");
  const [major = 0, minor = 0] = release.split(".").map(Number);
  return major > 6 || (major === 6 && minor >= 6);
}

function checkUprobes(text: string): void {
  if (existsSync("/sys/bus/event_source/devices/uprobe")) return;
  throw cannot(`${text}: this kernel was built without uprobes (CONFIG_UPROBE_EVENTS)`);
}

export function resolveFunction(
  { text, file, pattern, isReturn }: EventRequest & { kind: "function" },
  pids: readonly number[],
  addon: Addon,
): ResolvedEvent {
  checkUprobes(text);
  const files = filesFor(file, pids, text);
  const found = eachFile(files, text, (path) => functionsIn(path, pattern, addon));
  if (found.length === 0) throw cannot(whyNone(text, pattern, files, addon));
  const choosers = found.filter(({ isChooser }) => isChooser);
  if (choosers.length === found.length) {
    throw cannot(
      `${text}: the C library chooses at the start which function ${choosers[0]?.name} is: probe those, e.g. uprobe:${file ?? "libc"}:__${pattern}_*`,
    );
  }
  const probed = byFile(found.filter(({ isChooser }) => !isChooser));
  const count = checkCount(text, probed, hasMultiProbes());
  const kind = isReturn ? EVENT_KINDS.return : EVENT_KINDS.function;
  return {
    name: text,
    unit: "events",
    setup: { name: text, kind, files: probed },
    ...(count > 1 ? { notice: `${text}: ${count} functions: ${someOf(found)}` } : {}),
  };
}

/** What is found in files; one that cannot be read is told of where nothing is found in others. */
function eachFile<T>(files: readonly string[], text: string, find: (path: string) => T[]): T[] {
  let failure: Error | undefined;
  const found = files.flatMap((path) => {
    try {
      return find(path);
    } catch (error) {
      if (error instanceof UserError) throw error;
      failure = error as Error;
      return [];
    }
  });
  if (found.length === 0 && failure) throw cannot(`${text}: ${failure.message}`);
  return found;
}

function someOf(found: readonly FoundFunction[]): string {
  const names = [...new Set(found.map(({ name }) => name))];
  const more = names.length > NAMED ? ` and ${names.length - NAMED} more` : "";
  return `${names.slice(0, NAMED).join(", ")}${more}`;
}

function whyNone(text: string, pattern: string, files: readonly string[], addon: Addon): string {
  const where = files.length === 1 ? files[0] : `the ${files.length} files that were searched`;
  if (isGlob(pattern) || isRegex(pattern)) return `${text}: no function of ${where} matches`;
  const names = eachFile(files, text, (path) => addon.listFunctions(path).names.slice());
  const near = closest(pattern, new Set(names));
  const hint =
    near.length > 0
      ? `did you mean ${near.join(" or ")}?`
      : "a function of Perl, Python or .NET has no place in a file that a probe could reach; inlined functions have none either";
  return `${text}: ${where} has no function ${pattern}\n${hint}`;
}

export function resolveStaticProbe(
  { text, file, provider, probe }: EventRequest & { kind: "usdt" },
  pids: readonly number[],
  addon: Addon,
): ResolvedEvent {
  checkUprobes(text);
  const files = filesFor(file, pids, text);
  const [isProvider, isProbe] = [matcher(provider), matcher(probe)];
  const all = eachFile(files, text, (path) =>
    addon.listStaticProbes(path).map((one) => ({ ...one, path })),
  );
  const found = all.filter((one) => isProvider(one.provider) && isProbe(one.name));
  if (found.length === 0) {
    const names = [...new Set(all.map((one) => `${one.provider}:${one.name}`))];
    const near = closest(`${provider}:${probe}`, names);
    const has = near.length > 0 ? `did you mean ${near.join(" or ")}?` : `it has ${names.length}`;
    throw cannot(
      names.length === 0
        ? `${text}: ${files.join(", ") || "no file"} has no static probes (USDT)`
        : `${text}: there is no such static probe; ${has}`,
    );
  }
  const probed = byFile(found);
  checkCount(text, probed, hasMultiProbes());
  return {
    name: text,
    unit: "events",
    setup: { name: text, kind: EVENT_KINDS.function, files: probed },
  };
}

/** Functions of the kernel that may be probed have symbols of code. */
export function kernelFunctions(): string[] {
  return readFileSync("/proc/kallsyms", "latin1")
    .split("\n")
    .flatMap((line) => /^\S+ [tT] (\S+)/.exec(line)?.[1] ?? []);
}

export function resolveKernelFunction({
  text,
  pattern,
  isReturn,
}: EventRequest & { kind: "kernel-function" }): ResolvedEvent {
  if (!existsSync("/sys/bus/event_source/devices/kprobe")) {
    throw cannot(
      `${text}: this kernel was built without kprobes (CONFIG_KPROBES)\nTracepoints may tell the same: \`polytop list events\``,
    );
  }
  const all = new Set(kernelFunctions());
  const found = [...all].filter(matcher(pattern));
  if (found.length === 0) {
    const near = closest(pattern, all);
    const hint = near.length > 0 ? `\ndid you mean ${near.join(" or ")}?` : "";
    throw cannot(`${text}: this kernel has no function ${pattern}${hint}`);
  }
  if (found.length > MOST_LINKS) {
    throw cannot(
      `${text} stands for ${found.length} functions, more than the ${MOST_LINKS} that are probed at once: make it narrower`,
    );
  }
  const kind = isReturn ? EVENT_KINDS.kernelReturn : EVENT_KINDS.kernelFunction;
  return { name: text, unit: "events", setup: { name: text, kind, functions: found } };
}
