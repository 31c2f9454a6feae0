/** Tables of precompiled images that an earlier run kept. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { PageBudget } from "../../../src/runtimes/dotnet/bytes.ts";
import { ImageNames } from "../../../src/runtimes/dotnet/images.ts";
import {
  decodeTables,
  encodeTables,
} from "../../../src/runtimes/dotnet/ready-to-run/kept-tables.ts";
import { CODE, functions, makeImage, SECTIONS } from "../../support/precompiled.ts";

const { FUNCTIONS, METHODS } = SECTIONS;

/** An array of NativeFormat with one element: the first method is the first function. */
const ONE_METHOD = Buffer.from([8, 1, 0, 0]);
/** Its header tells of numbers of eight bytes. */
const DAMAGED = Buffer.from([14, 0, 0, 0]);

const imageOf = (count: number, methods: Buffer): Buffer =>
  makeImage(
    new Map([
      [FUNCTIONS, functions(count)],
      [METHODS, methods],
    ]),
  );

/** Names the first function of an image in a run that keeps its tables among these entries. */
function nameIn(image: Buffer, entries: Map<string, Buffer>): string {
  const key = (file: number, offset: number, maker: string) => `${file} ${offset} ${maker}`;
  const names = new ImageNames(
    {
      readFile: (_file, offset, size) => image.subarray(offset, offset + size),
      kept: (...of) => entries.get(key(...of)) ?? Buffer.alloc(0),
      keep: (file, offset, maker, bytes) => entries.set(key(file, offset, maker), bytes),
    },
    new PageBudget(4 << 20),
  );
  const assemblies = Float64Array.of(0, 1e15);
  names.placeFiles([{ id: 1, path: "lib.dll", why: "", refusal: "", assemblies }]);
  return names.method(1, CODE).name;
}

describe("the tables of an image", () => {
  test("name its methods in the next run, which does not read them anew", () => {
    const entries = new Map<string, Buffer>();
    expect(nameIn(imageOf(600, ONE_METHOD), entries)).toBe("T.M");
    expect(entries.size).toBe(1);
    expect(nameIn(imageOf(600, DAMAGED), entries)).toBe("T.M");
  });

  test("are read anew where those that were kept are cut, or of another number of functions", () => {
    const entries = new Map<string, Buffer>();
    nameIn(imageOf(600, ONE_METHOD), entries);
    expect(() => nameIn(imageOf(601, DAMAGED), entries)).toThrow("a table of its image is damaged");
    for (const [key, bytes] of entries) entries.set(key, bytes.subarray(0, -2));
    expect(() => nameIn(imageOf(600, DAMAGED), entries)).toThrow("a table of its image is damaged");
    expect(nameIn(imageOf(600, ONE_METHOD), entries)).toBe("T.M");
  });

  test("of few functions are not kept", () => {
    const entries = new Map<string, Buffer>();
    expect(nameIn(imageOf(20, ONE_METHOD), entries)).toBe("T.M");
    expect(entries.size).toBe(0);
  });
});

describe("tables as bytes", () => {
  const words = (count: number) => fc.uint32Array({ minLength: count, maxLength: count });
  const tables = fc.nat(40).chain((count) =>
    fc.record({
      begins: words(count),
      methods: words(count),
      coldParts: fc.uint32Array({ maxLength: 20 }),
      components: fc.oneof(
        fc.constant(new Uint16Array()),
        fc.uint16Array({ minLength: count, maxLength: count }),
      ),
      maxFunclets: fc.constantFrom(0, 256),
    }),
  );

  test("are read as they were written, wherever they lie", () => {
    fc.assert(
      fc.property(tables, fc.nat(9), (given, at) => {
        const bytes = Buffer.concat([Buffer.alloc(at), encodeTables(given)]).subarray(at);
        expect(decodeTables(bytes)).toEqual(given);
      }),
    );
  });

  test("that are cut, or longer, are none", () => {
    fc.assert(
      fc.property(tables, fc.nat(300), (given, length) => {
        const bytes = encodeTables(given);
        const other = Buffer.concat([bytes, Buffer.alloc(300)]).subarray(0, length);
        if (length !== bytes.length) expect(decodeTables(other)).toBeUndefined();
      }),
    );
  });
});
