/** Images and types that are made to take long: each is given up after little work, with a reason. */
import { describe, expect, test } from "vitest";
import type { SampledFile } from "../../../src/addon/drained.ts";
import { PageBudget } from "../../../src/runtimes/dotnet/bytes.ts";
import { ImageNames } from "../../../src/runtimes/dotnet/images.ts";
import { layoutOf } from "../../../src/runtimes/dotnet/layout.ts";
import { ProcessMemory, Unreadable } from "../../../src/runtimes/dotnet/memory.ts";
import { Metadata } from "../../../src/runtimes/dotnet/metadata.ts";
import { ModuleReader } from "../../../src/runtimes/dotnet/modules.ts";
import { TypeReader } from "../../../src/runtimes/dotnet/types.ts";
import { TimeShare, Work } from "../../../src/runtimes/dotnet/work.ts";
import { methodFinder } from "../../support/addon.ts";
import { makeMetadata } from "../../support/metadata.ts";
import {
  CODE,
  functions,
  HEADER,
  makeImage,
  NOTHING_KEPT,
  SECTIONS,
} from "../../support/precompiled.ts";

const LONGEST = { timeout: 5000 };

const { FUNCTIONS, METHODS, INSTANCES, COMPONENTS, MANIFEST } = SECTIONS;

/** A hash table with one bucket, whose entries all lead to one signature that has no end. */
function endlessInstances(entries: number, tail: number): Buffer {
  const table = Buffer.alloc(16 + 6 * entries + tail);
  const signature = 16 + 6 * entries;
  table.writeUInt8(2, 0);
  table.writeUInt32LE(15, 1);
  table.writeUInt32LE(signature - 1, 5);
  for (let entry = 0; entry < entries; entry++) {
    const at = 16 + 6 * entry;
    table.writeUInt8(0x0f, at + 1);
    table.writeInt32LE(signature - (at + 1), at + 2);
  }
  // It tells of a type that is an array with half a billion sizes.
  Buffer.from([0x40, 0x14, 0x01, 0x01, 0xdf, 0xff, 0xff, 0xff]).copy(table, signature);
  return table;
}

/** Names the code at the start of an image, and says how many bytes were read for it. */
function nameIn(image: Buffer, times = 1): { readonly why: string; readonly bytes: number } {
  let bytes = 0;
  const readFile = (_file: number, offset: number, size: number): Buffer => {
    bytes += size;
    return image.subarray(offset, offset + size);
  };
  const names = new ImageNames(
    { readFile, ...NOTHING_KEPT },
    methodFinder(),
    new PageBudget(4 << 20),
  );
  const file: SampledFile = {
    id: 1,
    path: "lib.dll",
    why: "",
    refusal: "",
    assemblies: Float64Array.of(0, 1e15),
  };
  names.placeFiles([file]);
  let why = "";
  for (let time = 0; time < times; time++) {
    try {
      names.method(1, CODE + 16 * time);
    } catch (error) {
      if (!(error instanceof Unreadable)) throw error;
      why = error.message;
    }
  }
  return { why, bytes };
}

describe("an image", () => {
  test("with a signature that has no end, for each of its instances", LONGEST, () => {
    const image = makeImage(
      new Map([
        [FUNCTIONS, functions(1_000_000)],
        [METHODS, Buffer.alloc(0)],
        [INSTANCES, endlessInstances(900_000, 16 << 20)],
      ]),
    );
    const { why, bytes } = nameIn(image, 100);
    expect(why).toBe("reading it takes too long");
    expect(bytes).toBeLessThan(2 * image.length);
  });

  test("with more instances than functions", LONGEST, () => {
    const image = makeImage(
      new Map([
        [FUNCTIONS, functions(4)],
        [METHODS, Buffer.alloc(0)],
        [INSTANCES, endlessInstances(1000, 0)],
      ]),
    );
    expect(nameIn(image).why).toBe("a table of its image is damaged");
  });

  test("of 4,096 assemblies that share one long table", LONGEST, () => {
    const long = Buffer.alloc(16 << 20);
    const components = Buffer.alloc(16 * 4096);
    const referred = Array.from({ length: 4096 }, (_, at) => `a${at}`);
    const sections = new Map([
      [FUNCTIONS, functions(4)],
      [METHODS, long],
      [COMPONENTS, components],
      [MANIFEST, makeMetadata([{ name: "<Module>" }], { referred })],
    ]);
    // Each assembly has the sections of the image itself.
    for (let at = 0; at < 4096; at++) components.writeUInt32LE(HEADER + 8, 16 * at + 8);
    const image = makeImage(sections);
    const { why, bytes } = nameIn(image);
    expect(why).toBe("its tables take too long to read");
    expect(bytes).toBeLessThan(10 * image.length);
  });
});

