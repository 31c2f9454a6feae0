/**
 * Tells where a runtime keeps what. bpf/dotnet-layouts.json has the offsets of the versions that were measured; the
 * contract descriptor of a runtime (docs/design/datacontracts of dotnet/runtime) goes over them where it has one.
 */
import layouts from "../../../bpf/dotnet-layouts.json" with { type: "json" };
import { type ProcessMemory, pointerAt, Unreadable } from "./memory.ts";

/** `Type.Field` as descriptors name it; the field `!` stands for the size of the type. */
type Field = keyof typeof layouts.offsets | keyof typeof layouts.everywhere;

/** The latest version whose layout was measured. */
export const NEWEST_MEASURED = Math.max(...layouts.versions);

/** The layout of one runtime. */
export interface Layout {
  readonly major: number;
  /** Offsets in bytes by `Type.Field`; 0: the runtime has no such field, or it is not known. */
  readonly at: Readonly<Record<Field, number>>;
  /** How many bits of a method's token are in its MethodDesc. */
  readonly tokenRemainderBits: number;
}

const MAX_OFFSET = 16_384;
const MAX_TOKEN_BITS = 24;
const MAX_DESCRIPTOR = 1 << 20;

type Json = { readonly [key: string]: unknown };

function object(value: unknown): Json {
  return typeof value === "object" && value !== null ? (value as Json) : {};
}

/** Reads a number, or the first of a list: `720`, `"0xc"`, `[720, "pointer"]`; undefined where it is no sane offset. */
function numberIn(value: unknown): number | undefined {
  const plain = Array.isArray(value) ? value[0] : value;
  const number = typeof plain === "string" ? Number(plain) : plain;
  if (typeof number !== "number" || !Number.isInteger(number)) return undefined;
  return number >= 0 && number < MAX_OFFSET ? number : undefined;
}

/** Reads the JSON of the contract descriptor at an address of the process. Throws Unreadable, or SyntaxError. */
export function readDescriptor(memory: ProcessMemory, address: number): unknown {
  const header = memory.bytes(address, 40);
  if (header.toString("latin1", 0, 8) !== "DNCCDAC\0")
    throw new Unreadable("it has no contract descriptor");
  const length = header.readUInt32LE(12);
  if (length > MAX_DESCRIPTOR) throw new Unreadable("its contract descriptor is too long");
  return JSON.parse(memory.bytes(pointerAt(header, 16), length).toString("utf8"));
}

/**
 * Returns the layout of a version, with what a descriptor says over it. A version that was not measured is like the
 * next one that was; one that is later than all of them must describe itself, else this throws Unreadable.
 */
export function layoutOf(major: number, descriptor?: unknown): Layout {
  const { versions, offsets, everywhere } = layouts;
  const { types, globals } = object(descriptor);
  const next = versions.findIndex((version) => version >= major);
  const described = (field: string): number | undefined => {
    const [type = "", member = ""] = field.split(".");
    return numberIn(object(object(types)[type])[member]);
  };
  const at = Object.entries(offsets).map(([field, measured]) => {
    const offset = described(field) ?? measured[next];
    if (offset === undefined) throw new Unreadable(`its runtime does not tell ${field}`);
    return [field, offset];
  });
  const bits = numberIn(object(globals).MethodDescTokenRemainderBitCount);
  return {
    major,
    at: { ...everywhere, ...Object.fromEntries(at) } as Layout["at"],
    tokenRemainderBits:
      bits !== undefined && bits <= MAX_TOKEN_BITS ? bits : layouts.tokenRemainderBits,
  };
}
