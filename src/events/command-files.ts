/** Files that a command will execute: known before it starts. */
import { closeSync, openSync, readSync, realpathSync } from "node:fs";
import { dirname } from "node:path";
import type { Addon } from "../addon/binding.ts";
import { findProgram, isFile, libraryFolders } from "./loader-cache.ts";

/** Scripts may be run by scripts. */
const MOST_SCRIPTS = 4;
const MOST_FILES = 500;
/** A command may be run by others: `nice env A=b perl`. */
const MOST_PROGRAMS = 4;

/** Linux takes so much of a first line (BINPRM_BUF_SIZE). */
const FIRST_LINE_BYTES = 256;

/** The beginning of a file; nothing where it cannot be read. */
function startOf(path: string): string {
  try {
    const file = openSync(path, "r");
    try {
      const bytes = Buffer.alloc(FIRST_LINE_BYTES);
      return bytes.toString("latin1", 0, readSync(file, bytes, 0, FIRST_LINE_BYTES, 0));
    } finally {
      closeSync(file);
    }
  } catch {
    return "";
  }
}

/** What a script says that it is to be run by, as `#!/usr/bin/env -S perl -w` does. */
export function interpreterOf(start: string): string[] {
  const words = /^#!\s*([^\n]*)/.exec(start)?.[1]?.trim().split(/\s+/) ?? [];
  const [program = ""] = words;
  if (program === "") return [];
  if (!/\/env$/.test(program)) return [program];
  const name = words.slice(1).find((word) => !word.startsWith("-") && !word.includes("="));
  return name ? [program, name] : [program];
}

/** The files that a program and its libraries need, by the folders in which the loader looks for them. */
function needed(path: string, addon: Addon): string[] {
  const { interpreter, libraries, folders } = addon.listNeededFiles(path);
  const own = folders.map((folder) => folder.replace(/\$ORIGIN|\$\{ORIGIN\}/g, dirname(path)));
  const told = (process.env.LD_LIBRARY_PATH ?? "").split(":").filter((folder) => folder !== "");
  const places = [...own, ...told, ...libraryFolders()];
  const find = (name: string): string[] => {
    const paths = name.includes("/") ? [name] : places.map((folder) => `${folder}/${name}`);
    return paths.filter(isFile).slice(0, 1);
  };
  return [...(interpreter ? [interpreter] : []), ...libraries].flatMap(find);
}

/** Programs and libraries that a command starts with, in the order in which they were found. */
export function filesOfCommand([program = ""]: readonly string[], addon: Addon): string[] {
  const found = new Set<string>();
  const add = (path: string | undefined): void => {
    if (path === undefined || !isFile(path) || found.size >= MOST_FILES) return;
    const real = realpathSync(path);
    if (found.has(real)) return;
    found.add(real);
    try {
      for (const next of needed(real, addon)) add(next);
    } catch {
      // It is no program for this processor, and the kernel will say so.
      found.delete(real);
    }
  };
  let words = [program];
  for (let depth = 0; depth <= MOST_SCRIPTS && words.length > 0; depth++) {
    const paths = words.flatMap((word) => findProgram(word) ?? []);
    words = paths.flatMap((path) => interpreterOf(startOf(path)));
    for (const path of paths) add(path);
  }
  return [...found];
}

/**
 * The same for a command that others run, as `perf stat`, `env`, `nice` and `timeout 5` do: of the programs too that
 * its words name. A word that means something else costs the reading of a file.
 */
export function filesOfWords(words: readonly string[], addon: Addon): string[] {
  const programs = words.filter((word) => findProgram(word) !== undefined);
  const files = programs.slice(0, MOST_PROGRAMS).flatMap((word) => filesOfCommand([word], addon));
  return [...new Set(files)];
}
