/** The stacks of a whole run, added up: what collapsed stacks, pprof and speedscope files are made of. */
import { ofEventNamed } from "../model/events.ts";
import { type Choice, type Selection, type Shown, selectionOf } from "../model/selection.ts";
import { CPU_TIME } from "../tick/events.ts";
import { PrefixTree, ROOT } from "../tick/prefix-tree.ts";
import type { Store } from "../tick/store.ts";
import type { FunctionInfo, Task, Tick, Unit } from "../tick/tick.ts";
import { areSamples } from "../tick/units.ts";

/** One frame of a profile. */
export interface ProfileFrame {
  readonly function: FunctionInfo;
  readonly line: number | undefined;
  /** The function awaits what is further in. */
  readonly awaits: boolean;
}

/** The outermost frame of stacks that hold guesses, in formats that have no other place to say it. */
export const GUESSED_FRAME = "[guessed]";

/** A stack in a process, and how much it weighed. */
export interface ProfileSample {
  readonly pid: number;
  readonly comm: string;
  /** Root first, numbers of `RunProfile.frames`. */
  readonly frames: readonly number[];
  /** Some of its callers are guesses. */
  readonly isGuessed: boolean;
  /** For each event of the profile, in its unit. */
  readonly weights: readonly number[];
  /** For each event CPU time that samples stand for; the weight itself where that is another unit. */
  readonly values: readonly number[];
}

/** An event of a profile. */
export interface ProfileEvent {
  /** As it was asked for; empty where the CPU's time or waits alone are counted. */
  readonly name: string;
  readonly unit: Unit;
}

/** Some 100 MB: beyond it a stack is counted, but not kept. */
const MAX_NODES = 4 << 20;

const TOO_MANY: FunctionInfo = {
  id: -1,
  runtime: "native",
  name: "[polytop: too many different stacks]",
  module: "",
};

interface Amount {
  readonly weights: number[];
  readonly values: number[];
}

interface Process {
  readonly pid: number;
  readonly comm: string;
  /** By leaf: those of which every frame is known, and those that hold guesses. */
  readonly stacks: Map<number, Amount>;
  readonly guessed: Map<number, Amount>;
}

/** Adds a run up: stacks of programs, with their weights for each event. */
export class RunProfile {
  /** When the run began, milliseconds since 1970; undefined before the first tick. */
  begin: number | undefined;
  seconds = 0;
  /** Samples a second on each CPU, at the start. */
  frequency = 0;
  event = "";
  /** One at least. */
  events: readonly ProfileEvent[] = [{ name: "", unit: "samples" }];
  host = "";
  readonly #selection: Selection;
  readonly #tree = new PrefixTree();
  readonly #frames: ProfileFrame[] = [];
  readonly #frameNumbers = new Map<FunctionInfo, Map<string, number>>();
  /** Leaves by the numbers of a store's stacks: most are met again. */
  readonly #leaves = new WeakMap<Store, number[]>();
  readonly #processes = new Map<string, Process>();

  constructor(choice: Choice) {
    this.#selection = selectionOf(choice);
  }

  get frames(): readonly ProfileFrame[] {
    return this.#frames;
  }

  add(tick: Tick): void {
    if (this.begin === undefined) {
      this.begin = tick.time - tick.intervalSeconds * 1000;
      this.frequency = tick.frequency;
      this.event = tick.event;
      this.events = tick.events ?? [{ name: "", unit: tick.unit }];
      this.host = tick.host;
    }
    this.seconds += tick.intervalSeconds;
    for (const [place, { name, unit }] of this.events.entries()) {
      // A screen may have counted others meanwhile: those of the start are what was asked for.
      this.#addEvent(ofEventNamed(tick, name || CPU_TIME), place, unit);
    }
  }

  #addEvent(tick: Tick, place: number, unit: Unit): void {
    const period = tick.frequency > 0 ? 1e9 / tick.frequency : 0;
    const factor = areSamples(unit) ? period : 1;
    for (const { shown, stack, task, weight } of this.#selection.counts([tick])) {
      if (!shown.wants(stack)) continue;
      const process = this.#process(task);
      const isGuessed = shown.store.outcomeOf(stack) === "guessed";
      const stacks = isGuessed ? process.guessed : process.stacks;
      const leaf = this.#leaf(shown, stack);
      const amount = stacks.get(leaf) ?? this.#nothing();
      amount.weights[place] = (amount.weights[place] ?? 0) + weight;
      amount.values[place] = (amount.values[place] ?? 0) + weight * factor;
      stacks.set(leaf, amount);
    }
  }

  #nothing(): Amount {
    return { weights: this.events.map(() => 0), values: this.events.map(() => 0) };
  }

  /** The stacks of each process, in the order in which they were met. */
  *samples(): Generator<ProfileSample> {
    for (const { pid, comm, stacks, guessed } of this.#processes.values()) {
      for (const [leaf, amount] of stacks) {
        yield { pid, comm, frames: this.#framesOf(leaf), isGuessed: false, ...amount };
      }
      for (const [leaf, amount] of guessed) {
        yield { pid, comm, frames: this.#framesOf(leaf), isGuessed: true, ...amount };
      }
    }
  }

  /** Root first. */
  #framesOf(leaf: number): number[] {
    const frames: number[] = [];
    for (let node = leaf; node !== ROOT; node = this.#tree.parentOf(node)) {
      frames.push(this.#tree.frameOf(node));
    }
    return frames.reverse();
  }

  #process({ pid, comm }: Task): Process {
    const key = `${pid} ${comm}`;
    let process = this.#processes.get(key);
    if (!process) {
      process = { pid, comm, stacks: new Map(), guessed: new Map() };
      this.#processes.set(key, process);
    }
    return process;
  }

  #leaf(shown: Shown, stack: number): number {
    let leaves = this.#leaves.get(shown.store);
    if (!leaves) {
      leaves = [];
      this.#leaves.set(shown.store, leaves);
    }
    leaves[stack] ??= this.#enter(shown, stack);
    return leaves[stack];
  }

  /** Enters a stack into the tree; returns its innermost node. */
  #enter(shown: Shown, stack: number): number {
    const { store } = shown;
    const frames = shown.frames(stack);
    if (this.#tree.size + frames.length > MAX_NODES) {
      return this.#tree.child(ROOT, this.#frame(TOO_MANY, undefined, false));
    }
    return frames.reduceRight(
      (node, frame) =>
        this.#tree.child(
          node,
          this.#frame(store.functionOf(frame), store.lineOf(frame), store.awaits(frame)),
        ),
      ROOT,
    );
  }

  #frame(info: FunctionInfo, line: number | undefined, awaits: boolean): number {
    const key = `${line ?? ""}${awaits ? "a" : ""}`;
    let lines = this.#frameNumbers.get(info);
    if (!lines) {
      lines = new Map();
      this.#frameNumbers.set(info, lines);
    }
    let number = lines.get(key);
    if (number === undefined) {
      number = this.#frames.length;
      this.#frames.push({ function: info, line, awaits });
      lines.set(key, number);
    }
    return number;
  }
}
