/** Which functions are known by their numbers: what one process says of itself names no frame of another one. */
import { expect, test } from "vitest";
import { FRAME_DOTNET, FRAME_FILE_SHIFT, FRAME_KIND_SHIFT } from "../../../build/abi.ts";
import type { Drained } from "../../../src/addon/drained.ts";
import { atOnce } from "../../../src/machine/steps.ts";
import { FrameReader } from "../../../src/runtimes/frame-reader.ts";
import { FunctionTable } from "../../../src/runtimes/function-table.ts";
import { NewFrames } from "../../../src/runtimes/new-frames.ts";
import type { NamedFunction } from "../../../src/runtimes/reader.ts";

/** Code of the file with id 1, and of .NET. */
const CODE = 1n << BigInt(FRAME_FILE_SHIFT);
const WORD = BigInt(FRAME_DOTNET) << BigInt(FRAME_KIND_SHIFT);

/** How frames of one number, each of a process of its own, are named where a reader says this of them. */
function read(word: bigint, number: number, said: readonly NamedFunction[]) {
  const functions = new FunctionTable();
  const waiting = [...said];
  const named = () => waiting.shift() as NamedFunction;
  const runtime = { symbolize: () => ({ function: named() }), symbolizeCode: named };
  const reader = new FrameReader([runtime], [], functions);
  return said.map((_, at) => {
    const frames = new NewFrames({
      firstFrame: 1 + at,
      frames: BigUint64Array.of(word + BigInt(0x10000 + at)),
      extras: BigUint64Array.of(0n),
      functions: Uint32Array.of(number),
      owners: Uint32Array.of(100 + at),
    } as unknown as Drained);
    const { functions: ids, details } = atOnce(reader.read(frames));
    return { name: functions.info(ids[0] ?? 0).name, body: details.get(0)?.body };
  });
}

const namesOf = (number: number, ...said: NamedFunction[]): string[] =>
  read(WORD, number, said).map(({ name }) => name);

const method = (name: string): NamedFunction => ({ runtime: "dotnet", name, module: "" });
const FIRST_METHOD = 2 ** 31 + 1;

test("a method that its file tells is named once", () => {
  const told = { ...method("T.M"), isOfFile: true };
  expect(namesOf(FIRST_METHOD, told, method("Evil"))).toEqual(["T.M", "T.M"]);
});

test("one that a process tells is named for that process alone", () => {
  expect(namesOf(FIRST_METHOD, method("Evil"), method("T.M"))).toEqual(["Evil", "T.M"]);
});

test("and so is one that its file tells nothing of yet", () => {
  const unnamed = { ...method("[unnamed]"), whyUnnamed: "cut", isOfFile: true };
  expect(namesOf(FIRST_METHOD, unnamed, method("T.M"))).toEqual(["[unnamed]", "T.M"]);
});

test("a method without a number is never known by it", () => {
  const told = { ...method("T.M"), isOfFile: true };
  expect(namesOf(0, told, { ...method("T.N"), isOfFile: true })).toEqual(["T.M", "T.N"]);
});

test("the body that a file tells is that of all frames of the number", () => {
  const told = { ...method("T.M"), body: "precompiled" };
  const both = [
    { name: "T.M", body: "precompiled" },
    { name: "T.M", body: "precompiled" },
  ];
  expect(read(CODE, 7, [told, method("no more")])).toEqual(both);
  const ofFile = { ...told, isOfFile: true };
  expect(read(WORD, FIRST_METHOD, [ofFile, method("no more")])).toEqual(both);
});
