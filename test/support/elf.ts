/** Finds the places in an ELF file that tests damage. */
/** Offsets in the header of a 64-bit ELF file (ELF gABI, figures 4-3, 4-8 and 5-1). */
export const ELF = {
  phoff: 0x20,
  shoff: 0x28,
  phentsize: 0x36,
  phnum: 0x38,
  shentsize: 0x3a,
  shnum: 0x3c,
  shstrndx: 0x3e,
};
export const PT_GNU_EH_FRAME = 0x6474e550;

/** Where a section is, and where its header is. */
export interface Range {
  readonly header: number;
  readonly offset: number;
  readonly size: number;
}

/** Finds a section by its name. */
export function section(elf: Buffer, name: string): Range {
  const table = Number(elf.readBigUInt64LE(ELF.shoff));
  const entry = elf.readUInt16LE(ELF.shentsize);
  const range = (index: number): Range => {
    const header = table + index * entry;
    const [offset, size] = [0x18, 0x20].map((at) => Number(elf.readBigUInt64LE(header + at)));
    return { header, offset: offset ?? 0, size: size ?? 0 };
  };
  const names = range(elf.readUInt16LE(ELF.shstrndx));
  for (let index = 0; index < elf.readUInt16LE(ELF.shnum); index++) {
    const found = range(index);
    const at = names.offset + elf.readUInt32LE(found.header);
    if (elf.toString("latin1", at, elf.indexOf(0, at)) === name) return found;
  }
  throw new Error(`no section ${name}`);
}

/** Where the program header of this type is. */
export function segment(elf: Buffer, type: number): number {
  const table = Number(elf.readBigUInt64LE(ELF.phoff));
  for (let index = 0; index < elf.readUInt16LE(ELF.phnum); index++) {
    const header = table + index * elf.readUInt16LE(ELF.phentsize);
    if (elf.readUInt32LE(header) === type) return header;
  }
  throw new Error(`no segment ${type}`);
}

/** Bytes without a pattern, the same in every run. */
export function noise(elf: Buffer, { offset, size }: Range): void {
  let state = 12345;
  for (let at = offset; at < offset + size; at++) {
    state = (Math.imul(state, 1103515245) + 12345) >>> 0;
    elf[at] = state >>> 16;
  }
}

const DYNSYM_ENTRY = 24;

/** Where a variable of the dynamic symbols is in the file; that its section is mapped as it lies is assumed. */
export function symbolOffset(elf: Buffer, name: string): number {
  const table = section(elf, ".dynsym");
  const names = section(elf, ".dynstr");
  for (let at = table.offset; at < table.offset + table.size; at += DYNSYM_ENTRY) {
    const start = names.offset + elf.readUInt32LE(at);
    if (elf.toString("latin1", start, elf.indexOf(0, start)) !== name) continue;
    return Number(elf.readBigUInt64LE(at + 8));
  }
  throw new Error(`no symbol ${name}`);
}
