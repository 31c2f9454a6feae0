/** From new frames of the kernel side to functions: asks the readers of runtimes, and gives ids to what they say. */
import { cleanName } from "../tick/clean-name.ts";
import { NumberMap } from "../tick/columns/number-map.ts";
import { RUNTIMES } from "../tick/runtimes.ts";
import type { CounterDefinition } from "../tick/source.ts";
import type { FrameDetail } from "../tick/tick.ts";
import type { FunctionTable } from "./function-table.ts";
import type { NewFrames } from "./new-frames.ts";
import type { NamedFrame, NamedFunction, RuntimeReader } from "./reader.ts";

/** A frame whose function has an id. */
export interface NumberedFrame {
  readonly id: number;
  readonly detail?: FrameDetail;
}

/** New frames by the ids of their functions. */
export interface NamedFrames {
  readonly functions: Uint32Array;
  /** What some say beside their function, by index. */
  readonly details: ReadonlyMap<number, FrameDetail>;
}

/** So many texts of bodies are kept: most are a tier, and generic arguments of few methods. */
const MAX_BODIES = 20_000;

/**
 * So many functions of files are known by their numbers, 3 MB: copies of one file have numbers of their own, and
 * functions get others when ids of files are given anew. No more frames are told apart at once (Stacks::kMaxFrames).
 */
const MAX_NUMBERS = 50_000;

/** So many frames are named in a step. */
const STEP = 16;

const FOLDED: FrameDetail = { folded: true };
const SCHEDULES: FrameDetail = { awaits: "schedules" };
const AWAITS: FrameDetail = { awaits: "awaits" };

/** Names frames. */
export class FrameReader {
  readonly #readers: readonly RuntimeReader[];
  readonly #functions: FunctionTable;
  readonly #counters: ReadonlyMap<number, CounterDefinition>;
  /** Ids of the functions of files' code and of files' methods that were met, by their numbers (Drained.functions). */
  readonly #numbered = new NumberMap();
  /** What their frames say beside the function, by the same numbers. */
  readonly #numberedDetails = new Map<number, FrameDetail>();
  /** Details by the text of the body: one object for all frames. */
  readonly #bodies = new Map<string, FrameDetail>();

  constructor(
    readers: readonly RuntimeReader[],
    counters: readonly CounterDefinition[],
    functions: FunctionTable,
  ) {
    this.#readers = readers;
    this.#counters = new Map(counters.map((it) => [it.id, it]));
    this.#functions = functions;
  }

  /** Names all new frames of a drain: in steps, most of which take no time. */
  *read(frames: NewFrames): Generator<void, NamedFrames> {
    const functions = new Uint32Array(frames.length);
    const details = new Map<number, FrameDetail>();
    for (let index = 0; index < frames.length; index++) {
      functions[index] = this.#frame(frames, index, details);
      if (index % STEP === STEP - 1) yield;
    }
    return { functions, details };
  }

  /** Names anew, by their numbers, frames that mean something else now: those of these processes, which were counted. */
  renamed(pids: ReadonlySet<number>): Map<number, NumberedFrame> {
    const frames = new Map<number, NumberedFrame>();
    for (const reader of this.#readers) {
      for (const [number, frame] of reader.renamed?.(pids) ?? [])
        frames.set(number, this.#intern(frame));
    }
    return frames;
  }

  /** Forgets functions that the table has forgotten, and returns the numbers of the others (Drained.functions). */
  forget(): Uint32Array {
    for (const number of this.#numbered.keys()) {
      if (this.#functions.isKept(this.#numbered.get(number))) continue;
      this.#numbered.delete(number);
      this.#numberedDetails.delete(number);
    }
    return this.#numbered.keys();
  }

  /** The id of the function of a frame; what the frame says beside it is set in `details`. */
  #frame(frames: NewFrames, index: number, details: Map<number, FrameDetail>): number {
    const isCode = frames.isCode(index);
    if (!isCode && frames.isStop(index)) return this.#functions.intern(this.#stop(frames, index));
    const number = frames.functionNumber(index);
    const known = this.#numbered.get(number);
    const { id, detail } =
      known >= 0
        ? { id: known, detail: this.#numberedDetails.get(number) }
        : this.#name(frames, index, isCode, number);
    const said = isCode && frames.isFolded(index) ? FOLDED : besideAwaits(frames, index, detail);
    if (said) details.set(index, said);
    return id;
  }

  /**
   * Names a frame. A function with a number is named once: hot loops bring many addresses of few functions, and
   * processes of a build the same methods. What a process tells of its methods is no other one's name for them.
   */
  #name(frames: NewFrames, index: number, isCode: boolean, number: number): NumberedFrame {
    const named = isCode
      ? { function: this.#nameCode(frames.file(index), frames.offset(index)) }
      : this.#symbolize(frames, index);
    const numbered = this.#intern(named);
    const { isOfFile, whyUnnamed } = named.function;
    if (isCode || (isOfFile && whyUnnamed === undefined)) this.#keep(number, numbered);
    return numbered;
  }

  #symbolize(frames: NewFrames, index: number): NamedFrame {
    for (const reader of this.#readers) {
      const frame = reader.symbolize?.(frames, index);
      if (frame) return frame;
    }
    return { function: unread(`kind ${frames.kind(index)}`) };
  }

  #keep(number: number, { id, detail }: NumberedFrame): void {
    if (number === 0) return;
    if (this.#numbered.size >= MAX_NUMBERS) {
      this.#numbered.clear();
      this.#numberedDetails.clear();
    }
    this.#numbered.set(number, id);
    if (detail) this.#numberedDetails.set(number, detail);
  }

  #nameCode(file: number, offset: number): NamedFunction {
    for (const reader of this.#readers) {
      const named = reader.symbolizeCode?.(file, offset);
      if (named) return named;
    }
    return unread(`file ${file}`);
  }

  #intern({ function: named, detail }: NamedFrame): NumberedFrame {
    const id = this.#functions.intern(named);
    if (named.body !== undefined) return { id, detail: this.#bodyDetail(named.body) };
    return detail ? { id, detail } : { id };
  }

  #bodyDetail(text: string): FrameDetail {
    const known = this.#bodies.get(text);
    if (known) return known;
    if (this.#bodies.size >= MAX_BODIES) this.#bodies.clear();
    const detail = { body: cleanName(text) };
    this.#bodies.set(text, detail);
    return detail;
  }

  /** The last frame of a stack whose walk ended early: the counter says why. */
  #stop(frames: NewFrames, index: number): NamedFunction {
    const id = Number(frames.value(index));
    const counter = this.#counters.get(id);
    return {
      runtime: RUNTIMES.find((it) => it === counter?.runtime) ?? "native",
      name: `[${counter?.label ?? `walk ended for reason ${id}`}]`,
      module: "",
      whyUnnamed: counter ? [counter.meaning, counter.hint].filter(Boolean).join(": ") : "unknown",
    };
  }
}

/** What a frame says with what it is to those that await. */
function besideAwaits(
  frames: NewFrames,
  index: number,
  detail: FrameDetail | undefined,
): FrameDetail | undefined {
  if (frames.isScheduler(index)) return detail ? { ...detail, ...SCHEDULES } : SCHEDULES;
  if (frames.isAwaiting(index)) return detail ? { ...detail, ...AWAITS } : AWAITS;
  return detail;
}

/** The function of a frame that no reader takes for its own. */
const unread = (what: string): NamedFunction => ({
  runtime: "unknown",
  name: `[frame of ${what}]`,
  module: "",
  whyUnnamed: "no reader of a runtime knows frames of this kind",
});
