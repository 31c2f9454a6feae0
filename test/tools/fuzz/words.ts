/** Words as bytes, in the order of this machine. */

export const u16 = (...values: number[]): Buffer => Buffer.from(Uint16Array.from(values).buffer);
export const u32 = (...values: number[]): Buffer => Buffer.from(Uint32Array.from(values).buffer);
export const u64 = (...values: number[]): Buffer =>
  Buffer.from(BigUint64Array.from(values, (it) => BigInt(it)).buffer);
