/**
 * Ticks between the collecting thread and the rest: what is new is sent once and referred to by
 * number from then on.
 */
import { Numbered } from "./numbered.ts";
import type { Frame, FunctionInfo, Outcome, Stack, StackCount, Task, Tick } from "./tick.ts";

/** Everything of a tick but its counts. */
export type TickHeader = Omit<Tick, "counts">;

/** A frame whose function is named by its id. */
export interface WireFrame extends Omit<Frame, "function"> {
  readonly function: number;
}

/** What a tick adds to those before it. */
export interface TickDelta {
  readonly header: TickHeader;
  /** New functions; ids go on from those before. */
  readonly functions: readonly FunctionInfo[];
  /** Number of the first of `frames`. */
  readonly firstFrame: number;
  readonly frames: readonly WireFrame[];
  /** New stacks; for each: number, outcome, frame count, frame numbers (leaf first). */
  readonly stacks: Uint32Array;
  /** For each: stack number, index in `tasks`, count. */
  readonly counts: Uint32Array;
  readonly tasks: readonly Task[];
  /** Stacks and frames with lower numbers are not referred to any more. */
  readonly forgottenStacks: number;
  readonly forgottenFrames: number;
}

/** Outcomes by their number in bpf/abi.h (a test compares them with the addon's). */
export const OUTCOMES: readonly Outcome[] = ["complete", "truncated", "broken"];

/** Makes ticks of deltas. Equal stacks, frames and functions of its ticks are the same objects. */
export class TickAssembler {
  readonly #functions: FunctionInfo[] = [];
  readonly #frames = new Numbered<Frame>();
  readonly #stacks = new Numbered<Stack>();

  /** The tick of a delta; deltas must come in order, none left out. */
  assemble(delta: TickDelta): Tick {
    for (const it of delta.functions) this.#functions[it.id] = it;
    let number = delta.firstFrame;
    for (const frame of delta.frames) this.#addFrame(number++, frame);
    this.#addStacks(delta.stacks);
    const counts = this.#count(delta);
    this.#stacks.forgetBelow(delta.forgottenStacks);
    this.#frames.forgetBelow(delta.forgottenFrames);
    return { ...delta.header, counts };
  }

  #addFrame(number: number, frame: WireFrame): void {
    const named = this.#functions[frame.function];
    if (named) this.#frames.set(number, { ...frame, function: named });
    else throw new Error(`frame ${number} is of an unknown function`);
  }

  #addStacks(words: Uint32Array): void {
    for (let at = 0; at + 2 < words.length; ) {
      const id = words[at] ?? 0;
      const outcome = OUTCOMES[words[at + 1] ?? 0] ?? "broken";
      const end = at + 3 + (words[at + 2] ?? 0);
      const frames: Frame[] = [];
      for (at += 3; at < end; at++) {
        const frame = this.#frames.get(words[at] ?? 0);
        if (frame) frames.push(frame);
      }
      this.#stacks.set(id, { id, frames, outcome });
    }
  }

  #count({ counts, tasks }: TickDelta): StackCount[] {
    const list: StackCount[] = [];
    for (let at = 0; at + 2 < counts.length; at += 3) {
      const stack = this.#stacks.get(counts[at] ?? 0);
      const task = tasks[counts[at + 1] ?? 0];
      if (stack && task) list.push({ stack, task, count: counts[at + 2] ?? 0 });
    }
    return list;
  }
}
