/** Functions as numbers that carry their runtime: what stacks are added up by. */
import { EVERY_RUNTIME, PLACES } from "./runtimes.ts";
import type { FunctionInfo } from "./tick.ts";

/** How many bits of a code hold the place of the runtime. */
const RUNTIME_BITS = Math.ceil(Math.log2(EVERY_RUNTIME.length));
const RUNTIME_MASK = (1 << RUNTIME_BITS) - 1;

/** A function as one number: its id and its runtime. */
export const codeOf = ({ id, runtime }: FunctionInfo): number =>
  (id << RUNTIME_BITS) | PLACES[runtime];

/** The id of the function. */
export const idOfCode = (code: number): number => code >>> RUNTIME_BITS;

/** The place of the function's runtime in EVERY_RUNTIME. */
export const runtimeOfCode = (code: number): number => code & RUNTIME_MASK;

/** A code of no function. */
export const NO_CODE = 0xffffffff;
