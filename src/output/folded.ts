/** `--folded`: collapsed stacks of the whole run, the input of flame graph tools. */
import type { Stack, Task, Tick } from "../collector/tick.ts";
import type { Filter } from "../model/filter.ts";
import { cleanName } from "../runtimes/clean-name.ts";
import type { Sink, SinkOptions } from "./sink.ts";

/** A sink that writes `comm;frame;frame count`, root first, once at the end. */
export function foldedSink(options: SinkOptions): Sink {
  // Stacks are interned, so they are counted as objects and made into text once.
  const counts = new Map<string, Map<Stack, number>>();
  return {
    tick: (tick) => {
      count(tick, options.filter, counts);
      return "";
    },
    end: () => lines(counts, options),
  };
}

function count(
  tick: Tick,
  filter: Filter | undefined,
  counts: Map<string, Map<Stack, number>>,
): void {
  for (const { stack, task, count: samples } of tick.counts) {
    if (filter && !matches(stack, task, filter)) continue;
    let stacks = counts.get(task.comm);
    if (!stacks) {
      stacks = new Map();
      counts.set(task.comm, stacks);
    }
    stacks.set(stack, (stacks.get(stack) ?? 0) + samples);
  }
}

/** A filter about functions chooses the stacks that one of them is in. */
function matches(stack: Stack, task: Task, filter: Filter): boolean {
  if (!filter.matchesTask(task)) return false;
  return (
    !filter.hasFunctionTerms || stack.frames.some((frame) => filter.matchesFunction(frame.function))
  );
}

function lines(counts: Map<string, Map<Stack, number>>, options: SinkOptions): string {
  const merged = new Map<string, number>();
  for (const [comm, stacks] of counts) {
    for (const [stack, samples] of stacks) {
      const line = [separate(comm), ...frames(stack, options)].join(";");
      merged.set(line, (merged.get(line) ?? 0) + samples);
    }
  }
  return [...merged]
    .map(([line, samples]) => `${line} ${samples}\n`)
    .sort()
    .join("");
}

/** Names of the frames, root first; a stack of which nothing is to be shown says so. */
function frames(stack: Stack, { kernel, nativeFrames }: SinkOptions): string[] {
  const shown = stack.frames.filter(({ function: { runtime }, folded }) =>
    runtime === "kernel" ? kernel : nativeFrames || !folded,
  );
  if (shown.length === 0) {
    return stack.frames.some((frame) => frame.function.runtime === "kernel")
      ? ["[kernel]"]
      : stack.frames.map((frame) => separate(frame.function.name)).reverse();
  }
  return shown
    .map(({ function: info }) => separate(info.name) + (info.runtime === "kernel" ? "_[k]" : ""))
    .reverse();
}

/** A name that cannot be taken for two: `;` separates frames. */
const separate = (name: string): string => cleanName(name).replaceAll(";", ":") || "-";
