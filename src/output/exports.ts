/** Files that are written at the end of a run, in the formats of ./formats.ts. */
import { accessSync, closeSync, constants, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import type { Choice } from "../model/selection.ts";
import { createFile, nameBeside, openSpecial, placeToWrite } from "../recording/own-file.ts";
import { UserError } from "../tick/errors.ts";
import type { Tick } from "../tick/tick.ts";
import { EXPORT_FORMATS, EXPORT_NAMES, type ExportPaths } from "./formats.ts";
import { RunProfile } from "./run-profile.ts";

/** A file with what makes its content. */
interface Export {
  readonly path: string;
  readonly encode: (profile: RunProfile) => Buffer | string;
}

/** Collects a run for its exports. */
export class Exports {
  readonly #exports: readonly Export[];
  readonly #profile: RunProfile;

  private constructor(exports: readonly Export[], choice: Choice) {
    this.#exports = exports;
    this.#profile = new RunProfile(choice);
  }

  /** Rejects with a UserError where a file could not be written later. */
  static async open(paths: ExportPaths, choice: Choice): Promise<Exports> {
    const exports: Export[] = [];
    for (const name of EXPORT_NAMES) {
      const path = paths[name];
      if (path === undefined) continue;
      check(path);
      exports.push({ path, encode: await EXPORT_FORMATS[name].load() });
    }
    return new Exports(exports, choice);
  }

  add(tick: Tick): void {
    this.#profile.add(tick);
  }

  /** Writes the files; throws a UserError that names the one that could not be. */
  write(): void {
    for (const { path, encode } of this.#exports) replaceFile(path, encode(this.#profile));
  }
}

/** Said before anything is sampled, not after an hour. */
function check(path: string): void {
  try {
    const place = placeToWrite(path);
    if (!place.isSpecial) accessSync(dirname(place.path), constants.W_OK);
  } catch (error) {
    throw new UserError(`cannot write ${path}: ${(error as Error).message}`);
  }
}

/** Writes a file as a whole or not at all: what was there stays until the new one is complete. */
function replaceFile(path: string, content: Buffer | string): void {
  let temporary: string | undefined;
  try {
    // Another one may be there by now.
    const place = placeToWrite(path);
    const beside = nameBeside(place.path);
    const file = place.isSpecial ? openSpecial(place.path) : createFile(beside);
    if (!place.isSpecial) temporary = beside;
    try {
      writeFileSync(file, content);
    } finally {
      closeSync(file);
    }
    if (!place.isSpecial) renameSync(beside, place.path);
  } catch (error) {
    if (temporary !== undefined) rmSync(temporary, { force: true });
    const { code, message } = error as NodeJS.ErrnoException;
    throw new UserError(
      `cannot write ${path}: ${code === "ENOSPC" ? "the disk is full" : message}`,
    );
  }
}
