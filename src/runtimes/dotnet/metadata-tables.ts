/** The columns of the tables of metadata: ECMA-335 partition II, section 22. */

export const MODULE = 0x00;
export const TYPE_REF = 0x01;
export const TYPE_DEF = 0x02;
export const FIELD = 0x04;
export const METHOD_PTR = 0x05;
export const METHOD = 0x06;
const PARAM = 0x08;
export const MEMBER_REF = 0x0a;
const EVENT = 0x14;
const PROPERTY = 0x17;
const MODULE_REF = 0x1a;
export const TYPE_SPEC = 0x1b;
export const ASSEMBLY = 0x20;
export const ASSEMBLY_REF = 0x23;
const FILE = 0x26;
const EXPORTED_TYPE = 0x27;
export const NESTED_CLASS = 0x29;
export const GENERIC_PARAM = 0x2a;
const METHOD_SPEC = 0x2b;

/** A column: its size, the heap that it is an offset in, or the tables that it is a row of (low bits say which). */
export type Column =
  | number
  | "string"
  | "guid"
  | "blob"
  | { readonly tables: readonly number[]; readonly tagBits: number };

const index = (table: number): Column => ({ tables: [table], tagBits: 0 });
const coded = (tagBits: number, ...tables: number[]) => ({ tables, tagBits });

const typeDefOrRef = coded(2, TYPE_DEF, TYPE_REF, TYPE_SPEC);
export const resolutionScope = coded(2, MODULE, MODULE_REF, ASSEMBLY_REF, TYPE_REF);
export const memberRefParent = coded(3, TYPE_DEF, TYPE_REF, MODULE_REF, METHOD, TYPE_SPEC);
const hasConstant = coded(2, FIELD, PARAM, PROPERTY);
const hasCustomAttribute = coded(
  5,
  ...[METHOD, FIELD, TYPE_REF, TYPE_DEF, PARAM, 0x09, MEMBER_REF, MODULE, 0x0e, PROPERTY, EVENT],
  ...[
    0x11,
    MODULE_REF,
    TYPE_SPEC,
    ASSEMBLY,
    ASSEMBLY_REF,
    FILE,
    EXPORTED_TYPE,
    0x28,
    GENERIC_PARAM,
    0x2c,
    METHOD_SPEC,
  ],
);
const customAttributeType = coded(3, METHOD, MEMBER_REF);
const methodDefOrRef = coded(1, METHOD, MEMBER_REF);
export const typeOrMethod = coded(1, TYPE_DEF, METHOD);

/** Columns of the tables, by table number (section 22). */
export const SCHEMA: readonly (readonly Column[])[] = [
  [2, "string", "guid", "guid", "guid"],
  [resolutionScope, "string", "string"],
  [4, "string", "string", typeDefOrRef, index(FIELD), index(METHOD)],
  [index(FIELD)],
  [2, "string", "blob"],
  [index(METHOD)],
  [4, 2, 2, "string", "blob", index(PARAM)],
  [index(PARAM)],
  [2, 2, "string"],
  [index(TYPE_DEF), typeDefOrRef],
  [memberRefParent, "string", "blob"],
  [2, hasConstant, "blob"],
  [hasCustomAttribute, customAttributeType, "blob"],
  [coded(1, FIELD, PARAM), "blob"],
  [2, coded(2, TYPE_DEF, METHOD, ASSEMBLY), "blob"],
  [2, 4, index(TYPE_DEF)],
  [4, index(FIELD)],
  ["blob"],
  [index(TYPE_DEF), index(EVENT)],
  [index(EVENT)],
  [2, "string", typeDefOrRef],
  [index(TYPE_DEF), index(PROPERTY)],
  [index(PROPERTY)],
  [2, "string", "blob"],
  [2, index(METHOD), coded(1, EVENT, PROPERTY)],
  [index(TYPE_DEF), methodDefOrRef, methodDefOrRef],
  ["string"],
  ["blob"],
  [2, coded(1, FIELD, METHOD), "string", index(MODULE_REF)],
  [4, index(FIELD)],
  [4, 4],
  [4],
  [4, 2, 2, 2, 2, 4, "blob", "string", "string"],
  [4],
  [4, 4, 4],
  [2, 2, 2, 2, 4, "blob", "string", "string", "blob"],
  [4, index(ASSEMBLY_REF)],
  [4, 4, 4, index(ASSEMBLY_REF)],
  [4, "string", "blob"],
  [4, 4, "string", "string", coded(2, FILE, ASSEMBLY_REF, EXPORTED_TYPE)],
  [4, 4, "string", coded(2, FILE, ASSEMBLY_REF)],
  [index(TYPE_DEF), index(TYPE_DEF)],
  [2, 2, typeOrMethod, "string"],
  [methodDefOrRef, "blob"],
  [index(GENERIC_PARAM), typeDefOrRef],
];
