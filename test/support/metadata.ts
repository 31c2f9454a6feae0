/** Makes the metadata of small assemblies (ECMA-335 II.24), whole or wrong in a chosen way. */

/** A type; `outer`: the number of the type that it is in, from 1. */
export interface MadeType {
  readonly namespace?: string;
  readonly name: string;
  readonly methods?: readonly string[];
  readonly parameters?: readonly string[];
  readonly outer?: number;
}

/** What is said of the tables besides what is in them. */
export interface MadeOptions {
  /** Tables in the order of their keys. */
  readonly sorted?: boolean;
  /** Names of other assemblies that it refers to. */
  readonly referred?: readonly string[];
  /** The last name has no end. */
  readonly openEnd?: boolean;
}

const [MODULE, TYPE_DEF, METHOD, ASSEMBLY, ASSEMBLY_REF, NESTED_CLASS, GENERIC_PARAM] = [
  0x00, 0x02, 0x06, 0x20, 0x23, 0x29, 0x2a,
] as const;

const u16 = (...values: number[]): Buffer => Buffer.from(Uint16Array.from(values).buffer);
const u32 = (...values: number[]): Buffer => Buffer.from(Uint32Array.from(values).buffer);

const padded = (bytes: Buffer): Buffer =>
  Buffer.concat([bytes, Buffer.alloc((4 - (bytes.length % 4)) % 4)]);

/** The bytes from `BSJB` on. Types and methods are numbered from 1 in their order. */
export function makeMetadata(types: readonly MadeType[], options: MadeOptions = {}): Buffer {
  const { sorted = true, openEnd = false, referred = [] } = options;
  let strings = Buffer.from("\0");
  const text = (value: string): number => {
    if (value === "") return 0;
    const at = strings.length;
    strings = Buffer.concat([strings, Buffer.from(`${value}\0`)]);
    return at;
  };
  const rows = new Map<number, Buffer[]>();
  const add = (table: number, row: Buffer): void => {
    rows.set(table, [...(rows.get(table) ?? []), row]);
  };
  add(MODULE, u16(0, text("made.dll"), 1, 0, 0));
  add(ASSEMBLY, Buffer.concat([u32(0x8004), u16(1, 2, 3, 4), u32(0), u16(0, text("made"), 0)]));
  for (const it of referred)
    add(ASSEMBLY_REF, Buffer.concat([u16(1, 0, 0, 0), u32(0), u16(0, text(it), 0, 0)]));
  let method = 1;
  types.forEach(({ namespace = "", name, methods = [], parameters = [], outer }, at) => {
    const names = u16(text(name), text(namespace));
    add(TYPE_DEF, Buffer.concat([u32(0), names, u16(0, 1, method)]));
    for (const it of methods) {
      add(METHOD, Buffer.concat([u32(0), u16(0, 0, text(it), 0, 1)]));
      method++;
    }
    if (outer !== undefined) add(NESTED_CLASS, u16(at + 1, outer));
    parameters.forEach((it, index) => {
      add(GENERIC_PARAM, u16(index, 0, (at + 1) << 1, text(it)));
    });
  });
  const tables = [...rows.keys()].sort((a, b) => a - b);
  const mask = tables.reduce((bits, table) => bits | (1n << BigInt(table)), 0n);
  const masks = Buffer.alloc(16);
  masks.writeBigUInt64LE(mask);
  if (sorted) masks.writeBigUInt64LE(mask, 8);
  const inOrder = (table: number): Buffer[] => {
    const list = rows.get(table) ?? [];
    return !sorted && table >= NESTED_CLASS ? list.toReversed() : list;
  };
  const tableStream = Buffer.concat([
    u32(0),
    Buffer.from([2, 0, 0, 1]),
    masks,
    u32(...tables.map((table) => rows.get(table)?.length ?? 0)),
    ...tables.flatMap(inOrder),
  ]);
  if (openEnd) strings = strings.subarray(0, -1);
  // The heap of strings is the last: what has no end there has none at all.
  const streams = [
    { name: "#~\0\0", bytes: padded(tableStream) },
    { name: "#GUID\0\0\0", bytes: Buffer.alloc(16, 7) },
    { name: "#Strings\0\0\0\0", bytes: openEnd ? strings : padded(strings) },
  ];
  const version = padded(Buffer.from("v4.0.30319\0"));
  const head = 16 + version.length + 4;
  let at = streams.reduce((sum, { name }) => sum + 8 + name.length, head);
  const headers = streams.map(({ name, bytes }) => {
    const header = Buffer.concat([u32(at, bytes.length), Buffer.from(name)]);
    at += bytes.length;
    return header;
  });
  const root = Buffer.concat([Buffer.from("BSJB"), u16(1, 1), u32(0, version.length), version]);
  return Buffer.concat([
    root,
    u16(0, streams.length),
    ...headers,
    ...streams.map(({ bytes }) => bytes),
  ]);
}
