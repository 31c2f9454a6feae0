/** Which frames are looked up: each once, and none whose file is another one by now. */

import { expect, test } from "vitest";
import { FRAME_DOTNET, FRAME_FILE_SHIFT, FRAME_KIND_SHIFT } from "../../../build/abi.ts";
import type { Drained } from "../../../src/addon/drained.ts";
import { FrameLookup, type StoreNumbers } from "../../../src/collector/frame-lookup.ts";
import { NewFrames } from "../../../src/runtimes/new-frames.ts";
import type { Store } from "../../../src/tick/store.ts";
import { Stores } from "../../../src/tick/stores.ts";

/** Frames of code: file and offset of each. */
function frames(first: number, code: readonly (readonly [file: number, offset: number])[]) {
  const word = ([file, offset]: readonly [number, number]): bigint =>
    (BigInt(file) << BigInt(FRAME_FILE_SHIFT)) | BigInt(offset);
  return new NewFrames({
    firstFrame: first,
    frames: BigUint64Array.from(code, word),
    extras: new BigUint64Array(code.length),
    owners: new Uint32Array(code.length),
  } as Drained);
}

/** Lines that are a tenth of the offset, of a file named by its id. */
function lookUp() {
  const asked: (readonly [number, ...number[]])[] = [];
  const sampler = {
    lines: (file: number, offsets: Float64Array) => {
      asked.push([file, ...offsets]);
      const lines = Uint32Array.from([...offsets].flatMap((offset) => [1, offset / 10]));
      return Promise.resolve({ files: ["", `file${file}.c`], lines, why: "" });
    },
  };
  return { asked, lines: new FrameLookup(sampler, () => undefined) };
}

const newStore = (): Store => new Stores().latest;

/** Who knows frames of a store by the number that they came with, and 1000. */
const STORE: StoreNumbers = {
  store: newStore(),
  frameNumber: (number) => number + 1000,
};

test("frames of one function, each asked for once", async () => {
  const { asked, lines } = lookUp();
  lines.registerFrames(
    frames(100, [
      [3, 10],
      [3, 20],
      [4, 30],
    ]),
    Uint32Array.of(7, 8, 7),
  );
  const found = await lines.find(7, STORE);
  const named = Array.from({ length: found.lines.length / 3 }, (_, i) => {
    const [number = 0, file = 0, line] = found.lines.subarray(3 * i);
    return [number, found.files[file], line];
  });
  expect(named).toEqual([
    [1100, "file3.c", 1],
    [1102, "file4.c", 3],
  ]);
  lines.registerFrames(frames(103, [[3, 50]]), Uint32Array.of(7));
  expect([...(await lines.find(7, STORE)).lines]).toEqual([1103, 1, 5]);
  expect(asked).toEqual([
    [3, 10],
    [4, 30],
    [3, 50],
  ]);
});

test("what is forgotten, or of a file that is another one by now, is not asked for", async () => {
  const { asked, lines } = lookUp();
  lines.forget(0, [3, 4]);
  lines.registerFrames(frames(0, [[3, 10]]), Uint32Array.of(7));
  lines.registerFrames(
    frames(1, [
      [3, 20],
      [4, 30],
    ]),
    Uint32Array.of(7, 7),
  );
  lines.forget(1, [3]);
  expect((await lines.find(7, STORE)).lines).toHaveLength(3);
  expect(asked).toEqual([[4, 30]]);
  await lines.find(undefined, STORE);
  expect(asked.at(-1)).toEqual([0]);
});

test("frames that no tick counts are asked for once one does, and all again in a new store", async () => {
  const { asked, lines } = lookUp();
  lines.registerFrames(
    frames(0, [
      [3, 10],
      [3, 20],
    ]),
    Uint32Array.of(7, 7),
  );
  const counted = new Map([[0, 5]]);
  const numbersIn = (store: Store): StoreNumbers => ({
    store,
    frameNumber: (number) => counted.get(number),
  });
  const [old, next] = [newStore(), newStore()];
  expect([...(await lines.find(7, numbersIn(old))).lines]).toEqual([5, 1, 1]);
  counted.set(1, 6);
  expect([...(await lines.find(7, numbersIn(old))).lines]).toEqual([6, 1, 2]);
  expect([...(await lines.find(7, numbersIn(old))).lines]).toEqual([]);
  counted.set(0, 2).set(1, 3);
  expect([...(await lines.find(7, numbersIn(next))).lines]).toEqual([2, 1, 1, 3, 1, 2]);
  expect(asked).toEqual([
    [3, 10],
    [3, 20],
    [3, 10, 20],
  ]);
});

test("bodies of the compiled frames of one function, each read once out of its process", async () => {
  const word = (start: number): bigint =>
    (BigInt(FRAME_DOTNET) << BigInt(FRAME_KIND_SHIFT)) | BigInt(start);
  const read: (readonly [bigint, number])[] = [];
  const lookup = new FrameLookup(
    { lines: () => Promise.resolve({ files: [], lines: new Uint32Array(), why: "" }) },
    (at, owner) => {
      read.push([at, owner]);
      return owner === 41 ? "tier 1" : undefined;
    },
  );
  const words = [word(0x1000), word(0x2000), word(0x1000), word(0x3000)];
  lookup.registerFrames(
    new NewFrames({
      firstFrame: 10,
      frames: BigUint64Array.from(words),
      extras: new BigUint64Array(words.length),
      // What means the same in all processes is no code that one of them compiled.
      owners: Uint32Array.of(41, 41, 42, 0),
    } as Drained),
    Uint32Array.of(7, 8, 7, 7),
  );
  expect((await lookup.find(7, STORE)).bodies).toEqual([[1010, "tier 1"]]);
  expect((await lookup.find(7, STORE)).bodies).toEqual([]);
  expect(read).toEqual([
    [word(0x1000), 41],
    [word(0x1000), 42],
  ]);
});
