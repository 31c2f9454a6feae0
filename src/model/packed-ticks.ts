/**
 * Old ticks in little memory. Ticks that are looked at are objects: 30 frames are 30 references
 * and a header, and a busy machine has hundreds of stacks a second that never come again. A segment
 * holds the ticks of about a minute as numbers in a few arrays; a tick is made of them again when
 * somebody steps back to it. A segment refers to nothing but functions, frames and tasks, each once.
 */
import type {
  Frame,
  FunctionInfo,
  Outcome,
  Stack,
  StackCount,
  Task,
  Tick,
} from "../collector/tick.ts";

const OUTCOMES: readonly Outcome[] = ["complete", "truncated", "broken"];

/** Numbers that grow without a copy of the whole each time. */
class Numbers {
  #values: Uint32Array = new Uint32Array(256);
  length = 0;

  push(value: number): void {
    if (this.length === this.#values.length) {
      const larger = new Uint32Array(this.length * 2);
      larger.set(this.#values);
      this.#values = larger;
    }
    this.#values[this.length++] = value;
  }

  at(index: number): number {
    return this.#values[index] ?? 0;
  }

  /** Gives back what was taken in advance. */
  trim(): void {
    this.#values = this.#values.slice(0, this.length);
  }

  get bytes(): number {
    return this.#values.byteLength;
  }
}

/** What tells frames of one function apart. */
const variantOf = ({ line, note, folded }: Frame): number | string =>
  note === undefined && !folded ? (line ?? -1) : `${line ?? ""} ${folded ?? false} ${note ?? ""}`;

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
  readonly frames: Map<Frame, number>;
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

/** Some ticks as numbers. */
export class Segment {
  readonly #table: FrameTable;
  readonly #frames: Frame[] = [];
  readonly #tasks: Task[] = [];
  /** For each stack: where its frames start, its id, its outcome. */
  readonly #stacks = new Numbers();
  readonly #words = new Numbers();
  /** For each count: stack, task, count. */
  readonly #counts = new Numbers();
  #filling: Filling | undefined = { frames: new Map(), stacks: new Map(), tasks: new Map() };
  readonly startTime: number;

  constructor(startTime: number, table: FrameTable) {
    this.startTime = startTime;
    this.#table = table;
  }

  /** Adds a tick; not after `seal`. */
  add(tick: Tick): PackedTick {
    const filling = this.#filling;
    if (!filling) throw new Error("the segment is sealed");
    const first = this.#counts.length;
    for (const { stack, task, count } of tick.counts) {
      this.#counts.push(this.#stack(stack, filling));
      this.#counts.push(this.#task(task, filling));
      this.#counts.push(count);
    }
    const { counts: _, ...header } = tick;
    return { segment: this, header, first, end: this.#counts.length };
  }

  #stack(stack: Stack, filling: Filling): number {
    const known = filling.stacks.get(stack.id);
    if (known !== undefined) return known;
    const number = this.#stacks.length / 3;
    filling.stacks.set(stack.id, number);
    this.#stacks.push(this.#words.length);
    this.#stacks.push(stack.id);
    this.#stacks.push(OUTCOMES.indexOf(stack.outcome));
    for (const frame of stack.frames) {
      const same = this.#table.same(frame);
      let word = filling.frames.get(same);
      if (word === undefined) {
        word = this.#frames.push(same) - 1;
        filling.frames.set(same, word);
      }
      this.#words.push(word);
    }
    return number;
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
    this.#filling = undefined;
    for (const numbers of [this.#stacks, this.#words, this.#counts]) numbers.trim();
  }

  /** A tick as it was. */
  unpack({ header, first, end }: PackedTick): Tick {
    const made = new Map<number, Stack>();
    const counts: StackCount[] = [];
    for (let at = first; at < end; at += 3) {
      const number = this.#counts.at(at);
      const task = this.#tasks[this.#counts.at(at + 1)];
      let stack = made.get(number);
      if (!stack) {
        stack = this.#unpackStack(number);
        made.set(number, stack);
      }
      if (task) counts.push({ stack, task, count: this.#counts.at(at + 2) });
    }
    return { ...header, counts };
  }

  #unpackStack(number: number): Stack {
    const at = number * 3;
    const isLast = at + 3 >= this.#stacks.length;
    const end = isLast ? this.#words.length : this.#stacks.at(at + 3);
    const frames: Frame[] = [];
    for (let word = this.#stacks.at(at); word < end; word++) {
      const frame = this.#frames[this.#words.at(word)];
      if (frame) frames.push(frame);
    }
    const outcome = OUTCOMES[this.#stacks.at(at + 2)] ?? "broken";
    return { id: this.#stacks.at(at + 1), frames, outcome };
  }

  /** About what it takes. */
  get bytes(): number {
    const numbers = this.#stacks.bytes + this.#words.bytes + this.#counts.bytes;
    return numbers + this.#frames.length * 8 + this.#tasks.length * 200;
  }
}
