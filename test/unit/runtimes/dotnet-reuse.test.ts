/** Frame words of .NET that come again for another method. */
import { expect, test } from "vitest";
import { DOTNET_STUBS, FRAME_DOTNET, FRAME_KIND_SHIFT } from "../../../build/abi.ts";
import type { SeenMethod } from "../../../src/addon/drained.ts";
import { DotnetReader } from "../../../src/runtimes/dotnet/reader.ts";
import { NOTHING_KEPT } from "../../support/precompiled.ts";

const KIND = BigInt(FRAME_DOTNET) << BigInt(FRAME_KIND_SHIFT);
const word = KIND | BigInt(DOTNET_STUBS + 0x1000);

/** A dynamic method at its first sight, or at the first after the kernel side forgot it. */
const seen = (space: number, name: string): SeenMethod => ({
  word,
  methodDesc: 0x5000n,
  image: 0n,
  row: 0,
  imageFile: new BigUint64Array(4),
  imageOffset: 0,
  bias: 0n,
  space: BigInt(space),
  pid: 7,
  major: 10,
  descriptor: 0n,
  allocator: 0n,
  allocatorNumber: 0n,
  name: Buffer.from(name),
});

test("are renamed, with the number of their frame, where the name is another one", () => {
  const waiting: SeenMethod[] = [];
  const names = new DotnetReader({
    readMemory: () => Buffer.alloc(0),
    readFile: () => Buffer.alloc(0),
    ...NOTHING_KEPT,
    fileId: () => 0,
    frameNumber: (asked, pid) => (asked === word && pid === 7 ? 42 : 0),
    takeMethods: () => waiting.splice(0),
  });
  const renamedBy = (...methods: SeenMethod[]): [number, string][] => {
    waiting.push(...methods);
    names.resolveSeen();
    return [...names.renamed()].map(([number, frame]) => [number, frame.function.name]);
  };
  expect(renamedBy(seen(1, "first"))).toEqual([]);
  expect(renamedBy(seen(1, "first"))).toEqual([]);
  expect(renamedBy(seen(1, "second"))).toEqual([[42, "second"]]);
  expect(names.name(word, 7).name).toBe("second");
  // After an exec, or in another process with the pid.
  expect(renamedBy(seen(2, "third"))).toEqual([[42, "third"]]);
  expect(renamedBy()).toEqual([]);
});
