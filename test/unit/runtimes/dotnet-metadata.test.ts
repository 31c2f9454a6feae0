/** Metadata of .NET assemblies: what is there is read, what is wrong ends in a reason, always soon. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  type Bytes,
  PageBudget,
  PagedBytes,
  WholeBytes,
} from "../../../src/runtimes/dotnet/bytes.ts";
import { PeImage } from "../../../src/runtimes/dotnet/image.ts";
import { Unreadable } from "../../../src/runtimes/dotnet/memory.ts";
import { Metadata } from "../../../src/runtimes/dotnet/metadata.ts";
import { type MadeType, makeMetadata } from "../../support/metadata.ts";

const TYPES: readonly MadeType[] = [
  { name: "<Module>" },
  { name: "Shop", namespace: "A.B", methods: ["Open", ".ctor"] },
  { name: "Cart`1", outer: 2, methods: ["Total"], parameters: ["TItem"] },
  { name: "Line", outer: 3, methods: ["Add", "価格"], parameters: ["TItem", "TPrice"] },
  { name: "Last", namespace: "C" },
];

const paged = (bytes: Buffer, budget = new PageBudget(1 << 20)): Bytes =>
  new PagedBytes(bytes.length, (at, size) => bytes.subarray(at, at + size), budget);

/** All that can be asked of it. */
function readAll(metadata: Metadata): string[] {
  const rows = Array.from({ length: Math.min(metadata.methodCount, 20) }, (_, at) => at + 1);
  return [
    metadata.assemblyName,
    ...rows.map((row) => Object.values(metadata.method(row)).join(".")),
    ...TYPES.flatMap((_, at) => metadata.genericParameters("type", at + 1)),
  ];
}

/** Reads it; what is refused must be so for a reason. Anything else fails the test. */
function isRefused(read: () => unknown): boolean {
  try {
    read();
    return false;
  } catch (error) {
    // A RangeError is a read behind the end: naming says that the metadata is damaged.
    if (error instanceof Unreadable || error instanceof RangeError) return true;
    throw error;
  }
}

const EXPECTED = [
  "made",
  "A.B.Shop.Open",
  "A.B.Shop..ctor",
  "A.B.Shop+Cart`1.Total",
  "A.B.Shop+Cart`1+Line.Add",
  "A.B.Shop+Cart`1+Line.価格",
  "TItem",
  "TItem",
  "TPrice",
];

describe("names", () => {
  test("are read whole and by pages, from tables in order and without", () => {
    for (const sorted of [true, false]) {
      const bytes = makeMetadata(TYPES, { sorted });
      expect(readAll(new Metadata(bytes))).toEqual(EXPECTED);
      expect(readAll(new Metadata(paged(bytes)))).toEqual(EXPECTED);
    }
  });

  test("in types that are in each other are refused", () => {
    const ring: MadeType[] = [
      { name: "A", outer: 2, methods: ["M"] },
      { name: "B", outer: 1 },
    ];
    const self: MadeType[] = [{ name: "A", outer: 1, methods: ["M"] }];
    for (const types of [ring, self]) {
      expect(() => new Metadata(makeMetadata(types)).method(1)).toThrow("nested too deep");
    }
  });

  test("that are empty, without an end, or of a row that is not there are refused", () => {
    const nameless = new Metadata(makeMetadata([{ name: "A", methods: [""] }]));
    expect(() => nameless.method(1)).toThrow("is empty");
    const open = new Metadata(makeMetadata([{ name: "A", methods: ["M"] }], { openEnd: true }));
    expect(() => open.method(1)).toThrow("has no end");
    for (const row of [0, 2, -1, 2 ** 24]) {
      expect(() => nameless.method(row)).toThrow("not in the metadata");
    }
  });
});

test("metadata that is none, cut or endless is refused", () => {
  const whole = makeMetadata(TYPES);
  for (const bytes of [Buffer.from("BSJB"), Buffer.alloc(4096), Buffer.alloc(64, 0xff)]) {
    expect(() => new Metadata(bytes)).toThrow(Unreadable);
  }
  for (let length = 0; length < whole.length; length++) {
    const cut = whole.subarray(0, length);
    const names = (): string[] => readAll(new Metadata(cut));
    // Padding behind the last name may be missing.
    if (!isRefused(names)) expect(names()).toEqual(EXPECTED);
  }
});