test("images of a user that take long use up the time of that user alone", LONGEST, () => {
  const [user, other] = [60_001, 60_002];
  const [many, endless] = [functions(100_000), endlessInstances(90_000, 2048)];
  const isRead = (owner: number): boolean =>
    typeof methodFinder().find(owner, functions(4), Buffer.alloc(0), []) !== "string";
  expect(isRead(user)).toBe(true);
  let why: unknown = "";
  for (let time = 0; time < 500 && !/of its user/.test(String(why)); time++) {
    why = methodFinder().find(user, many, endless, []);
  }
  expect(why).toBe("images of its user take too long to read");
  // Its own time comes back little by little.
  expect([other, 0].map(isRead)).toEqual([true, true]);
});

test("a type whose arguments are 64 times itself", LONGEST, () => {
  const base = 0x10000;
  const levels = 8;
  const bytes = Buffer.alloc(0x20000);
  const put = (at: number, value: number): void => {
    bytes.writeBigUInt64LE(BigInt(value), at);
  };
  const layout = layoutOf(10, undefined);
  const dictionaries = layout.at["MethodTable.PerInstInfo"];
  for (let level = 0; level <= levels; level++) {
    const at = level * 0x1000;
    bytes.writeUInt32LE(level < levels ? 0x10 : 0, at);
    put(at + dictionaries, base + at + 0x108);
    bytes.writeUInt16LE(1, at + 0x104);
    bytes.writeUInt16LE(64, at + 0x106);
    put(at + 0x108, base + at + 0x200);
    for (let i = 0; i < 64; i++) put(at + 0x200 + 8 * i, base + at + 0x1000);
  }
  let reads = 0;
  const memory = new ProcessMemory((_pid, address, size) => {
    reads++;
    const at = Number(address) - base;
    return bytes.subarray(at, at + size);
  }, 1);
  class OneModule extends ModuleReader {
    override at(): ReturnType<ModuleReader["at"]> {
      const metadata = new Metadata(makeMetadata([{ name: "<Module>" }, { name: "T" }]));
      return { name: "m", dynamic: false, metadata };
    }
  }
  const cache = { pages: new PageBudget(1 << 20), tables: () => expect.fail("no image is read") };
  const types = new TypeReader(memory, layout, new OneModule(memory, layout, cache));
  expect(() => types.typeArguments(base)).toThrow(Unreadable);
  expect(reads).toBeLessThan(5000);
});

test("an array has as many dimensions as its size says, and a size that is none is refused", () => {
  const [array, element] = [0x10000, 0x10100];
  const bytes = Buffer.alloc(0x200);
  const layout = layoutOf(11);
  bytes.writeUInt32LE(0x80080000, 0); // an array that is no vector
  bytes.writeBigUInt64LE(BigInt(element), layout.at["MethodTable.PerInstInfo"]);
  bytes.writeUInt32LE(2 << 8, 0x100 + layout.at["MethodTable.MTFlags2"]);
  const memory = new ProcessMemory((_pid, address, size) => {
    const at = Number(address) - array;
    return bytes.subarray(at, at + size);
  }, 1);
  const metadata = new Metadata(makeMetadata([{ name: "<Module>" }, { name: "T" }]));
  class OneModule extends ModuleReader {
    override at(): ReturnType<ModuleReader["at"]> {
      return { name: "m", dynamic: false, metadata };
    }
  }
  const cache = { pages: new PageBudget(1 << 20), tables: () => expect.fail("no image is read") };
  const types = new TypeReader(memory, layout, new OneModule(memory, layout, cache));
  const named = (size: number): string => {
    bytes.writeUInt32LE(size, layout.at["MethodTable.BaseSize"]);
    return types.name(array);
  };
  expect([32, 40, 48, 24 + 8 * 32].map(named)).toEqual([
    "T[*]",
    "T[,]",
    "T[,,]",
    `T[${",".repeat(31)}]`,
  ]);
  for (const size of [0, 24, 28, 24 + 8 * 33, 0xffffffff])
    expect(() => named(size)).toThrow("an array of no size");
});

describe("what is spent", () => {
  test("on one thing ends", () => {
    const work = new Work(10, "its tables");
    work.take(10);
    expect(() => work.take(1)).toThrow("its tables take too long to read");
  });

  test("on a file comes back with the time", () => {
    let clock = 0;
    const time = new TimeShare(() => clock);
    const spend = (milliseconds: number): void => {
      time.spend(() => {
        clock += milliseconds;
      });
    };
    spend(1000);
    expect(() => spend(1)).toThrow("its file takes too long to read");
    clock += 50_000;
    spend(1);
  });
});
