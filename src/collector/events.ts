/** The events of a run by their numbers in the kernel, and what was counted of each since the last tick. */
import type { Drained } from "../addon/drained.ts";
import type { NumberedEvent, ResolvedEvent } from "../addon/events.ts";
import type { EventInfo, FunctionInfo } from "../tick/tick.ts";

const EVENT_WORDS = 4;

/** The number of the CPU's time. */
const CLOCK = 0;

/** Functions of the kernel that call what is attached to a tracepoint. */
const PROBE_FUNCTIONS =
  /^(__traceiter_|perf_trace_|trace_event_raw_event_|__bpf_trace_|__SCT__tp_func_)/;

/** Whether a function tells of an event, and is no part of what caused it. */
export const isProbe = ({ runtime, name }: FunctionInfo): boolean =>
  runtime === "kernel" && PROBE_FUNCTIONS.test(name);

interface Counted {
  readonly event: ResolvedEvent;
  readonly number: number;
  hits: number;
  walks: number;
  missed: number;
  samples: number;
}

/** How often hits are looked at. */
export interface Rate {
  /** Every so-many-th; 0: as many as the frequency says. */
  readonly period: number;
  readonly frequency: number;
}

/** The events of a run, and what was counted of each since the last tick. */
export class CountedEvents {
  #counted: readonly Counted[] = [];
  #places = new Map<number, number>();
  #areOthers = false;
  readonly #rate: Rate;

  constructor(events: readonly ResolvedEvent[], rate: Rate) {
    this.#rate = rate;
    this.set(events);
  }

  /** Other events from now on; those that stay keep their numbers. */
  set(events: readonly ResolvedEvent[]): void {
    const taken = new Set(this.#counted.map(({ number }) => number));
    const free = (): number => {
      let number = CLOCK + 1;
      while (taken.has(number)) number++;
      taken.add(number);
      return number;
    };
    const before = this.#counted;
    const numberOf = (event: ResolvedEvent): number =>
      before.find((one) => one.event.name === event.name)?.number ?? free();
    this.#counted = events.map((event) => ({
      event,
      number: event.setup ? numberOf(event) : CLOCK,
      hits: 0,
      walks: 0,
      missed: 0,
      samples: 0,
    }));
    this.#places = new Map(this.#counted.map(({ number }, place) => [number, place]));
    this.#areOthers = events.some(({ setup }) => setup);
  }

  /** As they were asked for. */
  get asked(): readonly ResolvedEvent[] {
    return this.#counted.map(({ event }) => event);
  }

  /** Whether the CPU's time is among them. */
  get hasClock(): boolean {
    return this.#places.has(CLOCK);
  }

  /** Whether there is any but the CPU's time. */
  get areOthers(): boolean {
    return this.#areOthers;
  }

  /** The events that the addon is to count. */
  numbered(): NumberedEvent[] {
    return this.#counted.flatMap(({ event: { setup }, number }) =>
      setup ? [{ ...setup, number, ...this.#rate }] : [],
    );
  }

  /** The place of an event by its number; undefined where it is not asked for any more. */
  placeOf(number: number): number | undefined {
    return this.#places.get(number);
  }

  add(place: number, weight: number): void {
    const counted = this.#counted[place];
    if (counted) counted.samples += weight;
  }

  /** Takes in what a drain says of the events; `missed` is of the CPU's time. */
  gather({ events, missed }: Drained): void {
    for (let at = 0; at + EVENT_WORDS <= events.length; at += EVENT_WORDS) {
      const counted = this.#counted[this.placeOf(events[at] ?? 0) ?? -1];
      if (!counted) continue;
      counted.hits += events[at + 1] ?? 0;
      counted.walks += events[at + 2] ?? 0;
      counted.missed += events[at + 3] ?? 0;
    }
    const clock = this.#counted[this.placeOf(CLOCK) ?? -1];
    if (clock) clock.missed += missed;
  }

  /** What was counted since the last call, and what its reader must know of it. */
  take(): { readonly events: readonly EventInfo[]; readonly notices: readonly string[] } {
    const notices = this.#counted.flatMap((one) => this.#notice(one) ?? []);
    const events = this.#counted.map(({ event: { name, unit }, hits, walks, missed, samples }) => ({
      name,
      unit,
      period: walks > 0 ? Math.round((100 * hits) / walks) / 100 : 1,
      samples,
      missed,
    }));
    for (const one of this.#counted)
      Object.assign(one, { hits: 0, walks: 0, missed: 0, samples: 0 });
    return { events, notices };
  }

  /** Said where hits were left out that nobody asked to be left out. */
  #notice({ event, hits, walks }: Counted): string | undefined {
    const wanted = Math.max(1, this.#rate.period);
    if (walks === 0 || hits / walks < 2 * wanted) return undefined;
    // In rough numbers, so that it is not said anew with each refresh.
    const rough = 10 ** Math.round(Math.log10(hits / walks));
    return rough < 10
      ? `${event.name}: some hits stand for others, there are too many to look at each`
      : `${event.name}: 1 hit of some ${rough} is looked at and stands for them, there are too many`;
  }
}
