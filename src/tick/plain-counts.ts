/**
 * The counts of a refresh as numbers. A busy machine has thousands of stacks a second that are added up once and
 * never looked at: these are made objects only when somebody asks for them.
 */
import { idOfCode } from "./function-code.ts";
import {
  type Counts,
  type Frame,
  type FunctionInfo,
  OUTCOMES,
  type Stack,
  type StackCount,
  type Task,
} from "./tick.ts";

/** The numbers of a count. */
const TASK = 0;
const COUNT = 1;
const STACK = 2;
const OUTCOME = 3;
const START = 4;
const END = 5;
const FIELDS = 6;

/** What is known of the frames of a refresh. */
export interface PlainFrames {
  /** Codes of functions (codeOf), those of a stack one after the other, leaf first. */
  readonly codes: Uint32Array;
  /** Frames that say nothing but their function, by its id. */
  readonly plain: readonly Frame[];
}

/** Counts of which most are numbers. */
export class PlainCounts implements Counts {
  readonly length: number;
  /** Those of the counts; some may have none. */
  readonly tasks: readonly Task[];
  readonly codes: Uint32Array;
  readonly #plain: readonly Frame[];
  readonly #numbers: Uint32Array;
  /** By place, those of which some frame says more than its function. */
  readonly #detailed = new Map<number, Stack>();
  #list: readonly StackCount[] | undefined;

  /** Has room for `length` counts, which are to be put in before anything is asked for. */
  constructor(length: number, tasks: readonly Task[], { codes, plain }: PlainFrames) {
    this.length = length;
    this.tasks = tasks;
    this.codes = codes;
    this.#plain = plain;
    this.#numbers = new Uint32Array(length * FIELDS);
  }

  /** Puts the count at a place; its stack comes with one of the two below. */
  put(place: number, task: number, count: number): void {
    const at = place * FIELDS;
    this.#numbers[at + TASK] = task;
    this.#numbers[at + COUNT] = count;
  }

  /** The stack of a count: its codes are those from `start` to `end`. */
  putPlain(place: number, id: number, outcome: number, start: number, end: number): void {
    const at = place * FIELDS;
    this.#numbers[at + STACK] = id;
    this.#numbers[at + OUTCOME] = outcome;
    this.#numbers[at + START] = start;
    this.#numbers[at + END] = end;
  }

  /** The stack of a count. */
  putDetailed(place: number, stack: Stack): void {
    this.#detailed.set(place, stack);
  }

  /** Whether the frames of a stack are in `codes`. */
  isPlain(place: number): boolean {
    return this.#detailed.size === 0 || !this.#detailed.has(place);
  }

  /** The place of its task. */
  taskOf(place: number): number {
    return this.#numbers[place * FIELDS + TASK] ?? 0;
  }

  countOf(place: number): number {
    return this.#numbers[place * FIELDS + COUNT] ?? 0;
  }

  /** Of a plain stack, as those that follow. */
  idOf(place: number): number {
    return this.#numbers[place * FIELDS + STACK] ?? 0;
  }

  outcomeOf(place: number): number {
    return this.#numbers[place * FIELDS + OUTCOME] ?? 0;
  }

  startOf(place: number): number {
    return this.#numbers[place * FIELDS + START] ?? 0;
  }

  endOf(place: number): number {
    return this.#numbers[place * FIELDS + END] ?? 0;
  }

  /** The frame of a function. */
  frameOf(id: number): Frame {
    return this.#plain[id] as Frame;
  }

  functionOf(id: number): FunctionInfo {
    return this.frameOf(id).function;
  }

  /** The ids of functions are below this. */
  get functionCount(): number {
    return this.#plain.length;
  }

  /** The stack of a count as an object; made anew by each call, if it is plain. */
  stackOf(place: number): Stack {
    const detailed = this.#detailed.get(place);
    if (detailed) return detailed;
    const frames: Frame[] = [];
    const end = this.endOf(place);
    for (let at = this.startOf(place); at < end; at++) {
      frames.push(this.frameOf(idOfCode(this.codes[at] ?? 0)));
    }
    return { id: this.idOf(place), frames, outcome: OUTCOMES[this.outcomeOf(place)] ?? "broken" };
  }

  /** All of them as objects, the same ones each time. */
  [Symbol.iterator](): Iterator<StackCount> {
    this.#list ??= this.#made();
    return this.#list[Symbol.iterator]();
  }

  #made(): StackCount[] {
    const list: StackCount[] = [];
    for (let place = 0; place < this.length; place++) {
      const task = this.tasks[this.taskOf(place)];
      if (task) list.push({ stack: this.stackOf(place), task, count: this.countOf(place) });
    }
    return list;
  }
}

/** The threads of some counts, each once. */
export function tasksOf(counts: Counts): Iterable<Task> {
  if (counts instanceof PlainCounts) return counts.tasks;
  return new Set(Array.from(counts, ({ task }) => task));
}
