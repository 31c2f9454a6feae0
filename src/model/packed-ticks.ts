/**
 * Old ticks in little memory. Ticks that are looked at are objects: 30 frames are 30 references
 * and a header, and a busy machine has hundreds of stacks a second that never come again. A segment
 * holds the ticks of about a minute as numbers in a few arrays; a tick is made of them again when
 * somebody steps back to it. A segment refers to nothing but functions, frames and tasks, each once.
 */

import { idOfCode } from "../tick/function-code.ts";
import { Numbers } from "../tick/numbers.ts";
import { PlainCounts } from "../tick/plain-counts.ts";
import {
  type Counts,
  type Frame,
  type FunctionInfo,
  OUTCOMES,
  type Stack,
  type StackCount,
  type Task,
  type Tick,
} from "../tick/tick.ts";
import { ArchivedNumbers } from "./archived-numbers.ts";
import { grown } from "./count-lists.ts";

/** What tells frames of one function apart. */
const variantOf = ({ line, note, body, folded }: Frame): number | string =>
  note === undefined && body === undefined && !folded
    ? (line ?? -1)
    : `${line ?? ""} ${folded ?? false} ${note ?? ""}\0${body ?? ""}`;

/** Frames that look alike are one: the collector has one for each address. */
export class FrameTable {
  readonly #byFunction = new Map<FunctionInfo, Map<number | string, Frame>>();

  /** The frame that stands for this one and all that are equal to it. */
  same(frame: Frame): Frame {
    let variants = this.#byFunction.get(frame.function);
    if (!variants) {
      variants = new Map();
      this.#byFunction.set(frame.function, variants);
    }
    const variant = variantOf(frame);
    const known = variants.get(variant);
    if (known) return known;
    variants.set(variant, frame);
    return frame;
  }
}

/** What the segment needs while it is filled and not afterwards. */
interface Filling {
  readonly columns: Columns<Numbers>;
  readonly frames: Map<Frame, number>;
  /** Numbers of plain frames by function id: one more, 0 where there is none yet. */
  plain: Int32Array;
  readonly stacks: Map<number, number>;
  readonly tasks: Map<string, number>;
}

/** Everything of a tick but its counts, and where these are. */
export interface PackedTick {
  readonly segment: Segment;
  readonly header: Omit<Tick, "counts">;
  readonly first: number;
  readonly end: number;
}

/** What a segment consists of. */
interface Columns<Column> {
  /** For each stack: where its frames start, its id, its outcome. */
  readonly stacks: Column;
  /** Frames of the stacks, leaf first. */
  readonly words: Column;
  /** For each count: stack, task, count. */
  readonly counts: Column;
}

const mapColumns = <From, To>(from: Columns<From>, to: (column: From) => To): Columns<To> => ({
  stacks: to(from.stacks),
  words: to(from.words),
  counts: to(from.counts),
});

function pushCount({ columns }: Filling, stack: number, task: number, count: number): void {
  columns.counts.push(stack);
  columns.counts.push(task);
  columns.counts.push(count);
}

/** Begins a stack, whose frames are to follow; returns its number. */
function newStack({ columns, stacks: numbers }: Filling, id: number, outcome: number): number {
  const { stacks, words } = columns;
  const number = stacks.length / 3;
  numbers.set(id, number);
  stacks.push(words.length);
  stacks.push(id);
  stacks.push(outcome);
  return number;
}

