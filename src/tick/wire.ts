/**
 * Ticks between the collecting thread and the rest: what is new is sent once and referred to by
 * number from then on.
 */

import { FrameNumbers } from "./frame-numbers.ts";
import { release } from "./numbers.ts";
import { StackTable } from "./stack-table.ts";
import type { Frame, FunctionInfo, Task, Tick } from "./tick.ts";

/** Everything of a tick but its counts. */
export type TickHeader = Omit<Tick, "counts">;

/** What a frame may say beside its function. */
export type FrameDetail = Omit<Frame, "function">;

/** New frames. */
export interface WireFrames {
  /** For each, the id of its function. */
  readonly functions: Uint32Array<ArrayBuffer>;
  /** By index; most frames have none. */
  readonly details: ReadonlyMap<number, FrameDetail>;
}

/** What a tick adds to those before it. */
export interface TickDelta {
  readonly header: TickHeader;
  /** New functions; ids go on from those before. */
  readonly functions: readonly FunctionInfo[];
  /** Number of the first of `frames`. */
  readonly firstFrame: number;
  readonly frames: WireFrames;
  /** New stacks; for each: number (one more than that before), outcome, frame count, frame numbers (leaf first). */
  readonly stacks: Uint32Array<ArrayBuffer>;
  /** For each: stack number, index in `tasks`, count. */
  readonly counts: Uint32Array<ArrayBuffer>;
  readonly tasks: readonly Task[];
  /** Stacks and frames with lower numbers are not referred to any more. */
  readonly forgottenStacks: number;
  readonly forgottenFrames: number;
}

/** The memory of a delta that can be handed over to another thread instead of copied. */
export const buffersOf = ({ frames, stacks, counts }: TickDelta): ArrayBuffer[] =>
  [frames.functions, stacks, counts].map(({ buffer }) => buffer);

/** Makes ticks of deltas. Equal frames and functions of its ticks are the same objects. */
export class TickAssembler {
  readonly #frames = new FrameNumbers();
  readonly #stacks = new StackTable(this.#frames);

  /** The tick of a delta, whose arrays are used up; deltas must come in order, none left out. */
  assemble(delta: TickDelta): Tick {
    this.#frames.learn(delta.functions);
    this.#frames.add(delta.firstFrame, delta.frames);
    this.#stacks.add(delta.stacks);
    const counts = this.#stacks.counts(delta.counts, delta.tasks);
    this.#stacks.endRefresh(delta.forgottenStacks);
    this.#frames.forgetBelow(delta.forgottenFrames);
    for (const taken of [delta.frames.functions, delta.stacks, delta.counts]) release(taken);
    return { ...delta.header, counts };
  }

  /** The number of a frame of a stack, while deltas may still refer to that. */
  frameNumber(stack: number, index: number): number | undefined {
    return this.#stacks.frameNumber(stack, index);
  }
}
