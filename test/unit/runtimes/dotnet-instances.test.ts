/** Signatures of precompiled generic instances: what they say is read, anything else ends in a reason. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { CompressedReader } from "../../../src/runtimes/dotnet/bytes.ts";
import { type ImageModule, instanceMethod } from "../../../src/runtimes/dotnet/instance-name.ts";
import {
  CORE_MODULE,
  readMethodInstance,
} from "../../../src/runtimes/dotnet/instance-signature.ts";
import { Unreadable } from "../../../src/runtimes/dotnet/memory.ts";
import { Metadata } from "../../../src/runtimes/dotnet/metadata.ts";
import { bodyText } from "../../../src/runtimes/dotnet/reader.ts";
import { makeMetadata } from "../../support/metadata.ts";

const metadata = new Metadata(
  makeMetadata([
    { name: "<Module>" },
    { name: "Map`2", namespace: "Shop", methods: ["Add"], parameters: ["TKey", "TValue"] },
    { name: "Price", namespace: "Shop", methods: ["Round"] },
    { name: "String", namespace: "System", methods: ["Join"] },
  ]),
);

/** Modules 0 and 3 are the one that is made here. */
function find(index: number): ImageModule {
  if (![CORE_MODULE, 0, 3].includes(index)) throw new Unreadable("no such module");
  return { name: "shop", metadata };
}

const read = (...bytes: number[]) =>
  readMethodInstance(new CompressedReader(Buffer.from(bytes), 0, bytes.length));

/** `Shop.Map`2.Add TKey=System.Int32` */
function named(...bytes: number[]): string {
  const { name, genericArguments = [] } = instanceMethod(read(...bytes), find);
  return `${name} ${bodyText({ genericArguments })}`.trim();
}

const token = (row: number): number => row << 2;
const OWNER = 0x40;
const MAP = [0x15, 0x12, token(2), 2] as const;

describe("instances of a method", () => {
  test("of a generic type", () => {
    expect(named(OWNER, ...MAP, 0x08, 0x3e, 1)).toBe(
      "Shop.Map`2.Add TKey=System.Int32  TValue=System.__Canon",
    );
  });

  test("by the module that its type is of, the arguments by theirs", () => {
    const price = [0x3f, 3, 0x11, token(3)];
    expect(named(OWNER, 0x3f, 3, ...MAP, ...price, 0x1d, ...price, 1)).toBe(
      "Shop.Map`2.Add TKey=Shop.Price  TValue=Shop.Price[]",
    );
  });

  test("with arguments that are instances, arrays and pointers", () => {
    const matrix = [0x14, 0x0d, 2, 0, 0];
    expect(named(OWNER, ...MAP, ...MAP, 0x0f, 0x05, ...matrix, 0x0e, 1)).toBe(
      "Shop.Map`2.Add TKey=Shop.Map`2[System.Byte*,System.Double[,]]  TValue=System.String",
    );
  });

  test("of a type that has no token", () => {
    expect(read(OWNER, 0x0e, 3).module).toBe(CORE_MODULE);
    expect(named(OWNER, 0x0e, 3)).toBe("System.String.Join");
    expect(() => named(OWNER, 0x1c, 3)).toThrow("not of its type");
  });

  test("arguments that cannot be told are left out, the name stays", () => {
    expect(named(OWNER, ...MAP, 0x3f, 2, 0x11, token(3), 0x08, 1)).toBe("Shop.Map`2.Add");
    expect(named(OWNER, 0x12, token(2), 1)).toBe("Shop.Map`2.Add");
  });

  test("a method of another type or module is not named", () => {
    expect(() => named(OWNER, ...MAP, 0x08, 0x08, 2)).toThrow("not of its type");
    expect(() => named(OWNER, 0x3f, 2, ...MAP, 0x08, 0x08, 1)).toThrow("no such module");
    expect(() => named(OWNER, ...MAP, 0x08, 0x08, 9)).toThrow(Unreadable);
    expect(() => named(0x08, 1)).toThrow("unknown form");
  });

  test("outside of their bytes are cut", () => {
    const bytes = Buffer.from([OWNER, 0x0e, 3]);
    expect(() => new CompressedReader(bytes, -1, 3).next()).toThrow("cut");
    expect(() => new CompressedReader(bytes, 3, 9).next()).toThrow("cut");
    expect(() => new CompressedReader(bytes, 1, 1).next()).toThrow("cut");
  });
});

test("signatures of any bytes end, and soon", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (noise) => {
      try {
        named(...noise);
      } catch (error) {
        if (!(error instanceof Unreadable)) throw error;
      }
    }),
    { numRuns: 5000 },
  );
});
