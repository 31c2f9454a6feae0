/**
 * What the counts of ticks refer to, each once and in columns: frames, stacks as a prefix tree, threads. Live view,
 * replay, history, tree, detail and exports read this one table. A source begins a new store when one has grown
 * large; the ticks before keep theirs.
 */

import { Numbers, release } from "./columns/numbers.ts";
import type { Family } from "./family.ts";
import { type Functions, STAND_INS } from "./functions.ts";
import { ROOT } from "./prefix-tree.ts";
import {
  type AwaitRole,
  type FrameDetail,
  type FunctionInfo,
  OUTCOMES,
  type Outcome,
  type Task,
} from "./tick.ts";
import type { Wait } from "./waits.ts";

/** Flags of a frame: a native frame of the interpreter that executes the frame shown for it. */
export const FRAME_FOLDED = 1;
/** What it is to those that await (AwaitRole), in two bits. */
export const FRAME_AWAITS = 2;
export const FRAME_SCHEDULES = 4;
export const FRAME_MARK = FRAME_AWAITS | FRAME_SCHEDULES;

/** The roles by their flags. */
const AWAIT_ROLES = new Map<number, AwaitRole>([
  [FRAME_AWAITS, "awaits"],
  [FRAME_MARK, "mark"],
  [FRAME_SCHEDULES, "schedules"],
]);

/** The flags of a frame. */
export function flagsOf({ folded, awaits }: FrameDetail): number {
  const role = [...AWAIT_ROLES].find(([, it]) => it === awaits);
  return (folded ? FRAME_FOLDED : 0) | (role ? role[0] : 0);
}

/** One frame as an object, for those who look at few. */
export interface Frame extends FrameDetail {
  readonly function: FunctionInfo;
}

/**
 * The columns of a store. A frame has the place of a function (Functions), a line and 1, numbers of a note and of a
 * body and 1 (0 for none), and flags. A node of the tree has its number less that of its parent, and its frame; several
 * children of a node may have the same one. A stack has the node of its innermost frame, ROOT if it has none, the place
 * of its outcome in OUTCOMES, and how its thread waits (Wait).
 */
export const COLUMNS = [
  "frameFunctions",
  "frameLines",
  "frameNotes",
  "frameBodies",
  "frameFlags",
  "nodeBacks",
  "nodeFrames",
  "stackLeaves",
  "stackOutcomes",
  "stackWaits",
] as const;

export type ColumnName = (typeof COLUMNS)[number];

/** A value for each column. */
export function eachColumn<T>(make: (name: ColumnName) => T): Record<ColumnName, T> {
  return Object.fromEntries(COLUMNS.map((name) => [name, make(name)])) as Record<ColumnName, T>;
}

/** A rough figure for the memory of a thread's texts and numbers. */
const TASK_BYTES = 200;
const TEXT_BYTES = 60;
/** The same of a function beside its names. */
const FUNCTION_BYTES = 200;

export class Store {
  readonly functions: Functions;
  /** Who started whom, in all stores of the source. */
  readonly family: Family;
  readonly columns: Readonly<Record<ColumnName, Numbers>> = eachColumn(() => new Numbers());
  /** Threads that were sampled, and processes above theirs that were not. */
  readonly tasks: Task[] = [];
  readonly texts: string[] = [];
  #functionBytes = 0;

  constructor(functions: Functions, family: Family) {
    this.family = family;
    this.functions = functions;
    // Each stand-in has a frame that says nothing more, and the tree has its root.
    for (const { id } of STAND_INS) {
      const { frameFunctions, frameLines, frameNotes, frameBodies, frameFlags } = this.columns;
      frameFunctions.push(id);
      for (const column of [frameLines, frameNotes, frameBodies, frameFlags]) column.push(0);
    }
    this.columns.nodeBacks.push(0);
    this.columns.nodeFrames.push(0);
  }

  get frameCount(): number {
    return this.columns.frameFunctions.length;
  }

  get stackCount(): number {
    return this.columns.stackLeaves.length;
  }

  /** How many nodes the tree has, the root too. */
  get nodeCount(): number {
    return this.columns.nodeFrames.length;
  }

