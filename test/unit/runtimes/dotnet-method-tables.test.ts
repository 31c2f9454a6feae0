/** Tables of precompiled images: which function is the body of which method, read by the parser. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { FunctionMethods } from "../../../src/addon/method-finder.ts";
import { CompressedReader } from "../../../src/runtimes/dotnet/bytes.ts";
import { readMethodInstance } from "../../../src/runtimes/dotnet/instance-signature.ts";
import { Unreadable } from "../../../src/runtimes/dotnet/memory.ts";
import { methodFinder } from "../../support/addon.ts";
import { CODE, functions } from "../../support/precompiled.ts";

const COUNT = 4096;
const FUNCTIONS = functions(COUNT);
const NOTHING = Buffer.alloc(0);

/** What is read of tables of an image; a reason where they are refused. */
const find = (instances: Buffer, ...definitions: Buffer[]) =>
  methodFinder().find(0, FUNCTIONS, instances, definitions);

function found(instances: Buffer, ...definitions: Buffer[]): FunctionMethods {
  const methods = find(instances, ...definitions);
  if (typeof methods === "string") throw new Error(methods);
  return methods;
}

/** Functions with their methods, where there is one. */
const known = ({ methods }: FunctionMethods) =>
  [...methods.entries()].filter(([, method]) => method > 0);

/** A number of NativeFormat in so many bytes. */
function number(value: number, length: number): number[] {
  const tagged =
    length === 5
      ? (BigInt(value) << 8n) | 0xfn
      : (BigInt(value) << BigInt(length)) | ((1n << BigInt(length - 1)) - 1n);
  return Array.from({ length }, (_, at) => Number((tagged >> BigInt(8 * at)) & 0xffn));
}

/** The entry point of a function. */
const entryPoint = (index: number, hasFixups = false): number[] =>
  number(hasFixups ? (index << 2) | 1 : index << 1, 4);

/** A part of a block of an array: a tree over the bits of the row. */
function tree(rows: ReadonlyMap<number, number>, first: number, size: number): number[] {
  const index = rows.get(first);
  if (size === 1) return entryPoint(index ?? 0, first % 3 === 0);
  const half = size / 2;
  const has = (from: number) => [...rows.keys()].some((row) => row >= from && row < from + half);
  const [left, right] = [has(first), has(first + half)];
  const before = left ? tree(rows, first, half) : [];
  const after = right ? tree(rows, first + half, half) : [];
  const node = ((4 + before.length) << 2) | (right ? 2 : 0) | (left ? 1 : 0);
  return [...number(node, 4), ...before, ...after];
}

/** An array of NativeFormat with the functions of rows, whose blocks begin at offsets of four bytes. */
function sparseArray(rows: ReadonlyMap<number, number>): Buffer {
  const count = Math.max(...rows.keys()) + 1;
  const blocks = Array.from({ length: Math.ceil(count / 16) }, (_, block) => {
    const own = [...rows].filter(([row]) => Math.floor(row / 16) === block);
    const [only = [16 * block + 16, 0]] = own;
    // One row, or none, is told without a tree.
    if (own.length < 2) return [...number((only[0] - 16 * block) << 2, 4), ...entryPoint(only[1])];
    return tree(rows, 16 * block, 16);
  });
  const offsets = new Uint32Array(blocks.length);
  let at = 4 * blocks.length;
  for (const [block, { length }] of blocks.entries()) {
    offsets[block] = at;
    at += length;
  }
  const bytes = Buffer.from([...number((count << 2) | 2, 4), ...new Uint8Array(offsets.buffer)]);
  return Buffer.concat([bytes, Buffer.from(blocks.flat())]);
}

const AT = 11;

/** A hash table of NativeFormat with one bucket and one entry: these bytes, from AT on. */
const oneEntry = (...bytes: number[]): Buffer =>
  Buffer.from([2, 8, 0, 0, 0, 10, 0, 0, 0, 0x5a, ...number(1, 1), ...bytes]);

const OWNER = 0x40;
const MAP = [0x15, 0x12, 2 << 2, 2] as const;

