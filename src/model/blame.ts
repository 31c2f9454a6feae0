/** Who is behind a counter of the unwinder: the processes and places of the stacks it counted. */
import type { CounterDefinition } from "../tick/source.ts";
import type { Store } from "../tick/store.ts";
import type { FunctionInfo, Tick } from "../tick/tick.ts";
import { selectionOf } from "./selection.ts";

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

/** A stack of a store. */
type StackTest = (store: Store, stack: number) => boolean;

/** Which stacks a counter counted; undefined where stacks do not tell. */
export function stackTest({ label, kind, runtime }: CounterDefinition): StackTest | undefined {
  const someFunction = (store: Store, stack: number, test: (info: FunctionInfo) => boolean) =>
    store.framesOf(stack).some((frame) => test(store.functionOf(frame)));
  if (label !== undefined) {
    const end = `[${label}]`;
    return (store, stack) => someFunction(store, stack, ({ name }) => name === end);
  }
  if (runtime === "sampler" || kind === "loss") return undefined;
  const holds: StackTest = (store, stack) =>
    runtime === "native" || someFunction(store, stack, (info) => info.runtime === runtime);
  if (kind !== "truncated" && kind !== "guessed") return holds;
  return (store, stack) => store.outcomeOf(stack) === kind && holds(store, stack);
}

/** Every thread and frame: a counter counts what its reader may have left out, too. */
const EVERYTHING = { kernel: true, nativeFrames: true };

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
  for (const { shown, stack, task, weight } of selectionOf(EVERYTHING).counts(ticks)) {
    const { store } = shown;
    if (!test(store, stack)) continue;
    samples += weight;
    processes.set(task.pid, (processes.get(task.pid) ?? 0) + weight);
    comms.set(task.pid, task.comm);
    const functions = store.framesOf(stack).map((frame) => store.functionOf(frame));
    // The frame above the reason, or the outermost one.
    const end = functions.findIndex(({ name }) => name === `[${counter.label}]`);
    const place = functions[(end < 0 ? functions.length : end) - 1];
    places.set(place, (places.get(place) ?? 0) + weight);
    const module = place?.module ?? "";
    if (module !== "") files.set(module, (files.get(module) ?? 0) + weight);
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
