/** Functions as numbers that carry their runtime: what stacks are added up by. */
import { type FunctionInfo, RUNTIMES } from "./tick.ts";

/** Bits of a code that hold the runtime, as its place in RUNTIMES. */
const RUNTIME_BITS = 2;
const RUNTIME_MASK = (1 << RUNTIME_BITS) - 1;

/** A function as one number: its id and its runtime. */
export const codeOf = ({ id, runtime }: FunctionInfo): number =>
  (id << RUNTIME_BITS) | RUNTIMES.indexOf(runtime);

/** The id of the function. */
export const idOfCode = (code: number): number => code >>> RUNTIME_BITS;

/** The place of the function's runtime in RUNTIMES. */
export const runtimeOfCode = (code: number): number => code & RUNTIME_MASK;

/** A code of no function. */
export const NO_CODE = 0xffffffff;
