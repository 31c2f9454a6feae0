/** Precompiled images of .NET that are made for a test. */
import type { Sampler } from "../../src/addon/sampler.ts";
import { makeMetadata } from "./metadata.ts";

/** Ready-to-run sections: runtime functions, entry points of methods and of instances, assemblies, manifest. */
export const SECTIONS = {
  FUNCTIONS: 102,
  METHODS: 103,
  INSTANCES: 109,
  MANIFEST: 112,
  COMPONENTS: 115,
} as const;

/** Where the ready-to-run header of an image is, and its code. */
export const [HEADER, CODE] = [0x2000, 0x5000];
const [COR, TABLES] = [0x1400, 0x10000];

/** Where nothing is kept from run to run. */
export const NOTHING_KEPT: Pick<Sampler, "kept" | "keep"> = {
  kept: () => Buffer.alloc(0),
  keep: () => {},
};

/** A precompiled image of one method, `T.M`, whose sections lie one after the other, at their own addresses. */
export function makeImage(sections: ReadonlyMap<number, Buffer>): Buffer {
  const metadata = makeMetadata([{ name: "<Module>" }, { name: "T", methods: ["M"] }]);
  const parts = [...sections.entries(), [0, metadata] as const];
  const size = TABLES + parts.reduce((sum, [, bytes]) => sum + bytes.length + 16, 0);
  const image = Buffer.alloc(size);
  image.write("MZ", 0, "latin1");
  image.writeUInt32LE(0x80, 60);
  image.write("PE\0\0", 0x80, "latin1");
  image.writeUInt16LE(1, 0x86);
  image.writeUInt16LE(240, 0x94);
  image.writeUInt16LE(0x20b, 0x98);
  image.writeUInt32LE(COR, 0x98 + 112 + 8 * 14);
  [size - 0x1000, 0x1000, size - 0x1000, 0x1000].forEach((value, at) => {
    image.writeUInt32LE(value, 0x98 + 240 + 8 + 4 * at);
  });
  image.writeUInt32LE(72, COR);
  image.writeUInt32LE(HEADER, COR + 64);
  image.write("RTR\0", HEADER, "latin1");
  image.writeUInt32LE(sections.size, HEADER + 12);
  let at = TABLES;
  parts.forEach(([kind, bytes], index) => {
    bytes.copy(image, at);
    const entry = kind === 0 ? COR + 8 - 4 : HEADER + 16 + 12 * index;
    if (kind !== 0) image.writeUInt32LE(kind, entry);
    image.writeUInt32LE(at, entry + 4);
    image.writeUInt32LE(bytes.length, entry + 8);
    at += bytes.length + 16;
  });
  return image;
}

/** The table of so many functions of 16 bytes, from CODE on. */
export function functions(count: number): Buffer {
  const table = Buffer.alloc(12 * count);
  for (let at = 0; at < count; at++) {
    table.writeUInt32LE(CODE + 16 * at, 12 * at);
    table.writeUInt32LE(CODE + 16 * at + 16, 12 * at + 4);
  }
  return table;
}
