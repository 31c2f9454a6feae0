/** Opens this machine as a source of ticks, as the options ask for it. */
import type { ResolvedEvent } from "../addon/events.ts";
import { cacheFolder } from "../machine/cache-folder.ts";
import { budgetPercent } from "../options/environment.ts";
import type { RecordOptions, RunOptions } from "../options/options.ts";
import type { LiveSource } from "../sources/live.ts";
import { isTimeOnly } from "../tick/event-request.ts";
import { CPU_TIME, type EventName } from "../tick/events.ts";
import { warn } from "./lifetime.ts";

/** A screen fills sooner than after a whole refresh. */
const FIRST_LOOK_SECONDS = 0.2;

/** Where only running code is looked at: this holds some 10 samples of each busy CPU. */
const QUICK_LOOK_SECONDS = 0.1;

/** Starts to sample this machine; throws where it or its user cannot. `isWatched`: for a screen. */
export async function openMachine(
  options: RunOptions | RecordOptions,
  isWatched: boolean,
): Promise<{ source: LiveSource; frequency: number }> {
  const { collectHere, openLiveSource, startThread } = await import("../sources/live.ts");
  const preflight = await import("../doctor/preflight.ts");
  const { checkMachine, checkNativeFiles, checkPids, clampFrequency } = preflight;
  checkPids(options.pids);
  checkMachine();
  checkNativeFiles();
  // Whatever this thread starts is sampled as the command's: a collector on it would start programs of its own.
  const collecting = isWatched || options.program ? startThread() : collectHere();
  // Where the kernel verifies the BPF programs on one CPU, both threads share the other: this one reads on once the
  // other is loaded, and while that waits.
  if (isWatched) collecting.once("message", () => void import("../screen/run.ts"));
  const { frequency, notice } = clampFrequency(options.frequency);
  if (notice) warn(notice);
  const { delaySeconds, pids, cache } = options;
  const { event, events, period } = await eventsOf(options);
  const firstSeconds = event === CPU_TIME && !events ? QUICK_LOOK_SECONDS : FIRST_LOOK_SECONDS;
  const budget = budgetPercent(process.env);
  const source = await openLiveSource(collecting, {
    event,
    ...(events ? { events } : {}),
    ...(period === undefined ? {} : { period }),
    frequency,
    delaySeconds,
    firstDelaySeconds: isWatched ? Math.min(delaySeconds, firstSeconds) : delaySeconds,
    pids,
    byFunction: !isWatched,
    followsOwn: options.program !== undefined,
    ...(options.program ? { prepared: await filesBefore(options.program) } : {}),
    cacheFolder: cache ? cacheFolder(process.env, process.getuid?.()) : "",
    ...(budget === undefined ? {} : { budgetPercent: budget }),
  });
  return { source, frequency };
}

/** Files that a command runs at its start; between fork and exec it is polytop itself. */
async function filesBefore(program: readonly string[]): Promise<readonly string[]> {
  const { filesOfWords } = await import("../events/command-files.ts");
  const { loadAddon } = await import("../addon/binding.ts");
  return [...filesOfWords(program, loadAddon()), process.execPath];
}

/** What is counted: the time of CPUs or of waits alone, or events that this machine has. */
async function eventsOf(options: RunOptions | RecordOptions): Promise<{
  readonly event: EventName;
  readonly events?: readonly ResolvedEvent[];
  readonly period?: number;
}> {
  const { events: requests, count, pids, program } = options;
  const [first] = requests;
  if (isTimeOnly(requests)) return { event: first?.kind === "time" ? first.event : CPU_TIME };
  const { resolveEvents } = await import("../events/resolve.ts");
  const { loadAddon } = await import("../addon/binding.ts");
  const events = resolveEvents(requests, { addon: loadAddon(), pids, program });
  for (const { notice } of events) if (notice) warn(notice);
  return { event: CPU_TIME, events, ...(count === undefined ? {} : { period: count }) };
}
