/** `--pprof` and `--speedscope`: files that are written at the end of a run. */
import { accessSync, constants, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { UserError } from "../tick/errors.ts";
import type { Tick } from "../tick/tick.ts";
import { pprofFile } from "./pprof.ts";
import { type ProfileOptions, RunProfile } from "./run-profile.ts";
import { speedscopeFile } from "./speedscope.ts";

/** Which files to write; undefined: none of that kind. */
export interface ExportPaths {
  readonly pprof: string | undefined;
  readonly speedscope: string | undefined;
}

/** Collects a run for its exports. */
export class Exports {
  readonly #paths: ExportPaths;
  readonly #profile: RunProfile;

  /** Throws a UserError where a file could not be written later. */
  constructor(paths: ExportPaths, options: ProfileOptions) {
    this.#paths = paths;
    this.#profile = new RunProfile(options);
    for (const path of [paths.pprof, paths.speedscope]) if (path !== undefined) check(path);
  }

  add(tick: Tick): void {
    this.#profile.add(tick);
  }

  /** Writes the files; throws a UserError that names the one that could not be. */
  write(): void {
    const { pprof, speedscope } = this.#paths;
    if (pprof !== undefined) replaceFile(pprof, pprofFile(this.#profile));
    if (speedscope !== undefined) replaceFile(speedscope, speedscopeFile(this.#profile));
  }
}

/** Said before anything is sampled, not after an hour. */
function check(path: string): void {
  try {
    if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) throw new Error("is a directory");
    accessSync(dirname(path), constants.W_OK);
  } catch (error) {
    throw new UserError(`cannot write ${path}: ${(error as Error).message}`);
  }
}

/** Writes a file as a whole or not at all: what was there stays until the new one is complete. */
function replaceFile(path: string, content: Buffer | string): void {
  const isSpecial = statSync(path, { throwIfNoEntry: false })?.isFile() === false;
  const target = isSpecial ? path : `${path}.${process.pid}.new`;
  try {
    writeFileSync(target, content, { flag: isSpecial ? "w" : "wx" });
    if (!isSpecial) renameSync(target, path);
  } catch (error) {
    if (!isSpecial) rmSync(target, { force: true });
    const { code, message } = error as NodeJS.ErrnoException;
    throw new UserError(
      `cannot write ${path}: ${code === "ENOSPC" ? "the disk is full" : message}`,
    );
  }
}
