/** The stacks that deltas may refer to, kept as numbers: most are met once and never again. */
import { Numbers } from "../numbers.ts";
import type { FrameNumbers } from "./frame-numbers.ts";
import { NO_CODE, PlainStack } from "./plain-stack.ts";
import { type Frame, OUTCOMES, type Stack } from "./tick.ts";

/** Codes of the frames of so many stacks are one array: some hundreds. */
const CHUNK = 16_384;

export class StackTable {
  readonly #frames: FrameNumbers;
  /** Of all stacks, one after the other: number, outcome, frame count, frame numbers (leaf first). */
  #words = new Numbers();
  /** For each stack, where in `words` it is. */
  #places = new Numbers();
  #first = 0;
  /** Stacks of this refresh and of the one before: a hot one is the same object all the time. */
  #current = new Map<number, Stack>();
  #previous = new Map<number, Stack>();
  /** Codes of the stacks that were made last. */
  #codes: Uint32Array = new Uint32Array(CHUNK);
  #used = 0;

  constructor(frames: FrameNumbers) {
    this.#frames = frames;
  }

  /** Takes in new stacks as `TickDelta.stacks` has them; their numbers follow on from those before. */
  add(words: Uint32Array): void {
    if (this.#places.length === 0) this.#first = words[0] ?? 0;
    for (let at = 0; at + 2 < words.length; at += 3 + (words[at + 2] ?? 0)) {
      this.#places.push(this.#words.length + at);
    }
    this.#words.append(words);
  }

  /** The stack of a number; undefined if it is not known. */
  get(number: number): Stack | undefined {
    const known = this.#current.get(number);
    if (known) return known;
    const stack = this.#previous.get(number) ?? this.#read(number);
    if (stack) this.#current.set(number, stack);
    return stack;
  }

  /** The number of a frame of a stack, the leaf is 0; undefined if the stack is not known. */
  frameNumber(id: number, index: number): number | undefined {
    const place = id - this.#first;
    if (place < 0 || place >= this.#places.length) return undefined;
    const at = this.#places.at(place);
    return index < this.#words.at(at + 2) ? this.#words.at(at + 3 + index) : undefined;
  }

  #read(id: number): Stack | undefined {
    const index = id - this.#first;
    if (index < 0 || index >= this.#places.length) return undefined;
    const at = this.#places.at(index);
    const count = this.#words.at(at + 2);
    const outcome = OUTCOMES[this.#words.at(at + 1)] ?? "broken";
    const start = this.#encode(at + 3, count);
    if (start < 0) return { id, frames: this.#made(at + 3, count), outcome };
    const place = { codes: this.#codes, start, end: start + count };
    return new PlainStack(id, outcome, place, this.#frames.plain);
  }

  /** Puts the codes of frames into `codes`; returns where, or -1 if one of them has none. */
  #encode(from: number, count: number): number {
    if (this.#used + count > this.#codes.length) {
      this.#codes = new Uint32Array(Math.max(CHUNK, count));
      this.#used = 0;
    }
    const frames = this.#frames;
    const codes = this.#codes;
    const words = this.#words.view();
    const start = this.#used;
    for (let i = 0; i < count; i++) {
      const code = frames.code(words[from + i] ?? 0);
      if (code === NO_CODE) return -1;
      codes[start + i] = code;
    }
    this.#used += count;
    return start;
  }

  #made(from: number, count: number): Frame[] {
    const frames: Frame[] = [];
    for (let word = from; word < from + count; word++) {
      const frame = this.#frames.frame(this.#words.at(word));
      if (frame) frames.push(frame);
    }
    return frames;
  }

  /** A refresh is over; stacks with a number below `forgotten` are not asked for any more. */
  endRefresh(forgotten: number): void {
    this.#previous = this.#current;
    this.#current = new Map();
    const gone = forgotten - this.#first;
    if (gone <= 0 || this.#places.length === 0) return;
    const rest = gone < this.#places.length ? this.#words.from(this.#places.at(gone)) : undefined;
    this.#words = new Numbers();
    this.#places = new Numbers();
    if (rest) this.add(rest);
  }
}
