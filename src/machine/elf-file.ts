/** What can be told of an ELF file by its size (elf(5)). */
import { closeSync, fstatSync, openSync, readSync } from "node:fs";

const HEADER_BYTES = 64;
/** Places of fields in the header of a 64-bit file. */
const SECTIONS_AT = 0x28;
const SECTION_BYTES_AT = 0x3a;
const SECTION_COUNT_AT = 0x3c;

/**
 * Whether the end of a file is missing: linkers put the table of sections there, and the header says where that is.
 * The dynamic loader does not look: it maps what it needs, and the process is ended by SIGBUS later.
 */
export function isCutOff(path: string): boolean {
  const file = openSync(path, "r");
  try {
    const header = Buffer.alloc(HEADER_BYTES);
    if (readSync(file, header, 0, HEADER_BYTES, 0) < HEADER_BYTES) return true;
    const sections = header.readBigUInt64LE(SECTIONS_AT);
    const bytes = header.readUInt16LE(SECTION_BYTES_AT) * header.readUInt16LE(SECTION_COUNT_AT);
    return sections + BigInt(bytes) > BigInt(fstatSync(file).size);
  } finally {
    closeSync(file);
  }
}