describe("definitions", () => {
  test("are told by the function that is their body", () => {
    expect(known(found(NOTHING, Buffer.from([0x08, 0x01, 0x00, 0x54])))).toEqual([[21, 2]]);
    // The tree says that of a number that another half of it has: no element.
    const other = Buffer.from([0x80, 0x01, 0x01, 0x02, 0x48, 0x54]);
    expect(known(found(NOTHING, other))).toEqual([]);
    expect(known(found(NOTHING))).toEqual([]);
  });

  test("of any rows", () => {
    const rows = fc.uniqueArray(fc.nat(200), { minLength: 1, maxLength: 60 });
    const places = fc.uniqueArray(fc.nat(COUNT - 1), { minLength: 60, maxLength: 60 });
    fc.assert(
      fc.property(rows, places, (all, indexes) => {
        const table = new Map(all.map((row, at) => [row, indexes[at] ?? 0]));
        const expected = [...table].map(([row, index]) => [index, 2 * (row + 1)] as const);
        expect(known(found(NOTHING, sparseArray(table)))).toEqual(
          expected.sort(([a], [b]) => a - b),
        );
      }),
    );
  });

  test("by numbers of any length", () => {
    fc.assert(
      fc.property(fc.nat(COUNT - 1), fc.constantFrom(2, 3, 4, 5), (index, length) => {
        const table = Buffer.from([0x08, 0x01, 0x00, ...number(index << 1, length)]);
        expect(known(found(NOTHING, table))).toEqual([[index, 2]]);
      }),
    );
  });

  test("of several assemblies are told apart", () => {
    const [one, other] = [sparseArray(new Map([[3, 7]])), sparseArray(new Map([[3, 9]]))];
    const { methods, components } = found(NOTHING, one, NOTHING, other);
    expect([methods[7], components[7], methods[9], components[9]]).toEqual([8, 0, 8, 2]);
    expect(found(NOTHING, one).components).toHaveLength(0);
  });

  test("of functions that the image does not have are left out", () => {
    expect(known(found(NOTHING, sparseArray(new Map([[0, COUNT]]))))).toEqual([]);
  });

  test("of a damaged table are refused", () => {
    expect(find(NOTHING, Buffer.from([14, 0, 0, 0]))).toBe("a table of its image is damaged");
    expect(find(NOTHING, Buffer.from([8, 1]))).toBe("a table of its image is cut");
  });
});

test("functions begin where their table says", () => {
  const { begins } = found(NOTHING);
  expect([begins.length, begins[0], begins[COUNT - 1]]).toEqual([COUNT, CODE, CODE + 16 * 4095]);
});

describe("instances", () => {
  test("are told by the place of their signature, which is passed over to where reading it ends", () => {
    const kinds = [0x08, 0x0e, 0x3e, 0x0f, 0x1d, 0x11, 0x12, 0x14, 0x15, 0x3f, OWNER, OWNER | 4];
    const byte = fc.oneof(fc.constantFrom(...kinds), fc.nat(3), fc.nat(255));
    let read = 0;
    fc.assert(
      fc.property(fc.array(byte, { minLength: 1, maxLength: 24 }), (bytes) => {
        const signature = [OWNER | 4, ...bytes];
        const reader = new CompressedReader(Buffer.from(signature), 0, signature.length);
        try {
          readMethodInstance(reader);
        } catch (error) {
          expect(error).toBeInstanceOf(Unreadable);
          return;
        }
        read++;
        const table = oneEntry(...signature.slice(0, reader.at), ...entryPoint(17));
        const methods = found(table);
        expect(known(methods)).toEqual([[17, 2 * AT + 1]]);
        expect(methods.isWhole).toBe(true);
      }),
      { numRuns: 20_000 },
    );
    expect(read).toBeGreaterThan(200);
  });

  test("of no known form are left out, and the reader told", () => {
    const deep = Array.from({ length: 40 }, () => 0x1d);
    const odd = [
      [0x08, 1],
      [OWNER, 0x7f, 1],
      [OWNER, ...MAP, 0x7f],
      [OWNER, ...deep, 0x08, 1],
      [4, 1, 65],
      [OWNER, 0x14, 0x08, 0, 0, 0, 1],
    ];
    for (const signature of odd) {
      const methods = found(oneEntry(...signature, ...entryPoint(17)));
      expect(known(methods)).toEqual([]);
      expect(methods.isWhole).toBe(false);
    }
    expect(found(oneEntry(OWNER, 0x0e)).isWhole).toBe(false);
  });

  test("of a damaged table are refused", () => {
    expect(find(Buffer.from([0xfc]))).toBe("a table of its image is damaged");
    expect(find(Buffer.from([2, 8, 0, 0, 0]))).toBe("a table of its image is cut");
  });
});

test("tables of any bytes end, and soon", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), (noise) => {
      const bytes = Buffer.from(noise);
      for (const methods of [find(bytes), find(NOTHING, bytes, bytes), find(bytes, bytes)]) {
        if (typeof methods !== "string") expect(methods.methods).toHaveLength(COUNT);
      }
    }),
    { numRuns: 1000 },
  );
});
