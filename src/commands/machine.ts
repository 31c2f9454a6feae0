/** Opens this machine as a source of ticks, as the options ask for it. */
import type { ResolvedEvent } from "../addon/events.ts";
import { cacheFolder } from "../machine/cache-folder.ts";
import { putCollectorFirst } from "../machine/priority.ts";
import type { RecordOptions, RunOptions } from "../options/asked.ts";
import { budgetPercent } from "../options/environment.ts";
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
  const { openLiveSource } = await import("../sources/live.ts");
  const preflight = await import("../doctor/preflight.ts");
  const { checkMachine, checkNativeFiles, checkPids, clampFrequency } = preflight;
  checkPids(options.pids);
  checkMachine();
  checkNativeFiles();
  // The kernel verifies the BPF programs meanwhile, on another thread.
  if (isWatched) await import("../screen/run.ts");
  else putCollectorFirst();
  const { frequency, notice } = clampFrequency(options.frequency);
  if (notice) warn(notice);
  const { delaySeconds, pids, cache } = options;
  const { event, events, period } = await eventsOf(options);
  const firstSeconds = event === CPU_TIME && !events ? QUICK_LOOK_SECONDS : FIRST_LOOK_SECONDS;
  const budget = budgetPercent(process.env);
  const source = openLiveSource({
    event,
    ...(events ? { events } : {}),
    ...(period === undefined ? {} : { period }),
    frequency,
    delaySeconds,
    firstDelaySeconds: isWatched ? Math.min(delaySeconds, firstSeconds) : delaySeconds,
    pids,
    arguments: options.arguments,
    byFunction: !isWatched,
    ...(options.program ? await followed(options.program) : {}),
    cacheFolder: cache ? cacheFolder(process.env, process.getuid?.()) : "",
    ...(budget === undefined ? {} : { budgetPercent: budget }),
  });
  return { source, frequency };
}

/** What is sampled of a command: all that the thread starts that starts it, and files that are read before. */
async function followed(program: readonly string[]): Promise<{
  readonly followed: number;
  readonly prepared: readonly string[];
}> {
  const { filesOfWords } = await import("../events/command-files.ts");
  const { loadAddon } = await import("../addon/binding.ts");
  const addon = loadAddon();
  // Between fork and exec it is polytop itself.
  const prepared = [...filesOfWords(program, addon), process.execPath];
  return { followed: addon.commandThread(), prepared };
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
