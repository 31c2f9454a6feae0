/** Reads what may be gone by then, as the files of a process that ends. */
import { readFileSync, readlinkSync } from "node:fs";

/** The text of a file; undefined where it cannot be read. */
export function readText(path: string, encoding: "utf8" | "latin1" = "utf8"): string | undefined {
  try {
    return readFileSync(path, encoding);
  } catch {
    return undefined;
  }
}

/** What a link says; undefined where it cannot be read. */
export function readLink(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    return undefined;
  }
}
