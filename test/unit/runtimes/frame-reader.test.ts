/** Which functions are known by their numbers: what one process says of itself names no frame of another one. */
import { expect, test } from "vitest";
import { FRAME_DOTNET, FRAME_KIND_SHIFT } from "../../../build/abi.ts";
import type { Drained } from "../../../src/addon/drained.ts";
import { atOnce } from "../../../src/machine/steps.ts";
import { FrameReader } from "../../../src/runtimes/frame-reader.ts";
import { FunctionTable } from "../../../src/runtimes/function-table.ts";
import { NewFrames } from "../../../src/runtimes/new-frames.ts";
import type { NamedFunction } from "../../../src/runtimes/reader.ts";

const WORD = BigInt(FRAME_DOTNET) << BigInt(FRAME_KIND_SHIFT);

/** The name of a method of this number in a process where a reader says this of it. */
function namesOf(number: number, ...said: NamedFunction[]): string[] {
  const functions = new FunctionTable();
  const waiting = [...said];
  const symbolize = () => ({ function: waiting.shift() as NamedFunction });
  const reader = new FrameReader([{ symbolize }], [], functions);
  return said.map((_, at) => {
    const frames = new NewFrames({
      firstFrame: 1 + at,
      frames: BigUint64Array.of(WORD + BigInt(0x10000 + at)),
      extras: BigUint64Array.of(0n),
      functions: Uint32Array.of(number),
      owners: Uint32Array.of(100 + at),
    } as unknown as Drained);
    const [id = 0] = atOnce(reader.read(frames)).functions;
    return functions.info(id).name;
  });
}

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
