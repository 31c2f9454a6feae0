/** Files in which places to probe are looked for. */
import { existsSync } from "node:fs";
import { basename } from "node:path";
import type { Addon } from "../addon/binding.ts";
import type { FileProbes } from "../addon/events.ts";
import { EXIT_CANNOT, UserError } from "../tick/errors.ts";
import { filesOfCommand } from "./command-files.ts";
import { COMMON_LIBRARIES, findFile, isNamed, mappedFiles } from "./loader-cache.ts";

/** What a search needs to know of the run. */
export interface SearchContext {
  readonly addon: Addon;
  /** Processes that sampling is narrowed to. */
  readonly pids: readonly number[];
  /** The command that is to be started. */
  readonly program?: readonly string[] | undefined;
}

/** So many functions are probed at once: more slow down whoever runs them, and the kernel takes long to set them. */
const MOST_PLACES = 2000;
/** One by one, as kernels before 6.6 want it. */
export const MOST_LINKS = 300;

/** The error that what was asked for cannot be counted here. */
export const cannot = (text: string): UserError => new UserError(text, EXIT_CANNOT);

/** Throws a UserError where this kernel probes no programs. */
export function checkUprobes(text: string): void {
  if (existsSync("/sys/bus/event_source/devices/uprobe")) return;
  throw cannot(`${text}: this kernel was built without uprobes (CONFIG_UPROBE_EVENTS)`);
}

/** The file that was named, else those of the processes or of the command that are sampled, else common libraries. */
export function filesFor(file: string | undefined, context: SearchContext, text: string): string[] {
  const { addon, pids, program } = context;
  const own =
    pids.length > 0 ? pids.flatMap(mappedFiles) : program ? filesOfCommand(program, addon) : [];
  if (file === undefined) {
    return own.length > 0 ? own : COMMON_LIBRARIES.flatMap((name) => findFile(name) ?? []);
  }
  // What runs may have other libraries than this machine: those of its container.
  const meant = file.includes("/") ? [] : own.filter((path) => isNamed(basename(path), file));
  if (meant.length > 0) return meant;
  const found = findFile(file);
  if (found !== undefined) return [found];
  throw cannot(`${text}: there is no file, program of PATH or library ${file}`);
}

/** What is found in files; one that cannot be read is told of where nothing is found in others. */
export function eachFile<T>(
  files: readonly string[],
  text: string,
  find: (path: string) => readonly T[],
): T[] {
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

/** A place in a file, with the counter that tells the program of a probe. */
interface Place {
  readonly path: string;
  readonly offset: number;
  readonly semaphore?: number;
}

/** Files with the places to probe in each, each place once. Throws a UserError where they are too many. */
export function placesByFile(text: string, found: readonly Place[], addon: Addon): FileProbes[] {
  const files = new Map<string, Map<number, number>>();
  let count = 0;
  for (const { path, offset, semaphore = 0 } of found) {
    const places = files.get(path) ?? new Map<number, number>();
    if (!places.has(offset)) count++;
    files.set(path, places.set(offset, semaphore));
  }
  const most = addon.hasMultiProbes() ? MOST_PLACES : MOST_LINKS;
  if (count > most) {
    throw cannot(
      `${text} stands for ${count} places, more than the ${most} that are probed at once: make it narrower`,
    );
  }
  return [...files].map(([path, places]) => ({
    path,
    places: [...places].map(([offset, semaphore]) => ({ offset, semaphore })),
  }));
}

/** How files that were searched are told of. */
export const filesInWords = (files: readonly string[]): string =>
  files.length === 1 ? (files[0] ?? "") : `the ${files.length} files that were searched`;
