/** Makes ticks for tests out of short descriptions. */

import counterFile from "../../bpf/counters.json" with { type: "json" };
import { type Filter, parseFilter } from "../../src/model/filter/filter.ts";
import { FIRST_FUNCTION } from "../../src/tick/functions.ts";
import type { Runtime } from "../../src/tick/runtimes.ts";
import type { CounterDefinition } from "../../src/tick/source.ts";
import type { Frame, Store } from "../../src/tick/store.ts";
import {
  type AwaitRole,
  type FunctionInfo,
  OUTCOMES,
  type Outcome,
  type Task,
  type Tick,
  type TickHeader,
} from "../../src/tick/tick.ts";
import { TickWriter } from "../../src/tick/tick-writer.ts";
import type { Wait } from "../../src/tick/waits.ts";

/** A stack as an object, leaf first: what tests describe and compare. */
export interface Stack {
  readonly frames: readonly Frame[];
  readonly outcome: Outcome;
  /** How its threads wait; missing: they run. */
  readonly wait?: Wait;
}

/** How much a stack weighed in a thread. */
export interface StackCount {
  readonly stack: Stack;
  readonly task: Task;
  readonly count: number;
  /** Its place among the events of the tick. */
  readonly event?: number;
}

/** The counts of ticks as objects. */
export const stackCounts = (...ticks: readonly Tick[]): StackCount[] =>
  ticks.flatMap(({ store, counts }) =>
    Array.from(counts.stacks, (stack, i) => ({
      stack: {
        frames: store.framesOf(stack).map((frame) => store.frame(frame)),
        outcome: store.outcomeOf(stack),
      },
      task: store.tasks[counts.tasks[i] ?? 0] as Task,
      count: counts.weights[i] ?? 0,
    })),
  );

/** The real counters. */
export const COUNTERS: readonly CounterDefinition[] = counterFile.counters;

const CODES: Readonly<Record<string, Runtime>> = {
  p: "perl",
  d: "dotnet",
  n: "native",
  k: "kernel",
  y: "python",
  j: "javascript",
};

const AWAIT_MARKS: Readonly<Record<string, AwaitRole>> = {
  "~": "awaits",
  "=": "mark",
  "-": "schedules",
};

/** Makes descriptions of functions and stacks. */
export class TickMaker {
  function(runtime: Runtime, name: string, module = ""): FunctionInfo {
    return functionInfo({ runtime, name, module });
  }

  /**
   * A frame of `n:name@module:line`. Before it `!`: folded, `~`: it awaits, `=`: a row about those that await, `-`: it
   * schedules. The kind is p, d, n, k, y or j.
   */
  frame(text: string): Frame {
    const [, mark = "", kind = "n", name = "", module, line] =
      /^([!~=-]?)([pdnkyj]):(.*?)(?:@([^:]*)(?::(\d+))?)?$/s.exec(text) ?? [];
    const awaits = AWAIT_MARKS[mark];
    return {
      function: this.function(CODES[kind] ?? "native", name, module),
      ...(line === undefined ? {} : { line: Number(line) }),
      ...(mark === "!" ? { folded: true } : {}),
      ...(awaits === undefined ? {} : { awaits }),
    };
  }

  /** A stack, leaf first. */
  stack(frames: readonly string[], outcome: Outcome = "complete"): Stack {
    return { frames: frames.map((text) => this.frame(text)), outcome };
  }
}

/** A thread of a process. */
export const task = (pid: number, comm: string, more: Partial<Task> = {}): Task => ({
  pid,
  tid: pid,
  comm,
  thread: comm,
  parentPid: 1,
  uid: 0,
  cgroup: "1",
  startTime: pid * 10,
  ...more,
});

const functions: FunctionInfo[] = [];
const known = new Map<string, FunctionInfo>();

/** A function with an id of its own: equal ones are the same object. */
export function functionInfo(named: Omit<FunctionInfo, "id">): FunctionInfo {
  const key = JSON.stringify([named.runtime, named.name, named.module, named.whyUnnamed]);
  let info = known.get(key);
  if (!info) {
    info = { id: FIRST_FUNCTION + functions.length, ...named };
    functions.push(info);
    known.set(key, info);
  }
  return info;
}

/** Makes ticks that share a store, as a source does; a new maker begins a new one. */
export class StoreMaker {
  readonly #writer = new TickWriter();
  #sent = 0;
  /** Numbers of frames of the writer's present store: by what they say, and by the objects that say it. */
  readonly #frames = new Map<string, number>();
  readonly #known = new Map<Frame, number>();
  #store: Store | undefined;

  tick(header: TickHeader, counts: readonly StackCount[]): Tick {
    for (const { stack } of counts) for (const frame of stack.frames) this.#id(frame);
    this.#writer.addFunctions(functions.slice(this.#sent));
    this.#sent = functions.length;
    for (const { stack, task, count, event } of counts) {
      const frames = stack.frames.map((frame) => this.#frame(frame));
      const outcome = OUTCOMES.indexOf(stack.outcome);
      this.#writer.count(
        this.#writer.stack(frames, outcome, stack.wait),
        this.#writer.task(task),
        count,
        event,
      );
    }
    return this.#writer.take(header);
  }

  /** What comes is of a new store. */
  renew(): void {
    this.#writer.renew();
    this.#forgetFrames();
  }

  #forgetFrames(): void {
    this.#frames.clear();
    this.#known.clear();
    this.#store = this.#writer.store;
  }

  /** The id of a frame's function among those of all makers. */
  #id({ function: { id: _, ...named } }: Frame): number {
    return functionInfo(named).id;
  }

  #frame(frame: Frame): number {
    if (this.#store !== this.#writer.store) this.#forgetFrames();
    const known = this.#known.get(frame);
    if (known !== undefined) return known;
    const { function: _, ...detail } = frame;
    const id = this.#id(frame);
    const { line, note, body, folded, awaits } = detail;
    const key = JSON.stringify([id, line, note, body, folded, awaits]);
    let number = this.#frames.get(key);
    if (number === undefined) {
      number = this.#writer.frame(id, Object.keys(detail).length > 0 ? detail : undefined);
      this.#frames.set(key, number);
    }
    this.#known.set(frame, number);
    return number;
  }
}

const shared = new StoreMaker();

/** A refresh of one second that holds these counts. */
export function makeTick(
  counts: readonly StackCount[],
  more: Partial<TickHeader> = {},
  maker = shared,
): Tick {
  const header: TickHeader = {
    time: Date.UTC(2026, 0, 31, 12, 0, 1, 3),
    intervalSeconds: 1.0004,
    event: "cpu-clock",
    unit: "samples",
    frequency: 99,
    cpus: 2,
    host: "web-3",
    pids: [],
    samples: counts.reduce((sum, { count }) => sum + count, 0),
    missed: 0,
    metrics: {},
    self: { cpuPercent: 0.74, bpfCpuPercent: 0.2, rssBytes: 90e6, bpfNanosecondsPerSample: 3100.4 },
    notices: [],
    ...more,
  };
  return maker.tick(header, counts);
}

/** The filter that a text stands for. */
export function filterOf(text: string): Filter {
  const parsed = parseFilter(text);
  if ("error" in parsed) throw new Error(parsed.error);
  return parsed.filter;
}