/** Some ticks as numbers. */
export class Segment {
  readonly #table: FrameTable;
  readonly #frames: Frame[] = [];
  readonly #tasks: Task[] = [];
  #filling: Filling | undefined = {
    columns: { stacks: new Numbers(), words: new Numbers(), counts: new Numbers() },
    frames: new Map(),
    plain: new Int32Array(1024),
    stacks: new Map(),
    tasks: new Map(),
  };
  #sealed: Columns<ArchivedNumbers> | undefined;
  readonly startTime: number;

  constructor(startTime: number, table: FrameTable) {
    this.startTime = startTime;
    this.#table = table;
  }

  /** Adds a tick; not after `seal`. */
  add(tick: Tick): PackedTick {
    const filling = this.#filling;
    if (!filling) throw new Error("the segment is sealed");
    const { counts } = filling.columns;
    const first = counts.length;
    if (tick.counts instanceof PlainCounts) this.#addPlain(tick.counts, filling);
    else this.#addObjects(tick.counts, filling);
    const { counts: _, ...header } = tick;
    return { segment: this, header, first, end: counts.length };
  }

  #addObjects(counts: Counts, filling: Filling): void {
    const tasks = new Map<Task, number>();
    for (const { stack, task, count } of counts) {
      const taskNumber = tasks.get(task) ?? this.#task(task, filling);
      tasks.set(task, taskNumber);
      pushCount(filling, this.#stack(stack, filling), taskNumber, count);
    }
  }

  #addPlain(counts: PlainCounts, filling: Filling): void {
    const tasks = counts.tasks.map((task) => this.#task(task, filling));
    for (let place = 0; place < counts.length; place++) {
      const stack = counts.isPlain(place)
        ? this.#plainStack(counts, place, filling)
        : this.#stack(counts.stackOf(place), filling);
      pushCount(filling, stack, tasks[counts.taskOf(place)] ?? 0, counts.countOf(place));
    }
  }

  #stack({ id, outcome, frames }: Stack, filling: Filling): number {
    const known = filling.stacks.get(id);
    if (known !== undefined) return known;
    const number = newStack(filling, id, OUTCOMES.indexOf(outcome));
    for (const frame of frames) filling.columns.words.push(this.#word(frame, filling));
    return number;
  }

  #plainStack(counts: PlainCounts, place: number, filling: Filling): number {
    const stack = counts.idOf(place);
    const known = filling.stacks.get(stack);
    if (known !== undefined) return known;
    const number = newStack(filling, stack, counts.outcomeOf(place));
    const { words } = filling.columns;
    const { codes } = counts;
    const end = counts.endOf(place);
    for (let at = counts.startOf(place); at < end; at++) {
      const id = idOfCode(codes[at] ?? 0);
      if (id >= filling.plain.length) filling.plain = grown(filling.plain, id + 1);
      let word = filling.plain[id] ?? 0;
      if (word === 0) {
        word = this.#word(counts.frameOf(id), filling) + 1;
        filling.plain[id] = word;
      }
      words.push(word - 1);
    }
    return number;
  }

  #word(frame: Frame, filling: Filling): number {
    const same = this.#table.same(frame);
    let word = filling.frames.get(same);
    if (word === undefined) {
      word = this.#frames.push(same) - 1;
      filling.frames.set(same, word);
    }
    return word;
  }

  /** Tasks come anew with each tick. */
  #task(task: Task, filling: Filling): number {
    const key = `${task.tid} ${task.startTime} ${task.pid} ${task.parentPid} ${task.uid} ${task.cgroup} ${task.comm} ${task.thread}`;
    let number = filling.tasks.get(key);
    if (number === undefined) {
      number = this.#tasks.push(task) - 1;
      filling.tasks.set(key, number);
    }
    return number;
  }

  /** No tick comes any more. */
  seal(): void {
    if (!this.#filling) return;
    this.#sealed = mapColumns(this.#filling.columns, (column) => {
      const archived = new ArchivedNumbers(column.from(0));
      column.release();
      return archived;
    });
    this.#filling = undefined;
  }

  #columns(): Columns<Uint32Array> | undefined {
    if (this.#sealed) return mapColumns(this.#sealed, (it) => it.values());
    return this.#filling && mapColumns(this.#filling.columns, (it) => it.view());
  }

  /** A tick as it was. */
  unpack({ header, first, end }: PackedTick): Tick {
    const counts: StackCount[] = [];
    const columns = this.#columns();
    if (!columns) return { ...header, counts };
    const made = new Map<number, Stack>();
    for (let at = first; at < end; at += 3) {
      const [number = 0, taskNumber = 0, count = 0] = columns.counts.subarray(at, at + 3);
      const task = this.#tasks[taskNumber];
      let stack = made.get(number);
      if (!stack) {
        stack = this.#unpackStack(number, columns);
        made.set(number, stack);
      }
      if (task) counts.push({ stack, task, count });
    }
    return { ...header, counts };
  }

  #unpackStack(number: number, { stacks, words }: Columns<Uint32Array>): Stack {
    const [start = 0, id = 0, outcome = 0, end = words.length] = stacks.subarray(number * 3);
    const frames: Frame[] = [];
    for (const word of words.subarray(start, end)) {
      const frame = this.#frames[word];
      if (frame) frames.push(frame);
    }
    return { id, frames, outcome: OUTCOMES[outcome] ?? "broken" };
  }

  /** About what it takes. */
  get bytes(): number {
    const columns = this.#sealed ?? this.#filling?.columns;
    const numbers = columns ? columns.stacks.bytes + columns.words.bytes + columns.counts.bytes : 0;
    return numbers + this.#frames.length * 8 + this.#tasks.length * 200;
  }
}
