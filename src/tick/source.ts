/**
 * What the screen and plain output are told to listen to. The sampler, a replay
 * and the fixtures of the tests all are a `TickSource`.
 */
import type { Store } from "./store.ts";
import type { Tick } from "./tick.ts";

/** One counter of the unwinder, as bpf/counters.json defines it. */
export interface CounterDefinition {
  readonly id: number;
  /** Key in `Tick.metrics`. */
  readonly name: string;
  /** Which unwinder counts it: `perl`, `dotnet`, `native`, `kernel`, or another word for what belongs to none. */
  readonly runtime: string;
  /** `attempt`, `frames`, `outcome`, `error`, …: how a reader should take it. */
  readonly kind: string;
  /** What the end of a stack says when this counter stopped it. */
  readonly label?: string;
  /** One sentence: what was counted. */
  readonly meaning: string;
  /** One sentence: what its reader can do about it. */
  readonly hint: string;
}

/** All counters by their names, as long as none has counted anything. */
export const zerosOf = (counters: readonly CounterDefinition[]): Readonly<Record<string, number>> =>
  Object.fromEntries(counters.map(({ name }) => [name, 0]));

/** A line of a source file. */
export interface SourceLine {
  readonly file: string;
  readonly line: number;
}

/** What was looked up of a frame, when somebody looked at its function. */
export interface FrameFacts {
  readonly source?: SourceLine;
  /** See Frame.body. */
  readonly body?: string;
}

/** The facts of a frame of a store, where it was looked up. */
export type FactsOf = (store: Store, frame: number) => FrameFacts | undefined;

/** A refresh, why there was none, or what is to be known of the source from now on. */
export type SourceEvent =
  | { readonly tick: Tick }
  | { readonly error: string }
  | { readonly notice: string };

/** Produces ticks until it is unsubscribed from. */
export interface TickSource {
  /** Counters that `Tick.metrics` can hold. */
  readonly counters: readonly CounterDefinition[];
  /** Calls `listener` once a refresh; the function returned ends that. */
  subscribe(listener: (event: SourceEvent) => void): () => void;
  /**
   * Narrows sampling to these processes (none: all). Resolves to what was wrong, or to nothing. A source
   * whose samples are taken already has none: what is shown can be filtered.
   */
  setPids?(pids: readonly number[]): Promise<string | undefined>;
  /** Looks at threads that wait too, from now on. Resolves to why it cannot, or to nothing. */
  watchWaits?(): Promise<string | undefined>;
  /** Brings the tick of what there is since the last one, before its time; resolves when listeners have it. */
  flush?(): Promise<void>;
  /**
   * Looks up the frames of a function in the ticks so far: the source lines of native ones, the bodies of .NET's.
   * `factsOf` knows them when it resolves, to why there are no lines. Undefined frees what was read for that.
   */
  lookUp?(functionId: number | undefined): Promise<string | undefined>;
  readonly factsOf?: FactsOf;
  /** Sets the time between refreshes. */
  setInterval(seconds: number): void;
  /** Resolves when there will be no more, and rejects where that is a failure; a source without it has no end. */
  readonly ended?: Promise<void>;
}
