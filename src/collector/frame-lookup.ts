/**
 * Source lines of native frames and bodies of .NET ones: looked up for one function at a time, when somebody looks at
 * it.
 */

import {
  FRAME_DOTNET,
  FRAME_FILE_SHIFT,
  FRAME_KIND_SHIFT,
  FRAME_OFFSET_MASK,
} from "../../build/abi.ts";
import type { Sampler } from "../addon/sampler.ts";
import type { NewFrames } from "../runtimes/new-frames.ts";
import type { Store } from "../tick/store.ts";

/** Lines of some frames. */
interface FrameLines {
  readonly files: readonly string[];
  /** For each frame that has one: its number in the store, index in `files`, line. */
  readonly lines: Uint32Array;
  /** Why there are none; empty if there are some, or nothing to look up. */
  readonly why: string;
}

/** What was looked up of some frames. */
export interface LookedUp extends FrameLines {
  /** The store that frames have their numbers in. */
  readonly store: Store;
  /** For each frame whose body is told: its number in the store and the body (Frame.body). */
  readonly bodies: readonly (readonly [number, string])[];
}

const FILE_SHIFT = BigInt(FRAME_FILE_SHIFT);

/** So many frames are looked up at once: one answer takes some 100 ms at most. */
const MAX_FRAMES = 2000;

const NOTHING = { files: [], lines: new Uint32Array(), bodies: [], why: "" };

const KIND_SHIFT = BigInt(FRAME_KIND_SHIFT);
const isDotnet = (word: bigint): boolean => Number(word >> KIND_SHIFT) === FRAME_DOTNET;

/** Frames that became known together, as they came: 16 bytes each. */
interface Block {
  readonly first: number;
  readonly words: BigUint64Array;
  readonly owners: Uint32Array;
  /** For each its function's id; `NONE` where the word stands for neither code of a file nor a method of .NET. */
  readonly functions: Int32Array;
}

/** A frame to look up: its number in the store, its word, and the process that this means something in. */
interface Wanted {
  readonly number: number;
  readonly word: bigint;
  readonly owner: number;
}

/** Tells the body at a word of FRAME_DOTNET in a process; undefined where it cannot be told. */
type ReadBody = (word: bigint, owner: number) => string | undefined;

/** Stands in place of a function's id. */
const NONE = -1;

/** Who knows the numbers of frames in the store. */
export interface StoreNumbers {
  /** The store that they are of. */
  readonly store: Store;
  /** Undefined if the frame is not in use there. */
  frameNumber(number: number): number | undefined;
}

/** Keeps where frames are, and looks those up that have not been asked for. */
export class FrameLookup {
  readonly #sampler: Pick<Sampler, "lines">;
  readonly #readBody: ReadBody;
  #blocks: Block[] = [];
  /** Ids that have been given to a file. */
  readonly #files = new Set<number>();
  #asked = new Set<number>();
  #askedFor: number | undefined;
  #askedIn: Store | undefined;
  #why = "";

  constructor(sampler: Pick<Sampler, "lines">, readBody: ReadBody) {
    this.#sampler = sampler;
    this.#readBody = readBody;
  }

  /** Takes in new frames with the ids of their functions. */
  registerFrames(frames: NewFrames, functions: Uint32Array): void {
    if (frames.length === 0) return;
    const { first, words, owners } = frames;
    const ids = new Int32Array(functions);
    for (let index = 0; index < ids.length; index++) {
      // What means something in one process only is code that was compiled there.
      const isCompiled = frames.owner(index) > 0 && frames.kind(index) === FRAME_DOTNET;
      if (!isCompiled && !frames.isCode(index)) ids[index] = NONE;
    }
    this.#blocks.push({ first, words, owners, functions: ids });
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
   * Looks up the frames of a function that are in the store and were not asked for before; undefined frees what was
   * read. A process that has ended tells of no body.
   */
  async find(functionId: number | undefined, numbers: StoreNumbers): Promise<LookedUp> {
    const { store } = numbers;
    if (functionId !== this.#askedFor || store !== this.#askedIn) {
      this.#askedFor = functionId;
      this.#askedIn = store;
      this.#asked = new Set();
      this.#why = "";
    }
    if (functionId === undefined) {
      await this.#sampler.lines(0, new Float64Array());
      return { ...NOTHING, store };
    }
    const wanted = this.#unasked(functionId, numbers);
    const bodies = wanted.filter(({ word }) => isDotnet(word)).flatMap((it) => this.#bodyOf(it));
    const code = wanted.filter(({ word }) => !isDotnet(word));
    return { ...(await this.#linesOf(code)), bodies, store };
  }

  #bodyOf({ number, word, owner }: Wanted): [number, string][] {
    const body = this.#readBody(word, owner);
    return body ? [[number, body]] : [];
  }

  async #linesOf(wanted: readonly Wanted[]): Promise<FrameLines> {
    const byFile = new Map<number, Wanted[]>();
    for (const frame of wanted) {
      const file = Number(frame.word >> FILE_SHIFT);
      const known = byFile.get(file);
      if (known) known.push(frame);
      else byFile.set(file, [frame]);
    }
    const found = await Promise.all(
      [...byFile].map(([file, frames]) => this.#linesIn(file, frames)),
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

  async #linesIn(file: number, frames: readonly Wanted[]): Promise<FrameLines> {
    const offsets = Float64Array.from(frames, ({ word }) => Number(word & FRAME_OFFSET_MASK));
    const { files, lines, why } = await this.#sampler.lines(file, offsets);
    const numbered = frames.flatMap(({ number }, i) => {
      const line = lines[2 * i + 1] ?? 0;
      return line > 0 ? [number, lines[2 * i] ?? 0, line] : [];
    });
    return { files, lines: Uint32Array.from(numbered), why };
  }

  /** The function's frames that are to be looked up; they count as asked for then. */
  #unasked(functionId: number, numbers: StoreNumbers): Wanted[] {
    const wanted: Wanted[] = [];
    for (const { first, words, owners, functions } of this.#blocks.toReversed()) {
      for (
        let i = functions.indexOf(functionId);
        i >= 0;
        i = functions.indexOf(functionId, i + 1)
      ) {
        if (wanted.length === MAX_FRAMES) return wanted;
        const number = numbers.frameNumber(first + i);
        if (number === undefined || this.#asked.has(first + i)) continue;
        this.#asked.add(first + i);
        wanted.push({ number, word: words[i] ?? 0n, owner: owners[i] ?? 0 });
      }
    }
    return wanted;
  }
}
