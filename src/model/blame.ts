/** Who is behind a counter of the unwinder: the processes and places of the stacks it counted. */
import type { CounterDefinition } from "../tick/source.ts";
import { countsOf, type FunctionInfo, type Stack, type Tick } from "../tick/tick.ts";

/** A process with how many of the samples are its. */
export interface BlamedProcess {
  readonly pid: number;
  readonly comm: string;
  readonly count: number;
}

/** The place where walks ended: the outermost function that was still found. */
export interface BlamedPlace {
  /** Missing where the stack holds nothing but the reason. */
  readonly function?: FunctionInfo;
  readonly count: number;
}

/** Most samples first. */
export interface Blame {
  readonly samples: number;
  readonly processes: readonly BlamedProcess[];
  readonly places: readonly BlamedPlace[];
  readonly files: readonly { readonly module: string; readonly count: number }[];
}

/** Which stacks a counter counted; undefined where stacks do not tell. */
export function stackTest(counter: CounterDefinition): ((stack: Stack) => boolean) | undefined {
  const { label, kind, runtime } = counter;
  if (label !== undefined) {
    const end = `[${label}]`;
    return (stack) => stack.frames.some((frame) => frame.function.name === end);
  }
  if (runtime === "sampler" || kind === "loss") return undefined;
  const holds = (stack: Stack): boolean =>
    runtime === "native" || stack.frames.some((frame) => frame.function.runtime === runtime);
  if (kind === "truncated") return (stack) => stack.outcome === "truncated" && holds(stack);
  return holds;
}

const sorted = <K>(counts: ReadonlyMap<K, number>): [K, number][] =>
  [...counts].sort((a, b) => b[1] - a[1]);

/** Adds up the stacks of some ticks that a counter counted. */
export function blame(ticks: readonly Tick[], counter: CounterDefinition): Blame {
  const test = stackTest(counter);
  const processes = new Map<number, number>();
  const comms = new Map<number, string>();
  const places = new Map<FunctionInfo | undefined, number>();
  const files = new Map<string, number>();
  let samples = 0;
  if (!test) return { samples, processes: [], places: [], files: [] };
  for (const { stack, task, count } of countsOf(ticks)) {
    if (!test(stack)) continue;
    samples += count;
    processes.set(task.pid, (processes.get(task.pid) ?? 0) + count);
    comms.set(task.pid, task.comm);
    // The frame above the reason, or the outermost one.
    const end = stack.frames.findIndex((frame) => frame.function.name === `[${counter.label}]`);
    const last = end < 0 ? stack.frames.length : end;
    const place = stack.frames[last - 1]?.function;
    places.set(place, (places.get(place) ?? 0) + count);
    const module = place?.module ?? "";
    if (module !== "") files.set(module, (files.get(module) ?? 0) + count);
  }
  return {
    samples,
    processes: sorted(processes).map(([pid, count]) => ({
      pid,
      comm: comms.get(pid) ?? "",
      count,
    })),
    places: sorted(places).map(([info, count]) => ({ ...(info ? { function: info } : {}), count })),
    files: sorted(files).map(([module, count]) => ({ module, count })),
  };
}
