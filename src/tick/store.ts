/**
 * What the counts of ticks refer to, each once and in columns: frames, stacks as a prefix tree, threads. Live view,
 * replay, history, tree, detail and exports read this one table. A source begins a new store when one has grown
 * large; the ticks before keep theirs.
 */
import type { TickDelta } from "./delta.ts";
import { type Functions, STAND_INS } from "./functions.ts";
import { Numbers, release } from "./numbers.ts";
import { type FrameDetail, type FunctionInfo, OUTCOMES, type Outcome, type Task } from "./tick.ts";

/** The node that is the parent of outermost frames. */
export const ROOT = 0;

/** Flags of a frame: a native frame of the interpreter that executes the frame shown for it. */
export const FRAME_FOLDED = 1;

/** One frame as an object, for those who look at few. */
export interface Frame extends FrameDetail {
  readonly function: FunctionInfo;
}

/** Frames in columns; 0 stands for nothing in all but `functions`. */
class Frames {
  readonly functions = new Numbers();
  /** Line and 1. */
  readonly lines = new Numbers();
  /** Number of the text and 1. */
  readonly notes = new Numbers();
  readonly bodies = new Numbers();
  readonly flags = new Numbers();

  get length(): number {
    return this.functions.length;
  }
}

/** A rough figure for the memory of a thread's texts and numbers. */
const TASK_BYTES = 200;
const TEXT_BYTES = 60;

export class Store {
  readonly functions: Functions;
  readonly frames = new Frames();
  /** For each node of the tree its parent, whose number is lower, and its frame. */
  readonly parents = new Numbers();
  readonly nodeFrames = new Numbers();
  /** For each stack the node of its innermost frame, ROOT if it has none, and the place of its outcome in OUTCOMES. */
  readonly leaves = new Numbers();
  readonly outcomes = new Numbers();
  readonly tasks: Task[] = [];
  readonly texts: string[] = [];

  constructor(functions: Functions) {
    this.functions = functions;
    for (const { id } of STAND_INS) {
      this.frames.functions.push(id);
      for (const column of [this.frames.lines, this.frames.notes]) column.push(0);
      for (const column of [this.frames.bodies, this.frames.flags]) column.push(0);
    }
    this.parents.push(ROOT);
    this.nodeFrames.push(0);
  }

  /** Takes in what is new; its arrays are used up. */
  append({ texts, frames, nodes, stacks, tasks }: TickDelta): void {
    for (const text of texts) this.texts.push(text);
    for (const task of tasks) this.tasks.push(task);
    const parts: readonly (readonly [Numbers, Uint32Array<ArrayBuffer>])[] = [
      [this.frames.functions, frames.functions],
      [this.frames.lines, frames.lines],
      [this.frames.notes, frames.notes],
      [this.frames.bodies, frames.bodies],
      [this.frames.flags, frames.flags],
      [this.parents, nodes.parents],
      [this.nodeFrames, nodes.frames],
      [this.leaves, stacks.leaves],
      [this.outcomes, stacks.outcomes],
    ];
    for (const [column, news] of parts) {
      column.append(news);
      release(news);
    }
  }

  outcomeOf(stack: number): Outcome {
    return OUTCOMES[this.outcomes.at(stack)] ?? "broken";
  }

  /** The numbers of a stack's frames, leaf first. */
  framesOf(stack: number): number[] {
    const frames: number[] = [];
    for (let node = this.leaves.at(stack); node !== ROOT; node = this.parents.at(node)) {
      frames.push(this.nodeFrames.at(node));
    }
    return frames;
  }

  functionOf(frame: number): FunctionInfo {
    return this.functions.info(this.frames.functions.at(frame));
  }

  lineOf(frame: number): number | undefined {
    const line = this.frames.lines.at(frame);
    return line === 0 ? undefined : line - 1;
  }

  noteOf(frame: number): string | undefined {
    return this.#text(this.frames.notes.at(frame));
  }

  bodyOf(frame: number): string | undefined {
    return this.#text(this.frames.bodies.at(frame));
  }

  isFolded(frame: number): boolean {
    return (this.frames.flags.at(frame) & FRAME_FOLDED) !== 0;
  }

  #text(number: number): string | undefined {
    return number === 0 ? undefined : this.texts[number - 1];
  }

  /** One frame as an object. */
  frame(number: number): Frame {
    const [line, note, body] = [this.lineOf(number), this.noteOf(number), this.bodyOf(number)];
    return {
      function: this.functionOf(number),
      ...(line === undefined ? {} : { line }),
      ...(note === undefined ? {} : { note }),
      ...(body === undefined ? {} : { body }),
      ...(this.isFolded(number) ? { folded: true } : {}),
    };
  }

  /** About the memory that it takes; functions belong to all stores. */
  get bytes(): number {
    const { functions, lines, notes, bodies, flags } = this.frames;
    const columns = [functions, lines, notes, bodies, flags, this.parents, this.nodeFrames];
    const numbers = [...columns, this.leaves, this.outcomes].reduce((sum, it) => sum + it.bytes, 0);
    return numbers + this.tasks.length * TASK_BYTES + this.texts.length * TEXT_BYTES;
  }
}
