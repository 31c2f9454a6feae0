/** Reads what may be gone by then, as the files of a process that ends. */
import { closeSync, openSync, readFileSync, readlinkSync, readSync } from "node:fs";

const CHUNK_BYTES = 64 * 1024;

/** The text of a file; undefined where it cannot be read. */
export function readText(path: string, encoding: "utf8" | "latin1" = "utf8"): string | undefined {
  try {
    return readFileSync(path, encoding);
  } catch {
    return undefined;
  }
}

/** So many bytes at most of the start of a file, one character for each; undefined where it cannot be read. */
export function readStart(path: string, most: number): string | undefined {
  const chunk = Buffer.allocUnsafe(Math.min(most, CHUNK_BYTES));
  try {
    const descriptor = openSync(path, "r");
    try {
      let text = "";
      while (text.length < most) {
        const got = readSync(
          descriptor,
          chunk,
          0,
          Math.min(chunk.length, most - text.length),
          null,
        );
        if (got === 0) break;
        text += chunk.toString("latin1", 0, got);
      }
      return text;
    } finally {
      closeSync(descriptor);
    }
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
