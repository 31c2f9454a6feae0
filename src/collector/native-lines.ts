/** Source lines of native frames: looked up for one function at a time, when somebody looks at it. */

import { FRAME_FILE_SHIFT, FRAME_OFFSET_MASK } from "../../build/abi.ts";
import type { Sampler } from "../addon/sampler.ts";
import type { NewFrames } from "../runtimes/new-frames.ts";

/** Lines of some frames. */
export interface FrameLines {
  readonly files: readonly string[];
  /** For each frame that has one: its number in the store, index in `files`, line. */
  readonly lines: Uint32Array;
  /** Why there are none; empty if there are some, or nothing to look up. */
  readonly why: string;
}

const FILE_SHIFT = BigInt(FRAME_FILE_SHIFT);

/** So many frames are looked up at once: one answer takes some 100 ms at most. */
const MAX_FRAMES = 2000;

const NOTHING: FrameLines = { files: [], lines: new Uint32Array(), why: "" };

/** Frames that became known together, as they came: 12 bytes each. */
interface Block {
  readonly first: number;
  readonly words: BigUint64Array;
  /** For each its function's id; `NONE` where the word stands for no code of a file. */
  readonly functions: Int32Array;
}

/** Stands in place of a function's id. */
const NONE = -1;

/** Who knows the numbers of frames in the store. */
export interface StoreNumbers {
  /** Grows when they begin anew. */
  readonly generation: number;
  /** Undefined if the frame is not in use there. */
  frameNumber(number: number): number | undefined;
}

/** Keeps where native frames are, and asks for the lines of those that have not been asked for. */
export class NativeLines {
  readonly #sampler: Pick<Sampler, "lines">;
  #blocks: Block[] = [];
  /** Ids that have been given to a file. */
  readonly #files = new Set<number>();
  #asked = new Set<number>();
  #askedFor: number | undefined;
  #askedIn = 0;
  #why = "";

  constructor(sampler: Pick<Sampler, "lines">) {
    this.#sampler = sampler;
  }

  /** Takes in new frames with the ids of their functions. */
  registerFrames(frames: NewFrames, functions: Uint32Array): void {
    if (frames.length === 0) return;
    const { first, words } = frames;
    const ids = new Int32Array(functions);
    for (let index = 0; index < ids.length; index++) if (!frames.isCode(index)) ids[index] = NONE;
    this.#blocks.push({ first, words, functions: ids });
  }

  /** Forgets frames with lower numbers, and those of files whose ids are given to others now. */
  forget(below: number, files: readonly number[]): void {
    this.#blocks = this.#blocks.filter(({ first, words }) => first + words.length > below);
    const again = new Set(files.filter((id) => this.#files.has(id)));
    for (const id of files) this.#files.add(id);
    // Mostly they are given for the first time.
    if (again.size === 0) return;
    for (const { words, functions } of this.#blocks) {
      words.forEach((word, i) => {
        if (again.has(Number(word >> FILE_SHIFT))) functions[i] = NONE;
      });
    }
  }

  /**
   * Lines of the frames of a function that are in the store and were not asked for before; undefined frees what was
   * read.
   */
  async find(functionId: number | undefined, numbers: StoreNumbers): Promise<FrameLines> {
    if (functionId !== this.#askedFor || numbers.generation !== this.#askedIn) {
      this.#askedFor = functionId;
      this.#askedIn = numbers.generation;
      this.#asked = new Set();
      this.#why = "";
    }
    if (functionId === undefined) {
      await this.#sampler.lines(0, new Float64Array());
      return NOTHING;
    }
    const found = await Promise.all(
      [...this.#unasked(functionId, numbers)].map(([file, frames]) => this.#lookUp(file, frames)),
    );
    const files: string[] = [];
    const lines: number[] = [];
    for (const one of found) {
      const first = files.length;
      files.push(...one.files);
      for (let at = 0; at + 2 < one.lines.length; at += 3) {
        lines.push(one.lines[at] ?? 0, first + (one.lines[at + 1] ?? 0), one.lines[at + 2] ?? 0);
      }
      this.#why = one.why;
    }
    return { files, lines: Uint32Array.from(lines), why: this.#why };
  }

  async #lookUp(file: number, frames: readonly (readonly [number, number])[]): Promise<FrameLines> {
    const offsets = Float64Array.from(frames, ([, offset]) => offset);
    const { files, lines, why } = await this.#sampler.lines(file, offsets);
    const numbered = frames.flatMap(([number], i) => {
      const line = lines[2 * i + 1] ?? 0;
      return line > 0 ? [number, lines[2 * i] ?? 0, line] : [];
    });
    return { files, lines: Uint32Array.from(numbered), why };
  }

  /** Numbers in the store and offsets of the function's frames, by their file; they count as asked for then. */
  #unasked(functionId: number, numbers: StoreNumbers): Map<number, [number, number][]> {
    const files = new Map<number, [number, number][]>();
    let left = MAX_FRAMES;
    for (const { first, words, functions } of this.#blocks.toReversed()) {
      for (
        let i = functions.indexOf(functionId);
        i >= 0;
        i = functions.indexOf(functionId, i + 1)
      ) {
        if (left === 0) return files;
        const number = numbers.frameNumber(first + i);
        if (number === undefined || this.#asked.has(first + i)) continue;
        left--;
        this.#asked.add(first + i);
        const word = words[i] ?? 0n;
        const file = Number(word >> FILE_SHIFT);
        const frame: [number, number] = [number, Number(word & FRAME_OFFSET_MASK)];
        const known = files.get(file);
        if (known) known.push(frame);
        else files.set(file, [frame]);
      }
    }
    return files;
  }
}
