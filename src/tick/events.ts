/** What can be sampled: a row for each event that `-e` knows by a word, of which the parser and the help are made. */
import type { Unit } from "./tick.ts";
import type { Activity } from "./waits.ts";

/** A counter of the kernel that takes a sample each time it overflows. */
export interface EventSource {
  /** The name that perf gives it. */
  readonly name: string;
  /** `perf_event_attr.type` and `.config` of perf_event_open(2). */
  readonly type: number;
  readonly config: number;
  /** It overflows at even times, so that a sample which does not come was left out. */
  readonly isClock: boolean;
}

/** An event of time: what runs, what waits, or both. */
export interface EventRow {
  readonly help: string;
  /** What a sample's weight counts. */
  readonly unit: Unit;
  /** Which threads are looked at. */
  readonly activity: Activity;
  /** The first of these that a machine has is taken; none where nothing that runs is sampled. */
  readonly sources: readonly EventSource[];
}

/** The numbers are those of enum perf_type_id, perf_hw_id and perf_sw_ids in linux/perf_event.h. */
const PERF_TYPE_HARDWARE = 0;
export const PERF_TYPE_SOFTWARE = 1;
const PERF_TYPE_HW_CACHE = 3;
const PERF_TYPE_RAW = 4;
const PERF_COUNT_HW_CPU_CYCLES = 0;
const PERF_COUNT_SW_CPU_CLOCK = 0;

const CPU_SOURCES: readonly EventSource[] = [
  {
    name: "cycles",
    type: PERF_TYPE_HARDWARE,
    config: PERF_COUNT_HW_CPU_CYCLES,
    isClock: false,
  },
  {
    name: "cpu-clock",
    type: PERF_TYPE_SOFTWARE,
    config: PERF_COUNT_SW_CPU_CLOCK,
    isClock: true,
  },
];

export const EVENTS = {
  cpu: { help: "time on the CPU", unit: "samples", activity: "running", sources: CPU_SOURCES },
  wait: { help: "time spent waiting", unit: "samples", activity: "waiting", sources: CPU_SOURCES },
  wall: { help: "both", unit: "samples", activity: "both", sources: CPU_SOURCES },
} as const satisfies Readonly<Record<string, EventRow>>;

export type EventName = keyof typeof EVENTS;

/** The event of what runs, which is counted where nobody asks for another one. */
export const CPU_TIME = "cpu" satisfies EventName;

export const EVENT_NAMES = Object.keys(EVENTS) as readonly EventName[];

/** Whether a text is an event of time. */
export const isEventName = (text: string): text is EventName => Object.hasOwn(EVENTS, text);

/** An event that the kernel or the processor counts, by the name that perf gives it. */
export interface CounterRow {
  /** `perf_event_attr.type` and `.config`. */
  readonly type: number;
  readonly config: number;
  readonly aliases?: readonly string[];
  readonly help: string;
}

const software = (config: number, help: string, ...aliases: string[]): CounterRow => ({
  type: PERF_TYPE_SOFTWARE,
  config,
  aliases,
  help,
});

const hardware = (config: number, help: string, ...aliases: string[]): CounterRow => ({
  type: PERF_TYPE_HARDWARE,
  config,
  aliases,
  help,
});

const COUNTERS: Readonly<Record<string, CounterRow>> = {
  "page-faults": software(2, "pages that a program touched and did not have", "faults"),
  "minor-faults": software(5, "page faults that needed no disk"),
  "major-faults": software(6, "page faults that waited for a disk"),
  "context-switches": software(3, "switches from one thread to another", "cs"),
  "cpu-migrations": software(4, "threads that went on on another CPU", "migrations"),
  "cgroup-switches": software(11, "switches to a thread of another cgroup"),
  "alignment-faults": software(7, "unaligned accesses that the kernel carried out"),
  "emulation-faults": software(8, "instructions that the kernel carried out"),
  cycles: hardware(0, "cycles of the processor", "cpu-cycles"),
  instructions: hardware(1, "instructions that were carried out"),
  "cache-references": hardware(2, "accesses of the last level of caches"),
  "cache-misses": hardware(3, "accesses that went to memory"),
  branches: hardware(4, "branches", "branch-instructions"),
  "branch-misses": hardware(5, "branches that were predicted wrong"),
  "bus-cycles": hardware(6, "cycles of the bus"),
  "stalled-cycles-frontend": hardware(7, "cycles without instructions to carry out"),
  "stalled-cycles-backend": hardware(8, "cycles that waited for data or units"),
  "ref-cycles": hardware(9, "cycles at the nominal frequency"),
};

/** The caches of enum perf_hw_cache_id, in its order, and what happens in them. */
const CACHES = ["L1-dcache", "L1-icache", "LLC", "dTLB", "iTLB", "branch", "node"];
const OPERATIONS = ["load", "store", "prefetch"];

function* cacheCounters(): Generator<[string, CounterRow]> {
  for (const [cache, name] of CACHES.entries()) {
    for (const [operation, word] of OPERATIONS.entries()) {
      const config = cache | (operation << 8);
      const plural = word === "prefetch" ? "prefetches" : `${word}s`;
      const row = (result: number, help: string): CounterRow => ({
        type: PERF_TYPE_HW_CACHE,
        config: config | (result << 16),
        help,
      });
      yield [`${name}-${plural}`, row(0, `${plural} in ${name}`)];
      yield [`${name}-${word}-misses`, row(1, `${plural} that ${name} did not have`)];
    }
  }
}

/** The counters that have a name, by their first one. */
export const COUNTER_ROWS: ReadonlyMap<string, CounterRow> = new Map([
  ...Object.entries(COUNTERS),
  ...cacheCounters(),
]);

/** What a key picks among while it runs. */
export const COMMON_EVENTS: readonly string[] = [
  CPU_TIME,
  "page-faults",
  "context-switches",
  "cpu-migrations",
  "major-faults",
];

/** The counter of a name or an alias, or `r` and a number in hexadecimal digits as the processor's manual has it. */
export function counterOf(text: string): CounterRow | undefined {
  const raw = /^r([0-9a-f]{1,8})$/i.exec(text)?.[1];
  if (raw) return { type: PERF_TYPE_RAW, config: Number.parseInt(raw, 16), help: "" };
  const known = COUNTER_ROWS.get(text);
  if (known) return known;
  return [...COUNTER_ROWS.values()].find(({ aliases }) => aliases?.includes(text));
}
