/** Names of methods of images that an earlier run kept. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { PageBudget } from "../../../src/runtimes/dotnet/bytes.ts";
import { ImageNames } from "../../../src/runtimes/dotnet/images.ts";
import { KeptNames } from "../../../src/runtimes/dotnet/kept-names.ts";
import { methodFinder } from "../../support/addon.ts";
import { CODE, functions, makeImage, SECTIONS } from "../../support/precompiled.ts";

/** An image whose first function is its one method, where its table says so. */
const imageWith = (methods: readonly number[]): Buffer =>
  makeImage(
    new Map([
      [SECTIONS.FUNCTIONS, functions(2)],
      [SECTIONS.METHODS, Buffer.from(methods)],
    ]),
  );

const IMAGE = imageWith([8, 1, 0, 0]);
/** The header of its table of methods tells of numbers of eight bytes. */
const DAMAGED = imageWith([14, 0, 0, 0]);

/** The names of an image in a run of its own, which keeps them among `entries`. */
function namesOf(
  image: Buffer,
  entries: Map<number, Buffer>,
  current = (): Buffer => image,
): ImageNames {
  const names = new ImageNames(
    {
      readFile: (_file, offset, size) => current().subarray(offset, offset + size),
      kept: (file) => entries.get(file) ?? Buffer.alloc(0),
      keep: (file, _offset, _maker, bytes) => entries.set(file, bytes),
      fileOwner: () => 0,
    },
    methodFinder(),
    new PageBudget(4 << 20),
  );
  const assemblies = Float64Array.of(0, 1e15);
  names.placeFiles([{ id: 1, path: "lib.dll", why: "", refusal: "", assemblies }]);
  return names;
}

/** Names the method of an image by its code and by its row. */
const nameBoth = (names: ImageNames): string[] => [
  names.method(1, CODE).name,
  names.methodOfRva(1, 0, CODE + 15).name,
  names.methodOfRow(1, 0, 1).name,
];

describe("the names of an image", () => {
  test("are told in the next run without its tables", () => {
    const entries = new Map<number, Buffer>();
    const first = namesOf(IMAGE, entries);
    expect(nameBoth(first)).toEqual(["T.M", "T.M", "T.M"]);
    expect(entries.size).toBe(0);
    first.keepNames();
    const second = namesOf(DAMAGED, entries);
    expect(nameBoth(second)).toEqual(["T.M", "T.M", "T.M"]);
    expect(() => second.method(1, CODE + 16)).toThrow("a table of its image is damaged");
  });

  test("are written once, until there are further ones", () => {
    const entries = new Map<number, Buffer>();
    const names = namesOf(IMAGE, entries);
    names.method(1, CODE);
    names.keepNames();
    entries.clear();
    names.method(1, CODE);
    names.keepNames();
    expect(entries.size).toBe(0);
    names.methodOfRow(1, 0, 1);
    names.keepNames();
    expect(entries.size).toBe(1);
  });

  test("are not those of the next file with its id", () => {
    const images = [IMAGE, DAMAGED];
    const names = namesOf(IMAGE, new Map(), () => images[0] ?? IMAGE);
    names.method(1, CODE);
    images.shift();
    expect(names.method(1, CODE).name).toBe("T.M");
    names.forgetFiles(Uint32Array.of(1));
    expect(() => names.method(1, CODE)).toThrow("a table of its image is damaged");
  });
});

describe("kept names", () => {
  const method = fc.record(
    {
      name: fc.string(),
      module: fc.string(),
      genericArguments: fc.array(
        fc.record({
          of: fc.constantFrom("type" as const, "method" as const),
          parameter: fc.string(),
          type: fc.string(),
        }),
      ),
    },
    { requiredKeys: ["name", "module"] },
  );
  const cell = () => {
    let content: Buffer = Buffer.alloc(0);
    return {
      read: () => content,
      write: (bytes: Buffer) => {
        content = bytes;
      },
    };
  };

  test("are told of the RVAs of their functions and of their rows, in the next run too", () => {
    const begins = fc.uniqueArray(fc.nat(1000), { maxLength: 20 });
    const rows = fc.uniqueArray(fc.nat(1000), { maxLength: 20 });
    fc.assert(
      fc.property(begins, rows, method, (given, numbers, named) => {
        const kept = cell();
        const names = new KeptNames(kept);
        // A function is as long as its place among the others, or ends where the next one begins.
        const ends = given.map((begin) => Math.min(begin + 7, ...given.filter((it) => it > begin)));
        const methods = given.map((begin) => ({ ...named, name: `${begin}` }));
        for (const [at, begin] of given.entries())
          names.addFunction({ begin, end: ends[at] ?? 0 }, methods[at] ?? named);
        for (const row of numbers) names.addRow(row, named);
        names.save();
        for (const one of [names, new KeptNames(kept)]) {
          for (let rva = 0; rva < 1010; rva++) {
            const holder = given.findIndex((begin, at) => begin <= rva && rva < (ends[at] ?? 0));
            expect(one.ofRva(rva)).toEqual(methods[holder]);
          }
          for (const row of numbers) expect(one.ofRow(row)).toEqual(named);
          expect(one.ofRow(1001)).toBeUndefined();
        }
      }),
      { numRuns: 30 },
    );
  });

  test("that are damaged are no wrong ones", () => {
    const kept = cell();
    const names = new KeptNames(kept);
    const text = JSON.stringify({ name: "T.M", module: "T" });
    names.addFunction({ begin: 16, end: 32 }, { name: "T.M", module: "T" });
    names.save();
    const whole = kept.read();
    const ofDamaged = (bytes: Buffer) => new KeptNames({ ...kept, read: () => bytes }).ofRva(16);
    expect(ofDamaged(whole)).toEqual({ name: "T.M", module: "T" });
    for (let length = 0; length < whole.length; length++)
      expect(ofDamaged(whole.subarray(0, length))).toBeUndefined();
    const others = ["null", "7", "[]", '{"name":"T.M"}', '{"name":1,"module":"T"}'];
    const strange = ['{"name":"","module":"","genericArguments":[1]}'.padEnd(text.length)];
    for (const other of [...others.map((it) => it.padEnd(text.length)), ...strange]) {
      const bytes = Buffer.from(whole);
      bytes.write(other.slice(0, text.length), whole.length - text.length);
      expect(ofDamaged(bytes)).toBeUndefined();
    }
  });

  test("are limited", () => {
    const kept = cell();
    const names = new KeptNames(kept);
    const long = { name: "x".repeat(1000), module: "" };
    for (let row = 1; row <= 20_000; row++)
      names.addRow(row, row < 1000 ? { name: "", module: "" } : long);
    expect(names.ofRow(999)).toBeDefined();
    expect(names.ofRow(2100)).toBeUndefined();
    for (let row = 30_000; row <= 50_000; row++) names.addRow(row, { name: "", module: "" });
    expect(names.ofRow(50_000)).toBeUndefined();
    expect(names.memoryBytes).toBeLessThan(5 << 20);
  });
});
