/** What weights can count, and how each is written down. */
import type { Unit } from "./tick.ts";

/** How amounts of a unit are written down. */
export interface UnitRow {
  /** An amount as people read it, e.g. `172 samples`. */
  readonly text: (amount: number) => string;
  /** The type and unit of a value in pprof; see "ValueType" in its profile.proto. */
  readonly pprof: { readonly type: string; readonly unit: string };
  /** The unit in a file for speedscope; "none" is its word for plain numbers. */
  readonly speedscope: "nanoseconds" | "bytes" | "none";
}

const plainly = (word: string): UnitRow => ({
  text: (amount) => `${amount} ${word}`,
  pprof: { type: word, unit: "count" },
  speedscope: "none",
});

const UNITS: Readonly<Record<string, UnitRow>> = {
  samples: plainly("samples"),
  events: plainly("events"),
  nanoseconds: {
    text: (amount) => `${(amount / 1e9).toFixed(2)} s`,
    pprof: { type: "time", unit: "nanoseconds" },
    speedscope: "nanoseconds",
  },
  bytes: {
    text: (amount) => `${amount} bytes`,
    pprof: { type: "space", unit: "bytes" },
    speedscope: "bytes",
  },
};

/** How a unit is written down; one that a newer recording brings is a plain number of its own word. */
export const unitRow = (unit: Unit): UnitRow =>
  Object.hasOwn(UNITS, unit) ? (UNITS[unit] ?? plainly(unit)) : plainly(unit);

/** Whether weights are time, as those of threads that wait. */
export const isTime = (unit: Unit): boolean => unit === "nanoseconds";

/** Whether weights are samples taken at a frequency, each of which stands for a part of a CPU's time. */
export const areSamples = (unit: Unit): boolean => unit === "samples";