  /** Takes in functions that are new, or come again after they were forgotten. */
  addFunctions(functions: readonly FunctionInfo[]): void {
    for (const { name } of functions) this.#functionBytes += FUNCTION_BYTES + 2 * name.length;
    this.functions.append(functions);
  }

  /** Takes in a thread, or a process above one, and returns its number. */
  addTask(task: Task): number {
    this.family.register(task);
    return this.tasks.push(task) - 1;
  }

  /** Takes in rows of all columns, in which frames have the ids of functions; the arrays are used up. */
  append(columns: Readonly<Record<ColumnName, Uint32Array<ArrayBuffer>>>): void {
    const { frameFunctions } = columns;
    const { length } = frameFunctions;
    for (let i = 0; i < length; i++) {
      frameFunctions[i] = this.functions.placeOf(frameFunctions[i] ?? 0);
    }
    for (const name of COLUMNS) {
      this.columns[name].append(columns[name]);
      release(columns[name]);
    }
  }

  outcomeOf(stack: number): Outcome {
    return OUTCOMES[this.columns.stackOutcomes.at(stack)] ?? "broken";
  }

  /** How the thread of a stack waits; 0 where it ran. */
  waitOf(stack: number): Wait {
    return this.columns.stackWaits.at(stack);
  }

  /** The numbers of a stack's frames, leaf first. */
  framesOf(stack: number): number[] {
    const frames: number[] = [];
    const { stackLeaves, nodeBacks, nodeFrames } = this.columns;
    for (let node = stackLeaves.at(stack); node !== ROOT; node -= nodeBacks.at(node)) {
      frames.push(nodeFrames.at(node));
    }
    return frames;
  }

  /** Sets `used` to 1 at the places of its functions. */
  markFunctions(used: Uint8Array): void {
    const { values } = this.columns.frameFunctions;
    for (let frame = 0; frame < this.frameCount; frame++) used[values[frame] ?? 0] = 1;
  }

  functionOf(frame: number): FunctionInfo {
    return this.functions.info(this.columns.frameFunctions.at(frame));
  }

  lineOf(frame: number): number | undefined {
    const line = this.columns.frameLines.at(frame);
    return line === 0 ? undefined : line - 1;
  }

  noteOf(frame: number): string | undefined {
    return this.#text(this.columns.frameNotes.at(frame));
  }

  bodyOf(frame: number): string | undefined {
    return this.#text(this.columns.frameBodies.at(frame));
  }

  isFolded(frame: number): boolean {
    return (this.columns.frameFlags.at(frame) & FRAME_FOLDED) !== 0;
  }

  awaitRoleOf(frame: number): AwaitRole | undefined {
    return AWAIT_ROLES.get(this.columns.frameFlags.at(frame) & FRAME_MARK);
  }

  /** Says whether the function of a frame awaits what is further in. */
  awaits(frame: number): boolean {
    return (this.columns.frameFlags.at(frame) & FRAME_MARK) === FRAME_AWAITS;
  }

  #text(number: number): string | undefined {
    return number === 0 ? undefined : this.texts[number - 1];
  }

  /** One frame as an object. */
  frame(number: number): Frame {
    const [line, note, body] = [this.lineOf(number), this.noteOf(number), this.bodyOf(number)];
    const awaits = this.awaitRoleOf(number);
    return {
      function: this.functionOf(number),
      ...(line === undefined ? {} : { line }),
      ...(note === undefined ? {} : { note }),
      ...(body === undefined ? {} : { body }),
      ...(this.isFolded(number) ? { folded: true } : {}),
      ...(awaits === undefined ? {} : { awaits }),
    };
  }

  /** Nothing is appended any more, and hardly anybody will read: the columns are compressed. */
  archive(): void {
    for (const name of COLUMNS) this.columns[name].archive();
  }

  /** About the memory that it takes; functions belong to all stores. */
  get bytes(): number {
    const numbers = COLUMNS.reduce((sum, name) => sum + this.columns[name].bytes, 0);
    return numbers + this.tasks.length * TASK_BYTES + this.texts.length * TEXT_BYTES;
  }

  /** About the memory of the functions that came with it: they may stay for as long as it does. */
  get functionBytes(): number {
    return this.#functionBytes;
  }
}
