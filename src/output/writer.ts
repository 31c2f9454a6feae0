/**
 * Writes plain output without ever waiting for its reader. Node writes to a pipe synchronously: a
 * reader that stops reading, say a pager, would stop polytop too, and no signal could end it.
 */
import { constants, fstatSync, openSync } from "node:fs";
import { Socket } from "node:net";
import type { Writable } from "node:stream";

/** What a reader that is slow may leave waiting; refreshes beyond that are left out, and said so. */
const MAX_WAITING_BYTES = 16 * 1024 * 1024;

/** How long what is left to print may take after a signal. */
const GRACE_MS = 500;

/** Where plain output goes. */
export interface Writer {
  write(text: string): void;
  /** Resolves when the reader has caught up: for a source that can wait. */
  ready(signal: AbortSignal): Promise<void>;
  /** Resolves when all is written, or soon after the signal when the reader does not take it. */
  close(signal: AbortSignal): Promise<void>;
}

/** Standard output: for a pipe an own, non-blocking way into it, which no other process shares. */
export function openStdout(): Writable {
  try {
    if (!fstatSync(1).isFIFO()) return process.stdout;
    const fd = openSync("/proc/self/fd/1", constants.O_WRONLY | constants.O_NONBLOCK);
    return new Socket({ fd, readable: false, writable: true });
  } catch {
    return process.stdout;
  }
}

/** A writer into a stream; `warn` is called once when something had to be left out. */
export function makeWriter(stream: Writable, warn: (text: string) => void): Writer {
  let isBehind = false;
  return {
    write: (text) => {
      if (isDead(stream)) return;
      if (stream.writableLength > MAX_WAITING_BYTES) {
        if (!isBehind) warn("whoever reads the output is too slow: refreshes are left out");
        isBehind = true;
        return;
      }
      stream.write(text);
    },
    ready: (signal) =>
      new Promise((resolve) => {
        if (!stream.writableNeedDrain || isDead(stream) || signal.aborted) return resolve();
        const events = ["drain", "error", "close"];
        const done = (): void => {
          for (const event of events) stream.removeListener(event, done);
          signal.removeEventListener("abort", done);
          resolve();
        };
        for (const event of events) stream.on(event, done);
        signal.addEventListener("abort", done);
      }),
    close: (signal) =>
      new Promise<void>((resolve) => {
        // Who listens for errors hears of this one behind this turn.
        if (isDead(stream)) {
          setImmediate(resolve);
          return;
        }
        const giveUp = (): void => {
          setTimeout(resolve, GRACE_MS);
        };
        if (signal.aborted) giveUp();
        else signal.addEventListener("abort", giveUp);
        // Calls back when everything before it has been written.
        stream.write("", () => resolve());
      }),
  };
}

/** Its reader has gone, or it failed: whoever listens for errors knows. */
const isDead = (stream: Writable): boolean => stream.destroyed || stream.errored !== null;
