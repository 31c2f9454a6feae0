/** Frame words of .NET that come again for another method. */
import { expect, test } from "vitest";
import { DOTNET_STUBS, FRAME_DOTNET, FRAME_KIND_SHIFT } from "../../../build/abi.ts";
import type { SeenMethod } from "../../../src/addon/drained.ts";
import { dotnetReader, seenMethod } from "../../support/dotnet-reader.ts";

const KIND = BigInt(FRAME_DOTNET) << BigInt(FRAME_KIND_SHIFT);
const word = KIND | BigInt(DOTNET_STUBS + 0x1000);

/** A dynamic method at its first sight, or at the first after the kernel side forgot it. */
const seen = (space: number, name: string): SeenMethod =>
  seenMethod({ word, space: BigInt(space), pid: 7, name: Buffer.from(name) });

test("are renamed, with the number of their frame, where the name is another one", () => {
  const waiting: SeenMethod[] = [];
  const names = dotnetReader({
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
