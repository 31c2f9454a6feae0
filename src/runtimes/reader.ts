/** The contract between the collector and the readers of runtimes. */
import type { CounterName } from "../../build/abi.ts";
import type { Drained } from "../addon/drained.ts";
import type { Runtime } from "../tick/runtimes.ts";
import type { FrameDetail } from "../tick/tick.ts";
import type { NewFrames } from "./new-frames.ts";

/** A function before it has an id. Its names may be as a process chose them: they are cleaned when it gets one. */
export interface NamedFunction {
  readonly runtime: Runtime;
  /** The name; `[what it is]` where `whyUnnamed` says why there is no better one. */
  readonly name: string;
  readonly module: string;
  readonly whyUnnamed?: string;
  /** See Frame.body. */
  readonly body?: string;
  /** The file of its code tells it: it is the same in all processes, whatever one of them says of itself. */
  readonly isOfFile?: boolean;
}

/** A frame's function, and what the frame says beside it. */
export interface NamedFrame {
  readonly function: NamedFunction;
  readonly detail?: FrameDetail;
}

/**
 * The reader of a runtime gives its frames their names: the kernel side walks stacks and knows addresses, a reader
 * knows what those mean to its runtime. There is one reader for each runtime (registry.ts); it serves all processes
 * for as long as they are sampled, so whatever it keeps of them has a limit.
 *
 * The collector calls all readers from one thread. At each drain it calls `ingest` of every reader, then `readAhead`,
 * then `symbolize` or `symbolizeCode` once for each new frame, then `renamed` and `forgetBelow`. Once a refresh it asks
 * for `notices`. A frame keeps its name for as long as stacks refer to it, unless it is `renamed`.
 *
 * What a process or its file holds is hostile. A reader does not throw for it and guesses nothing: where a name is
 * not certain, it names the frame by what it is and says why in `whyUnnamed`.
 */
export interface RuntimeReader {
  /** Takes in what a drain tells of files, strings and frames. The id of a file may be given to another file later. */
  ingest?(drained: Drained, frames: NewFrames): void;
  /** Reads what takes long, before frames are named: in steps of a few milliseconds, between which keys are answered. */
  readAhead?(frames: NewFrames): Iterator<void>;
  /** Reads what the kernel side has just met out of its processes, which may end at any time; called between drains. */
  resolveSeen?(): void;
  /** Names the new frame at an index; undefined where frames of its kind are another runtime's. */
  symbolize?(frames: NewFrames, index: number): NamedFrame | undefined;
  /** Names the function at an offset of a file, once for each function; undefined where it is another runtime's. */
  symbolizeCode?(file: number, offset: number): NamedFunction | undefined;
  /**
   * Tells which body of its function a frame word is in its process, now that somebody looks at the function; undefined
   * where that is another runtime's, or cannot be told.
   */
  bodyOf?(word: bigint, owner: number): string | undefined;
  /**
   * Names anew, by their numbers, frames that mean something else now than when they were named: their code gave way
   * to other, or what names it came late. Asked once at each drain, when its new frames are named; `pids` are those
   * of the processes that were counted.
   */
  renamed?(pids: ReadonlySet<number>): Iterable<readonly [number: number, frame: NamedFrame]>;
  /** Frames with lower numbers will not be referred to again. */
  forgetBelow?(number: number): void;
  /** Says what the user must know of the runtime; `metrics` are the increments of counters in this refresh. */
  notices?(metrics: Readonly<Partial<Record<CounterName, number>>>): readonly string[];
}
