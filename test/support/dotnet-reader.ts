/** A reader of .NET that is told of methods by a test. */
import type { SeenMethod } from "../../src/addon/drained.ts";
import { DotnetReader } from "../../src/runtimes/dotnet/reader.ts";
import { methodFinder } from "./addon.ts";
import { NOTHING_KEPT } from "./precompiled.ts";

/** A method at its first sight, that no file tells of: a dynamic one where `more` has a name. */
export const seenMethod = (more: Partial<SeenMethod>): SeenMethod => ({
  word: 0n,
  isType: false,
  methodDesc: 0x5000,
  image: 0,
  row: 0,
  number: 0,
  imageFileId: 0,
  imageFile: undefined,
  imageOffset: 0,
  bias: 0,
  space: 1n,
  pid: 7,
  major: 10,
  descriptor: 0,
  allocator: 0,
  allocatorNumber: 0n,
  name: undefined,
  ...more,
});

type DotnetSampler = ConstructorParameters<typeof DotnetReader>[0];

/** A reader that can read nothing and knows no file, but for what `more` says. */
export const dotnetReader = (more: Partial<DotnetSampler>): DotnetReader =>
  new DotnetReader(
    {
      readMemory: () => Buffer.alloc(0),
      readFile: () => Buffer.alloc(0),
      ...NOTHING_KEPT,
      fileId: () => 0,
      frameNumber: () => 0,
      takeMethods: () => [],
      tellDotnet: () => {},
      ...more,
    },
    methodFinder(),
  );
