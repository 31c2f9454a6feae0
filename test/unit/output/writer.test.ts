/** Plain output towards readers that are slow, or do not read at all. */
import { Writable } from "node:stream";
import { expect, test } from "vitest";
import { makeWriter } from "../../../src/output/writer.ts";

/** A stream that keeps what it got and takes the next only when told to. */
function heldStream() {
  const taken: string[] = [];
  const waiting: (() => void)[] = [];
  const stream = new Writable({
    decodeStrings: false,
    write: (text: string, _encoding, done) => {
      taken.push(text);
      waiting.push(done);
    },
  });
  return { stream, taken, takeNext: () => waiting.shift()?.() };
}

test("closing waits until all is written", async () => {
  const { stream, taken, takeNext } = heldStream();
  const writer = makeWriter(stream, () => {});
  writer.write("a");
  writer.write("b");
  let isClosed = false;
  const closed = writer.close(new AbortController().signal).then(() => {
    isClosed = true;
  });
  takeNext();
  await new Promise(setImmediate);
  expect(isClosed).toBe(false);
  for (let i = 0; i < 3; i++) {
    takeNext();
    await new Promise(setImmediate);
  }
  await closed;
  expect(taken.join("")).toBe("ab");
});

test("closing waits until who listens has heard what went wrong", async () => {
  const stream = new Writable({ write: (_text, _encoding, done) => done(new Error("full")) });
  const heard: string[] = [];
  stream.on("error", ({ message }) => heard.push(message));
  const writer = makeWriter(stream, () => {});
  // Errors are told behind all promises that are settled by then.
  await Promise.resolve();
  writer.write("a");
  await writer.close(new AbortController().signal);
  expect(heard).toEqual(["full"]);
});

test("a signal ends the wait", async () => {
  const stop = new AbortController();
  const writer = makeWriter(heldStream().stream, () => {});
  writer.write("a");
  const closed = writer.close(stop.signal);
  stop.abort();
  await closed;
});

test("what a reader leaves waiting is bounded, and it is said once", () => {
  const { stream } = heldStream();
  const warnings: string[] = [];
  const writer = makeWriter(stream, (text) => warnings.push(text));
  for (let i = 0; i < 40; i++) writer.write("x".repeat(1024 * 1024));
  expect(stream.writableLength).toBeLessThan(20 * 1024 * 1024);
  expect(warnings).toEqual(["whoever reads the output is too slow: refreshes are left out"]);
});
