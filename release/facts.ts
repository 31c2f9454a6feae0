/** What all parts of a release say of it. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../test/support/polytop.ts";
import { BASELINE } from "./native/baseline.ts";
import { sh } from "./shell.ts";

const packageJson = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
  readonly version: string;
  readonly description: string;
  readonly license: string;
};

/** The oldest glibc that a release starts on. */
export const GLIBC = BASELINE.GLIBC ?? "";
/** Where the parts of a release are put together. */
export const WORK = join(root, "build/release");
/** Where its files are put. */
export const OUT = join(root, "out");

export interface ReleaseFacts {
  readonly version: string;
  readonly description: string;
  /** What was built; one with changes that are in no commit ends in `-dirty`. */
  readonly commit: string;
  /** Seconds since 1970 of the commit: the time of all files. */
  readonly epoch: number;
  /** Small files for a test: packed fast. */
  readonly isQuick: boolean;
}

/** Reads them from the clone. */
export async function readReleaseFacts(isQuick: boolean): Promise<ReleaseFacts> {
  const commit = await sh("git describe --always --abbrev=40 --match= --dirty");
  const epoch = Number(await sh("git log -1 --format=%ct"));
  const { version, description } = packageJson;
  return { version, description, commit: commit.trim(), epoch, isQuick };
}
