/** What is made of an image is kept on the disk from run to run. */
import { statSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** Where bytes that belong to an image are kept. */
export interface KeptBytes {
  /** What was written last, in this run or an earlier one; empty where nothing is kept. */
  read(): Buffer;
  write(bytes: Buffer): void;
}

/** The file that this code is in; undefined where it was taken away since. */
const CODE = statSync(fileURLToPath(import.meta.url), { bigint: true, throwIfNoEntry: false });

/** Tells what this code makes from what other versions make, by when it was installed. */
export const makerOf = (what: string): string => `${what} ${CODE?.ctimeNs ?? Date.now()}`;
