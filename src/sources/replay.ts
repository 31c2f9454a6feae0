/** Ticks of a recording: at the pace at which they were recorded, or as fast as they are taken. */

import type { RecordingHeader } from "../recording/format.ts";
import { RecordingReader } from "../recording/reader.ts";
import { UserError } from "../tick/errors.ts";
import type { CounterDefinition, SourceEvent, TickSource } from "../tick/source.ts";
import type { Tick } from "../tick/tick.ts";
import type { Waiting } from "../tick/waits.ts";

export interface ReplayOptions {
  /** Leaves other processes out; a recording of one process knows no others. */
  readonly pids: readonly number[];
  /** `recorded`: for eyes; `full`: for programs. */
  readonly pace: "recorded" | "full";
  /** At the recorded pace: seconds that a refresh is shown for; as long as it was when left out. */
  readonly delaySeconds?: number;
  /** At full pace: resolves when the next tick can be taken. */
  readonly ready?: () => Promise<void>;
}

const END_NOTICE = "the recording ends here";

/** Opens a recording; throws a UserError that says why it cannot be read. */
export function openReplay(path: string, options: ReplayOptions): ReplaySource {
  return new ReplaySource(new RecordingReader(path), options);
}

/** A recording as a source. Plays once, from the first subscription on. */
export class ReplaySource implements TickSource {
  readonly header: RecordingHeader;
  readonly counters: readonly CounterDefinition[];
  readonly ended: Promise<void>;
  /** Seconds that a refresh took when it was recorded, rounded to tenths. */
  readonly recordedSeconds: number;
  readonly #reader: RecordingReader;
  readonly #ticks: Iterator<Tick>;
  readonly #options: ReplayOptions;
  readonly #listeners = new Set<(event: SourceEvent) => void>();
  /** Read ahead: the last one must be known as the last. */
  readonly #queue: Tick[] = [];
  #end: () => void = () => {};
  #seconds: number;
  #timer: NodeJS.Timeout | undefined;
  #begun = false;

  constructor(reader: RecordingReader, options: ReplayOptions) {
    this.#reader = reader;
    this.#options = options;
    this.#ticks = reader.ticks();
    this.header = reader.header;
    this.counters = reader.header.counters;
    this.ended = new Promise((resolve) => {
      this.#end = resolve;
    });
    this.#readAhead(2);
    // The first refresh of a screen is shorter than the others.
    const typical = (this.#queue[1] ?? this.#queue[0])?.intervalSeconds ?? 1;
    this.recordedSeconds = Math.max(0.1, Math.round(typical * 10) / 10);
    this.#seconds = options.delaySeconds ?? this.recordedSeconds;
    if (this.#queue.length > 0) return;
    reader.close();
    throw new UserError(reader.problem ?? "a recording without a refresh");
  }

  /** What is wrong with the end of the recording; known when it has ended. */
  get problem(): string | undefined {
    return this.#reader.problem;
  }

  subscribe(listener: (event: SourceEvent) => void): () => void {
    this.#listeners.add(listener);
    if (!this.#begun) {
      this.#begun = true;
      // Others may subscribe before the first tick.
      setImmediate(() => this.#play());
    }
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size === 0) this.#stop();
    };
  }

  /** Shows each refresh for as long as this: the speed. */
  setInterval(seconds: number): void {
    this.#seconds = seconds;
    if (this.#timer) this.#plan();
  }

  close(): Promise<void> {
    this.#stop();
    this.#reader.close();
    return Promise.resolve();
  }

  #readAhead(count: number): void {
    while (this.#queue.length < count) {
      const { done, value } = this.#ticks.next();
      if (done) return;
      this.#queue.push(value);
    }
  }

  #play(): void {
    if (this.#options.pace === "full") void this.#rush();
    else this.#step();
  }

  /** The file cannot be read any more: what was read stays. */
  #fail(error: unknown): void {
    this.#tell({ error: error instanceof Error ? error.message : String(error) });
    this.#end();
  }

  async #rush(): Promise<void> {
    try {
      while (this.#listeners.size > 0) {
        const tick = this.#queue.shift();
        if (!tick) break;
        this.#publish(tick);
        this.#readAhead(1);
        // Signals are heard, and whoever reads the output keeps up.
        await new Promise((resolve) => setImmediate(resolve));
        await this.#options.ready?.();
      }
      this.#end();
    } catch (error) {
      this.#fail(error);
    }
  }

  #step(): void {
    this.#timer = undefined;
    const tick = this.#queue.shift();
    if (!tick) return;
    try {
      this.#readAhead(2);
    } catch (error) {
      this.#fail(error);
      return;
    }
    this.#publish(tick);
    if (this.#queue.length > 0) {
      this.#plan();
      return;
    }
    this.#tell({ notice: this.problem ?? END_NOTICE });
    this.#end();
  }

  /** The next one after the time that it took, made longer or shorter. */
  #plan(): void {
    clearTimeout(this.#timer);
    const [next] = this.#queue;
    if (!next) return;
    const speed = this.#seconds / this.recordedSeconds;
    this.#timer = setTimeout(() => this.#step(), next.intervalSeconds * speed * 1000);
  }

  #stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #publish(tick: Tick): void {
    this.#tell({ tick: narrowed(tick, this.#options.pids) });
  }

  #tell(event: SourceEvent): void {
    for (const listener of this.#listeners) listener(event);
  }
}

/** A tick as if only these processes had been sampled; what the counters counted stays that of all. */
function narrowed(tick: Tick, pids: readonly number[]): Tick {
  if (pids.length === 0) return tick;
  const { counts, store } = tick;
  const isWanted = store.tasks.map(({ pid }) => pids.includes(pid));
  const places = [...counts.tasks.keys()].filter((i) => isWanted[counts.tasks[i] ?? 0]);
  const weights = Float64Array.from(places, (i) => counts.weights[i] ?? 0);
  const samples = places.reduce((sum, i) => {
    const isWait = store.waitOf(counts.stacks[i] ?? 0) !== 0;
    return isWait ? sum : sum + (counts.weights[i] ?? 0);
  }, 0);
  return {
    ...tick,
    pids,
    samples,
    ...(tick.waiting ? { waiting: narrowedWaiting(tick.waiting, pids, isWanted) } : {}),
    counts: {
      length: places.length,
      stacks: Uint32Array.from(places, (i) => counts.stacks[i] ?? 0),
      tasks: Uint32Array.from(places, (i) => counts.tasks[i] ?? 0),
      weights,
    },
  };
}

const narrowedWaiting = (
  { processes, longWaits, sweeps, lost }: Waiting,
  pids: readonly number[],
  isWanted: readonly boolean[],
): Waiting => ({
  processes: processes.filter(({ pid }) => pids.includes(pid)),
  longWaits: longWaits.filter(({ task }) => isWanted[task]),
  sweeps,
  lost,
});
