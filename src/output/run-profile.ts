/** The stacks of a whole run, added up: what collapsed stacks, pprof and speedscope files are made of. */

import type { Filter } from "../model/filter.ts";
import { StackTree } from "../recording/stack-tree.ts";
import type { Frame, FunctionInfo, Stack, Task, Tick } from "../tick/tick.ts";

/** What of the stacks is kept. */
export interface ProfileOptions {
  readonly filter: Filter | undefined;
  readonly kernel: boolean;
  readonly nativeFrames: boolean;
}

/** One frame of a profile. */
export interface ProfileFrame {
  readonly function: FunctionInfo;
  readonly line: number | undefined;
}

/** A stack in a process, and how often it was met. */
export interface ProfileSample {
  readonly pid: number;
  readonly comm: string;
  /** Root first, numbers of `RunProfile.frames`. */
  readonly frames: readonly number[];
  readonly count: number;
  /** CPU time that the samples stand for. */
  readonly nanoseconds: number;
}

/** Some 100 MB: beyond it a stack is counted, but not kept. */
const MAX_NODES = 4 << 20;

const pseudo = (name: string): FunctionInfo => ({ id: -1, runtime: "native", name, module: "" });
const KERNEL_ONLY = pseudo("[kernel]");
const TOO_MANY = pseudo("[polytop: too many different stacks]");

interface Amount {
  count: number;
  nanoseconds: number;
}

interface Process {
  readonly pid: number;
  readonly comm: string;
  readonly stacks: Map<number, Amount>;
}

export class RunProfile {
  /** When the run began, milliseconds since 1970; undefined before the first tick. */
  begin: number | undefined;
  seconds = 0;
  /** Samples a second on each CPU, at the start. */
  frequency = 0;
  event = "";
  host = "";
  readonly #options: ProfileOptions;
  readonly #tree = new StackTree();
  readonly #frames: ProfileFrame[] = [];
  readonly #frameNumbers = new Map<FunctionInfo, Map<number, number>>();
  /** Leaves of stacks by identity: most are met again. */
  readonly #leaves = new WeakMap<Stack, number>();
  readonly #processes = new Map<string, Process>();

  constructor(options: ProfileOptions) {
    this.#options = options;
  }

  get frames(): readonly ProfileFrame[] {
    return this.#frames;
  }

  add(tick: Tick): void {
    if (this.begin === undefined) {
      this.begin = tick.time - tick.intervalSeconds * 1000;
      this.frequency = tick.frequency;
      this.event = tick.event;
      this.host = tick.host;
    }
    this.seconds += tick.intervalSeconds;
    const period = tick.frequency > 0 ? 1e9 / tick.frequency : 0;
    for (const { stack, task, count } of tick.counts) {
      if (count <= 0 || !this.#isWanted(stack, task)) continue;
      const { stacks } = this.#process(task);
      const leaf = this.#leaf(stack);
      const amount = stacks.get(leaf);
      if (amount) {
        amount.count += count;
        amount.nanoseconds += count * period;
      } else {
        stacks.set(leaf, { count, nanoseconds: count * period });
      }
    }
  }

  /** In the order in which they were met. */
  *samples(): Generator<ProfileSample> {
    for (const { pid, comm, stacks } of this.#processes.values()) {
      for (const [leaf, { count, nanoseconds }] of stacks) {
        const frames: number[] = [];
        for (let node = leaf; node !== StackTree.ROOT; node = this.#tree.parentOf(node)) {
          frames.push(this.#tree.frameOf(node));
        }
        yield { pid, comm, frames: frames.reverse(), count, nanoseconds };
      }
    }
  }

  /** A filter about functions chooses the stacks that one of them is in. */
  #isWanted(stack: Stack, task: Task): boolean {
    const { filter } = this.#options;
    if (!filter) return true;
    if (!filter.matchesTask(task)) return false;
    return (
      !filter.hasFunctionTerms ||
      stack.frames.some((frame) => filter.matchesFunction(frame.function))
    );
  }

  #process({ pid, comm }: Task): Process {
    const key = `${pid} ${comm}`;
    let process = this.#processes.get(key);
    if (!process) {
      process = { pid, comm, stacks: new Map() };
      this.#processes.set(key, process);
    }
    return process;
  }

  #leaf(stack: Stack): number {
    let leaf = this.#leaves.get(stack);
    if (leaf === undefined) {
      leaf = this.#addStack(stack);
      this.#leaves.set(stack, leaf);
    }
    return leaf;
  }

  #addStack(stack: Stack): number {
    const full = this.#tree.size + stack.frames.length > MAX_NODES;
    const frames = full ? [{ function: TOO_MANY }] : this.#shown(stack);
    let node = StackTree.ROOT;
    for (let i = frames.length - 1; i >= 0; i--) {
      const number = this.#frame(frames[i] as Frame);
      node = this.#tree.find(node, number) || this.#tree.add(node, number);
    }
    return node;
  }

  /** Leaf first; a stack of which nothing is to be shown says so. */
  #shown({ frames }: Stack): readonly Frame[] {
    const { kernel, nativeFrames } = this.#options;
    const isKernel = (frame: Frame): boolean => frame.function.runtime === "kernel";
    const shown = frames.filter((frame) =>
      isKernel(frame) ? kernel : nativeFrames || !frame.folded,
    );
    if (shown.length > 0) return shown;
    return frames.some(isKernel) ? [{ function: KERNEL_ONLY }] : frames;
  }

  #frame({ function: info, line }: Frame): number {
    let lines = this.#frameNumbers.get(info);
    if (!lines) {
      lines = new Map();
      this.#frameNumbers.set(info, lines);
    }
    let number = lines.get(line ?? -1);
    if (number === undefined) {
      number = this.#frames.length;
      this.#frames.push({ function: info, line });
      lines.set(line ?? -1, number);
    }
    return number;
  }
}
