/** Reads the memory of processes, whose bytes anybody may have written: everything is bounded. */

import { ARCHITECTURE } from "../../machine/architecture.ts";

/** Something that should be there is missing or does not fit. The message is shown as the reason. */
export class Unreadable extends Error {}

/** Returns what `read` returns, `otherwise` where something that it needs is not there or does not fit. */
export function readOr<Value>(read: () => Value, otherwise: Value): Value {
  try {
    return read();
  } catch (error) {
    if (error instanceof Unreadable || error instanceof RangeError) return otherwise;
    throw error;
  }
}

/** Addresses of user space are below this: numbers hold them exactly. */
const ADDRESS_LIMIT = 2 ** ARCHITECTURE.userAddressBits;

export type ReadMemory = (pid: number, address: bigint, size: number) => Uint8Array;

/** The memory of one process. */
export class ProcessMemory {
  readonly pid: number;
  /** The same memory as it is at this moment, where `read` may keep what it has read. */
  readonly now: ProcessMemory;
  readonly #read: ReadMemory;

  constructor(read: ReadMemory, pid: number, readNow = read) {
    this.#read = read;
    this.pid = pid;
    this.now = readNow === read ? this : new ProcessMemory(readNow, pid);
  }

  /** Exactly `size` bytes; throws Unreadable where a page is missing or the process is gone. */
  bytes(address: number, size: number): Buffer {
    if (!(address > 0 && address < ADDRESS_LIMIT)) throw new Unreadable("an address is none");
    const bytes = this.#read(this.pid, BigInt(address), size);
    if (bytes.length < size) throw new Unreadable("its memory could not be read");
    return Buffer.from(bytes.buffer, bytes.byteOffset, size);
  }

  u8(address: number): number {
    return this.bytes(address, 1).readUInt8(0);
  }

  u16(address: number): number {
    return this.bytes(address, 2).readUInt16LE(0);
  }

  u32(address: number): number {
    return this.bytes(address, 4).readUInt32LE(0);
  }

  pointer(address: number): number {
    return pointerAt(this.bytes(address, 8), 0);
  }
}

/** The pointer at an offset; 0 where the word is no address of user space. */
export function pointerAt(bytes: Buffer, offset: number): number {
  const pointer = bytes.readUInt32LE(offset + 4) * 2 ** 32 + bytes.readUInt32LE(offset);
  return pointer < ADDRESS_LIMIT ? pointer : 0;
}