test("no damage makes anything but names or a reason", () => {
  const whole = makeMetadata(TYPES);
  const place = fc.nat(whole.length - 1);
  const damage = fc.array(fc.tuple(place, fc.nat(255)), { minLength: 1, maxLength: 6 });
  let refused = 0;
  fc.assert(
    fc.property(damage, (list) => {
      const bytes = Buffer.from(whole);
      for (const [at, value] of list) bytes[at] = value;
      if (isRefused(() => readAll(new Metadata(bytes)))) refused++;
      if (isRefused(() => readAll(new Metadata(paged(bytes))))) refused++;
    }),
    { numRuns: 3000 },
  );
  expect(refused).toBeGreaterThan(100);
});

test("pages of all images together stay below the limit, and what was given back is read again", () => {
  let reads = 0;
  const budget = new PageBudget(8 * 4096);
  const images = Array.from({ length: 4 }, (_, seed) => {
    const bytes = Buffer.alloc(10 * 4096 + 77, seed + 1);
    const source = new PagedBytes(
      bytes.length,
      (at, size) => {
        reads++;
        return bytes.subarray(at, at + size);
      },
      budget,
    );
    return { bytes, source };
  });
  for (const { bytes, source } of images) {
    for (const [at, size] of [
      [0, 4],
      [4094, 4],
      [4096 * 3 - 1, 4096 * 2],
      [bytes.length - 3, 3],
      [bytes.length, 0],
    ] as const) {
      expect(source.slice(at, size)).toEqual(bytes.subarray(at, at + size));
    }
    expect(() => source.slice(bytes.length - 3, 4)).toThrow(RangeError);
    expect(() => source.slice(-1, 2)).toThrow(RangeError);
  }
  const before = reads;
  images[3]?.source.slice(0, 4);
  expect(reads - before).toBeLessThan(2);
  images[0]?.source.slice(0, 4);
  expect(reads).toBeGreaterThan(before);
});

test("a page that is used again and again outlives those that are read once", () => {
  const budget = new PageBudget(8 * 4096);
  const bytes = Buffer.alloc(100 * 4096);
  const reads: number[] = [];
  const source = new PagedBytes(
    bytes.length,
    (at, size) => {
      reads.push(at / 4096);
      return bytes.subarray(at, at + size);
    },
    budget,
  );
  for (let page = 1; page < 100; page++) {
    source.slice(0, 4);
    source.slice(4096 * page, 4);
  }
  expect(reads.filter((page) => page === 0)).toHaveLength(1);
  expect(reads).toHaveLength(100);
});

test("numbers and texts are the same by pages as of the whole, across the border of two pages too", () => {
  const bytes = Buffer.from(
    Uint8Array.from({ length: 2 * 4096 + 77 }, (_, at) => (at * 37) % 251 || 1),
  );
  for (const at of [10, 4096, 4100, bytes.length - 1]) bytes[at] = 0;
  const [pages, whole] = [paged(bytes), new WholeBytes(bytes)];
  for (const at of [0, 4, 4092, 4093, 4094, 4095, 4096, 8190, bytes.length - 4]) {
    for (const size of [1, 2, 4]) {
      expect(pages.number(at, size)).toBe(bytes.readUIntLE(at, size));
      expect(whole.number(at, size)).toBe(bytes.readUIntLE(at, size));
    }
    for (const room of [1, 8, 300]) {
      if (at + room > bytes.length) continue;
      const end = bytes.subarray(at, at + room).indexOf(0);
      const text = end < 0 ? undefined : bytes.toString("utf8", at, at + end);
      expect(pages.textUntilZero(at, room)).toEqual(text);
      expect(whole.textUntilZero(at, room)).toEqual(text);
    }
  }
  for (const source of [pages, whole]) {
    expect(() => source.number(bytes.length - 3, 4)).toThrow(RangeError);
    expect(() => source.number(-1, 2)).toThrow(RangeError);
    expect(() => source.textUntilZero(bytes.length - 3, 4)).toThrow(RangeError);
  }
});

test("an image of any bytes ends in a reason", () => {
  const read = (bytes: Uint8Array) => () => {
    const all = Buffer.from(bytes);
    const image = new PeImage((at, size) => {
      if (at < 0 || at + size > all.length) throw new Unreadable("its memory could not be read");
      return all.subarray(at, at + size);
    });
    readAll(image.metadata(new PageBudget(1 << 20)));
  };
  const header = Buffer.alloc(600);
  header.write("MZ");
  header.writeUInt32LE(64, 60);
  header.write("PE\0\0", 64);
  header.writeUInt16LE(240, 64 + 20);
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 600, maxLength: 600 }), fc.nat(64), (noise, kept) => {
      const bytes = Buffer.from(noise);
      header.copy(bytes, 0, 0, 64 + 24 + kept);
      expect(isRefused(read(bytes))).toBe(true);
      expect(isRefused(read(noise))).toBe(true);
    }),
  );
});
