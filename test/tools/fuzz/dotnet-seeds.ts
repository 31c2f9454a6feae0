/** Small honest parts of precompiled .NET code. */
import { u32, u64 } from "./words.ts";

/** A sparse array of NativeFormat: four rows, of which some have a function. */
export const DEFINITIONS = Buffer.from([0x10, 0x10, 4, 6, 0, 0, 0, 2, 0, 0]);
/** A hash table of NativeFormat: one instance of a generic method. */
export const INSTANCES = Buffer.from([
  2, 15, 0, 0, 0, 21, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x0f, 6, 0, 0, 0, 4, 1, 1, 8, 2,
]);

/** Tables of two assemblies behind what is asked of them: the length of that, then as encodeMethodQuery() writes it. */
export function methodTables(): Buffer {
  const sizes = u32(DEFINITIONS.length, DEFINITIONS.length);
  const query = Buffer.concat([u32(64, INSTANCES.length), u64(2), sizes]);
  return Buffer.concat([Buffer.from([query.length]), query, INSTANCES, DEFINITIONS, DEFINITIONS]);
}

/** An assembly with three precompiled functions, and the same behind an ELF file as its bundle. */
export function assembly(): Buffer {
  const bytes = Buffer.alloc(0x800);
  bytes.write("MZ", 0);
  bytes.writeUInt32LE(0x80, 60);
  bytes.write("PE\0\0\x64\x86\x01\0", 0x80, "latin1");
  bytes.writeUInt16LE(240, 0x80 + 20);
  const optional = 0x98;
  bytes.writeUInt16LE(0x20b, optional);
  bytes.writeUInt32LE(0x1300, optional + 112 + 8 * 14);
  bytes.set(u32(0x1000, 0x1000, 0x600, 0x200), optional + 240 + 8);
  bytes.writeUInt32LE(72, 0x500);
  bytes.writeUInt32LE(0x1350, 0x500 + 64);
  bytes.set(u32(0x525452, 9, 0, 1, 102, 0x1380, 36), 0x550);
  bytes.set(u32(0x1010, 0x1040, 0x13c0, 0x1040, 0x1080, 0x13d0, 0x1080, 0x10a0, 0x13e0), 0x580);
  bytes.set([1, 8, 4, 5, 8, 3, 5, 0x50, 4, 0x32, 1, 0x30], 0x5c0);
  bytes.set([1, 4, 2, 0, 4, 0x42, 0, 0], 0x5d0);
  bytes.set([0x21, 0, 0, 0, 0x10, 0x10, 0, 0, 0x40, 0x10, 0, 0, 0xc0, 0x13, 0, 0], 0x5e0);
  return bytes;
}

export function bundle(program: Buffer, image: Buffer): Buffer {
  const signature = Buffer.from("8b1202b96a612038", "hex");
  const start = Math.ceil(program.length / 4096) * 4096 + 4096;
  const manifest = Buffer.concat([
    u32(6, 0, 1),
    Buffer.from("\x02id"),
    u64(0, 0, 0, 0, 0),
    u64(start, image.length, 0),
    Buffer.from([1, 1, 97]),
  ]);
  const whole = Buffer.concat([program, Buffer.alloc(start - program.length), image, manifest]);
  const at = whole.indexOf(signature);
  if (at >= 8) whole.writeBigUInt64LE(BigInt(start + image.length), at - 8);
  return whole;
}
