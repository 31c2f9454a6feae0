/** Precompiled images of .NET that are made for a test. */
import type { Sampler } from "../../src/addon/sampler.ts";
import { type MadeType, makeMetadata } from "./metadata.ts";

/** Ready-to-run sections: runtime functions, entry points of methods and of instances, assemblies, manifest, parts that run seldom. */
export const SECTIONS = {
  FUNCTIONS: 102,
  METHODS: 103,
  INSTANCES: 109,
  MANIFEST: 112,
  COMPONENTS: 115,
  COLD: 120,
} as const;

/** Where the parts of an image are: its first section, its headers, its tables, and how far these are apart. */
interface ImageLayout {
  readonly raw: number;
  readonly cor: number;
  readonly header: number;
  readonly tables: number;
  readonly gap: number;
}

/** Where the ready-to-run header of an image is, and its code. */
export const [HEADER, CODE] = [0x2000, 0x5000];
const WIDE = { raw: 0x1000, cor: 0x1400, header: HEADER, tables: 0x10000, gap: 16 };
/** One of a few hundred bytes, whose code is at 0x200. */
export const NARROW: ImageLayout = { raw: 0x100, cor: 0x300, header: 0x360, tables: 0x400, gap: 8 };

const ONE_METHOD: readonly MadeType[] = [{ name: "<Module>" }, { name: "T", methods: ["M"] }];

/** Files of root's of which nothing is kept from run to run. */
export const NOTHING_KEPT: Pick<Sampler, "fileOwner" | "kept" | "keep"> = {
  fileOwner: () => 0,
  kept: () => Buffer.alloc(0),
  keep: () => {},
};

/** A precompiled image of these types whose sections lie one after the other, at their own addresses. */
export function makeImage(
  sections: ReadonlyMap<number, Buffer>,
  types = ONE_METHOD,
  { raw, cor, header, tables, gap }: ImageLayout = WIDE,
): Buffer {
  const parts = [...sections.entries(), [0, makeMetadata(types)] as const];
  const image = Buffer.alloc(parts.reduce((sum, [, { length }]) => sum + length + gap, tables));
  image.write("MZ", 0, "latin1");
  image.writeUInt32LE(0x80, 60);
  image.write("PE\0\0", 0x80, "latin1");
  image.writeUInt16LE(1, 0x86);
  image.writeUInt16LE(240, 0x94);
  image.writeUInt16LE(0x20b, 0x98);
  image.writeUInt32LE(cor, 0x98 + 112 + 8 * 14);
  for (const [at, value] of [image.length - raw, raw, image.length - raw, raw].entries()) {
    image.writeUInt32LE(value, 0x98 + 240 + 8 + 4 * at);
  }
  image.writeUInt32LE(72, cor);
  image.writeUInt32LE(header, cor + 64);
  image.write("RTR\0", header, "latin1");
  image.writeUInt32LE(sections.size, header + 12);
  let at = tables;
  for (const [index, [kind, bytes]] of parts.entries()) {
    bytes.copy(image, at);
    const entry = kind === 0 ? cor + 4 : header + 16 + 12 * index;
    if (kind !== 0) image.writeUInt32LE(kind, entry);
    image.writeUInt32LE(at, entry + 4);
    image.writeUInt32LE(bytes.length, entry + 8);
    at += bytes.length + gap;
  }
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
