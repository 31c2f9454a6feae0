/** What can be sampled: a row for each event of `-e`, of which the parser and the help are made. */
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
const PERF_TYPE_SOFTWARE = 1;
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

export const EVENT_NAMES = Object.keys(EVENTS);

export const isEventName = (text: string): text is EventName => Object.hasOwn(EVENTS, text);
