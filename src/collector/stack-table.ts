/** The stacks that deltas may refer to, kept as numbers: most are met once and never again. */
import { Numbers } from "../numbers.ts";
import { type Frame, OUTCOMES, type Stack } from "./tick.ts";

export class StackTable {
  /** Of all stacks, one after the other: number, outcome, frame count, frame numbers (leaf first). */
  #words = new Numbers();
  /** For each stack, where in `words` it is. */
  #places = new Numbers();
  #first = 0;
  /** Stacks of this refresh and of the one before: a hot one is the same object all the time. */
  #current = new Map<number, Stack>();
  #previous = new Map<number, Stack>();

  /** Takes in new stacks as `TickDelta.stacks` has them; their numbers follow on from those before. */
  add(words: Uint32Array): void {
    if (this.#places.length === 0) this.#first = words[0] ?? 0;
    for (let at = 0; at + 2 < words.length; at += 3 + (words[at + 2] ?? 0)) {
      this.#places.push(this.#words.length + at);
    }
    this.#words.append(words);
  }

  /** The stack of a number, its frames by theirs; undefined if it is not known. */
  get(number: number, frameOf: (number: number) => Frame | undefined): Stack | undefined {
    const known = this.#current.get(number);
    if (known) return known;
    const stack = this.#previous.get(number) ?? this.#read(number, frameOf);
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

  #read(id: number, frameOf: (number: number) => Frame | undefined): Stack | undefined {
    const index = id - this.#first;
    if (index < 0 || index >= this.#places.length) return undefined;
    const at = this.#places.at(index);
    const end = at + 3 + this.#words.at(at + 2);
    const frames: Frame[] = [];
    for (let word = at + 3; word < end; word++) {
      const frame = frameOf(this.#words.at(word));
      if (frame) frames.push(frame);
    }
    return { id, frames, outcome: OUTCOMES[this.#words.at(at + 1)] ?? "broken" };
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
