/** The stacks that deltas may refer to, kept as numbers: most are met once and never again. */

import type { FrameNumbers } from "./frame-numbers.ts";
import { NO_CODE } from "./function-code.ts";
import { Numbers } from "./numbers.ts";
import { PlainCounts } from "./plain-counts.ts";
import { type Frame, OUTCOMES, type Stack, type Task } from "./tick.ts";

export class StackTable {
  readonly #frames: FrameNumbers;
  /** Of all stacks, one after the other: number, outcome, frame count, frame numbers (leaf first). */
  #words = new Numbers();
  /** For each stack, where in `words` it is. */
  #places = new Numbers();
  #first = 0;
  /** Stacks of this refresh and of the one before whose frames say more than their functions. */
  #current = new Map<number, Stack>();
  #previous = new Map<number, Stack>();

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

  /** What the counts of a delta (TickDelta.counts) stand for; those of unknown stacks are left out. */
  counts(numbers: Uint32Array, tasks: readonly Task[]): PlainCounts {
    const words = this.#words.view();
    const known: number[] = [];
    let frames = 0;
    for (let at = 0; at + 2 < numbers.length; at += 3) {
      const place = this.#placeOf(numbers[at] ?? 0);
      if (place < 0 || (numbers[at + 1] ?? 0) >= tasks.length) continue;
      known.push(at);
      frames += words[place + 2] ?? 0;
    }
    const codes = new Uint32Array(frames);
    const counts = new PlainCounts(known.length, tasks, { codes, plain: this.#frames.plain });
    let used = 0;
    for (let i = 0; i < known.length; i++) {
      const at = known[i] ?? 0;
      const number = numbers[at] ?? 0;
      const place = this.#placeOf(number);
      const end = used + (words[place + 2] ?? 0);
      counts.put(i, numbers[at + 1] ?? 0, numbers[at + 2] ?? 0);
      if (this.#encode(words, place + 3, codes, used, end)) {
        counts.putPlain(i, number, words[place + 1] ?? 0, used, end);
        used = end;
      } else {
        counts.putDetailed(i, this.#detailed(number, place));
      }
    }
    return counts;
  }

  /** Where in `words` a stack is; -1 if it is not known. */
  #placeOf(number: number): number {
    const index = number - this.#first;
    return index >= 0 && index < this.#places.length ? this.#places.at(index) : -1;
  }

  /** The number of a frame of a stack, the leaf is 0; undefined if the stack is not known. */
  frameNumber(id: number, index: number): number | undefined {
    const place = this.#placeOf(id);
    if (place < 0) return undefined;
    return index < this.#words.at(place + 2) ? this.#words.at(place + 3 + index) : undefined;
  }

  /** Writes the codes of frames; says whether all have one. */
  #encode(
    words: Uint32Array,
    from: number,
    codes: Uint32Array,
    start: number,
    end: number,
  ): boolean {
    const frames = this.#frames;
    for (let at = start, word = from; at < end; at++, word++) {
      const code = frames.code(words[word] ?? 0);
      if (code === NO_CODE) return false;
      codes[at] = code;
    }
    return true;
  }

  /** The stack at a place in `words`: one that comes again and again is the same object all the time. */
  #detailed(number: number, place: number): Stack {
    const known = this.#current.get(number) ?? this.#previous.get(number);
    const stack = known ?? {
      id: number,
      frames: this.#made(place + 3, this.#words.at(place + 2)),
      outcome: OUTCOMES[this.#words.at(place + 1)] ?? "broken",
    };
    this.#current.set(number, stack);
    return stack;
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
    this.#words.release();
    this.#places.release();
    this.#words = new Numbers();
    this.#places = new Numbers();
    if (rest) this.add(rest);
  }
}
