/**
 * Where the runtime keeps what, in bytes. The runtime's own contract descriptor says it from .NET 10 on for
 * everything that is read here, in 9 for a part, in 8 for nothing: what it does not say is in the tables,
 * which were measured on 8.0.29, 9.0.18 and 10.0.12.
 */
import { type ProcessMemory, pointerAt, Unreadable } from "./memory.ts";

export interface Layout {
  readonly major: number;
  /** MethodDesc.CodeData, 0 if it has none. */
  readonly methodCodeData: number;
  /** Of what CodeData points to: the state that the list of the method's bodies begins in. */
  readonly codeDataVersions: number;
  readonly versionsFirst: number;
  /** Of a body in that list (NativeCodeVersionNode). */
  readonly versionCode: number;
  readonly versionMethodDesc: number;
  readonly versionNext: number;
  /** 0 if it is not known. */
  readonly versionTier: number;
  /** Of an InstantiatedMethodDesc: handles of the generic arguments, and how many. */
  readonly methodArguments: number;
  readonly methodArgumentCount: number;
  readonly tokenRemainderBits: number;
  readonly chunkSize: number;
  /** MethodTable.Module; 0: the module must be looked for (8). */
  readonly typeModule: number;
  /** Where the row of the type's TypeDef is. */
  readonly typeToken: "word10" | "flags2";
  readonly typeCanonical: number;
  readonly typeInstance: number;
  readonly arrayRank: number;
  readonly paramTypeArgument: number;
  readonly typeVariableModule: number;
  readonly typeVariableToken: number;
  readonly modulePeAssembly: number;
  /** Module.Base, 0 if it has none. */
  readonly moduleBase: number;
  readonly moduleDynamicMetadata: number;
  readonly peAssemblyImage: number;
  readonly peImageLayout: number;
  readonly imageLayoutBase: number;
  /** Of the code header. */
  readonly headerMethodDesc: number;
}

const COMMON = {
  tokenRemainderBits: 12,
  chunkSize: 24,
  typeCanonical: 40,
  typeInstance: 48,
  arrayRank: 72,
  paramTypeArgument: 16,
  typeVariableModule: 16,
  typeVariableToken: 40,
  peAssemblyImage: 8,
  peImageLayout: 120,
  imageLayoutBase: 8,
  headerMethodDesc: 24,
  codeDataVersions: 0,
  versionsFirst: 16,
  versionCode: 0,
  versionMethodDesc: 8,
  versionNext: 24,
  versionTier: 36,
  methodArguments: 24,
  methodArgumentCount: 34,
} as const;

const NET8: Layout = {
  ...COMMON,
  major: 8,
  methodCodeData: 0,
  methodArguments: 16,
  methodArgumentCount: 26,
  typeModule: 0,
  typeToken: "word10",
  modulePeAssembly: 272,
  moduleBase: 0,
  moduleDynamicMetadata: 1688,
};

const NET9: Layout = {
  ...COMMON,
  major: 9,
  methodCodeData: 8,
  typeModule: 24,
  typeToken: "flags2",
  modulePeAssembly: 280,
  moduleBase: 288,
  moduleDynamicMetadata: 1120,
};

const NET10: Layout = {
  ...COMMON,
  major: 10,
  methodCodeData: 8,
  typeModule: 24,
  typeToken: "flags2",
  modulePeAssembly: 216,
  moduleBase: 224,
  moduleDynamicMetadata: 840,
  peImageLayout: 128,
};

/** The fields that a descriptor may give: type and field in its JSON. */
const DESCRIBED: Partial<Record<keyof Layout, readonly [type: string, field: string]>> = {
  methodCodeData: ["MethodDesc", "CodeData"],
  codeDataVersions: ["MethodDescCodeData", "VersioningState"],
  versionsFirst: ["MethodDescVersioningState", "NativeCodeVersionNode"],
  versionCode: ["NativeCodeVersionNode", "NativeCode"],
  versionMethodDesc: ["NativeCodeVersionNode", "MethodDesc"],
  versionNext: ["NativeCodeVersionNode", "Next"],
  versionTier: ["NativeCodeVersionNode", "OptimizationTier"],
  methodArguments: ["InstantiatedMethodDesc", "PerInstInfo"],
  methodArgumentCount: ["InstantiatedMethodDesc", "NumGenericArgs"],
  chunkSize: ["MethodDescChunk", "!"],
  typeModule: ["MethodTable", "Module"],
  typeCanonical: ["MethodTable", "EEClassOrCanonMT"],
  typeInstance: ["MethodTable", "PerInstInfo"],
  arrayRank: ["ArrayClass", "Rank"],
  paramTypeArgument: ["ParamTypeDesc", "TypeArg"],
  typeVariableModule: ["TypeVarTypeDesc", "Module"],
  typeVariableToken: ["TypeVarTypeDesc", "Token"],
  modulePeAssembly: ["Module", "PEAssembly"],
  moduleBase: ["Module", "Base"],
  moduleDynamicMetadata: ["Module", "DynamicMetadata"],
  peAssemblyImage: ["PEAssembly", "PEImage"],
  peImageLayout: ["PEImage", "LoadedImageLayout"],
  imageLayoutBase: ["PEImageLayout", "Base"],
  headerMethodDesc: ["RealCodeHeader", "MethodDesc"],
};

const MAX_OFFSET = 16_384;
const MAX_DESCRIPTOR = 1 << 20;

type Json = { readonly [key: string]: unknown };

function object(value: unknown): Json {
  return typeof value === "object" && value !== null ? (value as Json) : {};
}

/** A number, or the first of a list: `720`, `"0xc"`, `[720, "pointer"]`. */
function numberIn(value: unknown): number | undefined {
  const plain = Array.isArray(value) ? value[0] : value;
  const number = typeof plain === "string" ? Number(plain) : plain;
  if (typeof number !== "number" || !Number.isInteger(number)) return undefined;
  return number >= 0 && number < MAX_OFFSET ? number : undefined;
}

/** The JSON of the contract descriptor at an address of the process. */
export function readDescriptor(memory: ProcessMemory, address: number): unknown {
  const header = memory.bytes(address, 40);
  if (header.toString("latin1", 0, 8) !== "DNCCDAC\0")
    throw new Unreadable("it has no contract descriptor");
  const length = header.readUInt32LE(12);
  if (length > MAX_DESCRIPTOR) throw new Unreadable("its contract descriptor is too long");
  return JSON.parse(memory.bytes(pointerAt(header, 16), length).toString("utf8"));
}

/** The layout of a version, with what a descriptor says over it. */
export function layoutOf(major: number, descriptor?: unknown): Layout {
  const table = major <= 8 ? NET8 : major === 9 ? NET9 : NET10;
  const layout: Record<string, number | string> = { ...table, major };
  // No descriptor of .NET 10 has it; a later version may have put it elsewhere.
  if (major > NET10.major) layout.versionTier = 0;
  const types = object(object(descriptor).types);
  for (const [key, [type, field]] of Object.entries(DESCRIBED)) {
    const described = numberIn(object(types[type])[field]);
    if (described !== undefined) layout[key] = described;
  }
  const bits = numberIn(object(object(descriptor).globals).MethodDescTokenRemainderBitCount);
  if (bits !== undefined && bits <= 24) layout.tokenRemainderBits = bits;
  return layout as unknown as Layout;
}
