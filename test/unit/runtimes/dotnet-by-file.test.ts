/** Methods that are met before their file is known are named by it, whether their process lives or not. */
import { expect, test } from "vitest";
import { FRAME_DOTNET, FRAME_KIND_SHIFT } from "../../../build/abi.ts";
import type { SeenMethod } from "../../../src/addon/drained.ts";
import type { DotnetReader } from "../../../src/runtimes/dotnet/reader.ts";
import { dotnetReader, seenMethod } from "../../support/dotnet-reader.ts";
import { CODE, functions, makeImage, SECTIONS } from "../../support/precompiled.ts";

/** Larger than any pid (PID_MAX_LIMIT). */
const GONE = 4_194_305;
const IMAGE_ADDRESS = 0x7f0000000000;
/** Where the image is in its file: it is a part of a single-file program. */
const IMAGE_OFFSET = 0x3000;
const KEY = BigUint64Array.of(11n, 22n, 33n, 44n);

const image = makeImage(
  new Map([
    [SECTIONS.FUNCTIONS, functions(1)],
    // An array of NativeFormat with one element: the first method is the first function.
    [SECTIONS.METHODS, Buffer.from([8, 1, 0, 0])],
  ]),
);
const program = Buffer.concat([Buffer.alloc(IMAGE_OFFSET), image]);

const WORD = (BigInt(FRAME_DOTNET) << BigInt(FRAME_KIND_SHIFT)) | BigInt(IMAGE_ADDRESS + CODE);

const seen = (more: Partial<SeenMethod> = {}): SeenMethod =>
  seenMethod({
    word: WORD,
    methodDesc: 0,
    image: IMAGE_ADDRESS,
    imageFile: KEY,
    imageOffset: IMAGE_OFFSET,
    pid: GONE,
    ...more,
  });

/** A reader that met one method of a process that is gone; `fileId` says which file its key stands for. */
function met(method: SeenMethod, fileId: () => number): DotnetReader {
  const reader = dotnetReader({
    readFile: (file, offset, size) =>
      file === 5 ? program.subarray(offset, offset + size) : Buffer.alloc(0),
    fileId: (key) => (key.every((it, at) => it === KEY[at]) ? fileId() : 0),
    takeMethods: () => [method],
  });
  reader.resolveSeen();
  return reader;
}

test("at once where the file is known", () => {
  expect(met(seen(), () => 5).name(WORD, GONE)).toEqual({
    runtime: "dotnet",
    name: "T.M",
    module: "made",
    body: "precompiled",
    isOfFile: true,
  });
});

test("as soon as the file is known", () => {
  let file = 0;
  const reader = met(seen(), () => file);
  file = 5;
  expect(reader.name(WORD, GONE).name).toBe("T.M");
});

test("and have no name where the file never is known, or cannot be read", () => {
  const unnamed = { whyUnnamed: expect.any(String) };
  expect(met(seen(), () => 0).name(WORD, GONE)).toMatchObject(unnamed);
  expect(met(seen(), () => 6).name(WORD, GONE)).toMatchObject(unnamed);
});

const compiled = { methodDesc: 0x5000, row: 1 };

test.each([
  ["compiled", compiled],
  ["precompiled", {}],
])("once for all processes where they have a number, %s", (_, more) => {
  const waiting: SeenMethod[] = [];
  let isReadable = true;
  const reader = dotnetReader({
    readFile: (_, offset, size) =>
      isReadable ? program.subarray(offset, offset + size) : Buffer.alloc(0),
    takeMethods: () => waiting.splice(0),
  });
  const nameOf = (pid: number, number: number) => {
    waiting.push(seen({ ...more, imageFile: undefined, imageFileId: 5, pid, number }));
    reader.resolveSeen();
    return reader.name(WORD, pid);
  };
  expect(nameOf(GONE, 1).name).toBe("T.M");
  reader.ingest({ files: [], closedFiles: Uint32Array.of(5) });
  isReadable = false;
  expect(nameOf(GONE + 1, 1).name).toBe("T.M");
  expect(nameOf(GONE + 2, 2)).toMatchObject({ whyUnnamed: expect.any(String) });
});
