/** Small recordings that stand for much: what reading them may take. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ByteWriter } from "../../../src/recording/bytes.ts";
import { packChunk, prefix } from "../../../src/recording/chunks.ts";
import { FLAG_RENEWED, KIND_HEADER, KIND_TICKS } from "../../../src/recording/format.ts";
import { RecordingReader } from "../../../src/recording/reader.ts";
import { HEADER, inFolder } from "../../support/recordings.ts";

const MEGABYTE = 1 << 20;

/** What comes behind the tables of a tick that has no counts. */
function writeRest(to: ByteWriter): void {
  for (const _empty of ["frames", "stacks", "threads"]) to.uint(0);
  to.number(0);
  to.number(1);
  for (const reference of [0, 0]) to.uint(reference);
  to.number(99);
  for (const reference of [1, 0, 0]) to.uint(reference);
  for (const _amount of ["samples", "missed", "cpu", "bpf", "rss", "nanoseconds"]) to.number(0);
  for (const _empty of ["notices", "shape", "names", "counts"]) to.uint(0);
}

/** Names of 512 characters, in all pairs of which each is a function. */
function writePairs(to: ByteWriter, texts: number, functions: number): void {
  to.uint(texts);
  for (let at = 0; at < texts; at++) to.text(`${at}`.padEnd(512, "\u4e2d"));
  to.uint(functions);
  for (let at = 0; at < functions; at++) {
    const [name, module] = [at % texts, Math.floor(at / texts) % texts];
    for (const number of [2, name, module, 1 + name]) to.uint(number);
  }
  writeRest(to);
}

function read(data: Buffer): { readonly problem: string | undefined; readonly heap: number } {
  return inFolder((folder) => {
    const path = join(folder, "a");
    const header = packChunk({
      kind: KIND_HEADER,
      flags: 0,
      data: Buffer.from(JSON.stringify(HEADER)),
    });
    const ticks = packChunk({ kind: KIND_TICKS, flags: FLAG_RENEWED, data });
    writeFileSync(path, Buffer.concat([prefix(), header, ticks]));
    const before = process.memoryUsage().heapUsed;
    const reader = new RecordingReader(path);
    for (const _tick of reader.ticks());
    const heap = process.memoryUsage().heapUsed - before;
    reader.close();
    return { problem: reader.problem, heap };
  });
}

test("a megabyte with a million functions", { timeout: 10_000 }, () => {
  const bytes = new ByteWriter();
  writePairs(bytes, 1100, 1_000_000);
  const { problem, heap } = read(bytes.take());
  expect(problem).toContain("its functions take too much memory");
  expect(heap).toBeLessThan(400 * MEGABYTE);
});

test("a recording of fewer functions is read", { timeout: 10_000 }, () => {
  const bytes = new ByteWriter();
  writePairs(bytes, 100, 1000);
  expect(read(bytes.take()).problem).toContain("is cut off");
});
