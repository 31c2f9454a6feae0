/** Ticks of several events: each is a tick of one, which all views and outputs know. */
import { CPU_TIME } from "../tick/events.ts";
import type { Counts, Tick, Unit } from "../tick/tick.ts";
import { type Aggregate, type AggregateOptions, aggregate, type FunctionRow } from "./aggregate.ts";

const known = new WeakMap<Tick, Map<number, Tick>>();

const NOTHING: Counts = {
  length: 0,
  stacks: new Uint32Array(),
  tasks: new Uint32Array(),
  weights: new Float64Array(),
};

/** The tick of one event, by its place; the same object each time. A tick that has fewer has nothing of it. */
export function ofEvent(tick: Tick, place: number): Tick {
  const info = tick.events?.[place];
  if (place === 0 || !tick.events) return tick;
  const ticks = known.get(tick) ?? new Map<number, Tick>();
  known.set(tick, ticks);
  const made = ticks.get(place) ?? {
    ...tick,
    event: info?.name ?? "",
    unit: info?.unit ?? "events",
    samples: info?.samples ?? 0,
    missed: info?.missed ?? 0,
    counts: tick.others?.[place - 1] ?? NOTHING,
  };
  ticks.set(place, made);
  return made;
}

/** Names of the events of a tick, in their order. */
export const eventNames = ({ events }: Tick): readonly string[] =>
  events?.map(({ name }) => name) ?? [CPU_TIME];

const reordered = new WeakMap<Tick, Map<string, Tick>>();

/** A tick of one event that it does not count. */
function withoutAny(tick: Tick, name: string): Tick {
  const { events: _events, others: _others, ...rest } = tick;
  return { ...rest, event: name, unit: "events", samples: 0, missed: 0, counts: NOTHING };
}

/**
 * The tick with the event of a name as the first, and the others behind it; the same object each time. A tick that does
 * not count the event has nothing of it.
 */
export function withFirst(tick: Tick, name: string | undefined): Tick {
  const names = eventNames(tick);
  if (name === undefined || names[0] === name) return tick;
  const ticks = reordered.get(tick) ?? new Map<string, Tick>();
  reordered.set(tick, ticks);
  const made = ticks.get(name) ?? makeFirst(tick, name, names.indexOf(name));
  ticks.set(name, made);
  return made;
}

function makeFirst(tick: Tick, name: string, place: number): Tick {
  if (place < 0) return withoutAny(tick, name);
  const ahead = <T>(list: readonly T[]): T[] => [
    ...list.slice(place, place + 1),
    ...list.filter((_, at) => at !== place),
  ];
  const [counts = NOTHING, ...others] = ahead([tick.counts, ...(tick.others ?? [])]);
  return { ...ofEvent(tick, place), counts, others, events: ahead(tick.events ?? []) };
}

/** The tick of the event of a name alone. */
export function ofEventNamed(tick: Tick, name: string): Tick {
  const place = eventNames(tick).indexOf(name);
  return place < 0 ? withFirst(tick, name) : ofEvent(tick, place);
}

/** What a function has of one event. */
export interface EventSums {
  readonly name: string;
  readonly unit: Unit;
  readonly sums: Aggregate;
  /** Rows by the id of their function. */
  readonly rows: ReadonlyMap<number, FunctionRow>;
}

/** What a tick has of the events behind the first, in their order. */
export function otherSums(tick: Tick, options: AggregateOptions): EventSums[] {
  return (tick.events ?? []).slice(1).map(({ name, unit }, at) => {
    const sums = aggregate([ofEvent(tick, at + 1)], options);
    return { name, unit, sums, rows: new Map(sums.functions.map((row) => [row.function.id, row])) };
  });
}

/** Rows of the first event, and behind them those that only others have. */
export function withOthers(
  rows: readonly FunctionRow[],
  others: readonly Pick<EventSums, "rows">[],
): readonly FunctionRow[] {
  if (others.length === 0) return rows;
  const known = new Set(rows.map((row) => row.function.id));
  const more = new Map<number, FunctionRow>();
  for (const { rows: all } of others) {
    for (const [id, row] of all) {
      if (known.has(id) || more.has(id)) continue;
      const { function: info, pids, processCount } = row;
      more.set(id, { function: info, self: 0, total: 0, pids, processCount });
    }
  }
  return more.size > 0 ? [...rows, ...more.values()] : rows;
}
