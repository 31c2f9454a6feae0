/**
 * Stacks whose frames say nothing but their functions, as numbers. A busy machine has thousands of
 * stacks a second that are added up once and never looked at: their frames are not made.
 */
import { type Frame, type FunctionInfo, type Outcome, RUNTIMES, type Stack } from "./tick.ts";

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

/** A stack of plain frames; `frames` are made when they are asked for. */
export class PlainStack implements Stack {
  readonly id: number;
  readonly outcome: Outcome;
  /** Holds the codes of the functions from `start` to `end`, leaf first. Shared with other stacks. */
  readonly codes: Uint32Array;
  readonly start: number;
  readonly end: number;
  private readonly plain: readonly Frame[];
  private made: readonly Frame[] | undefined;

  /** `plain`: the frames by id of their function. */
  constructor(
    id: number,
    outcome: Outcome,
    { codes, start, end }: { codes: Uint32Array; start: number; end: number },
    plain: readonly Frame[],
  ) {
    this.id = id;
    this.outcome = outcome;
    this.codes = codes;
    this.start = start;
    this.end = end;
    this.plain = plain;
    this.made = undefined;
  }

  get frames(): readonly Frame[] {
    if (!this.made) {
      const made: Frame[] = [];
      for (let at = this.start; at < this.end; at++) made.push(this.frameAt(at));
      this.made = made;
    }
    return this.made;
  }

  /** The frame of `codes[at]`. */
  frameAt(at: number): Frame {
    return this.plain[idOfCode(this.codes[at] ?? 0)] as Frame;
  }
}
