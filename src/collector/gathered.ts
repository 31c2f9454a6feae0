/** What several drains amount to that make one tick. */
import type { Drained } from "../addon/drained.ts";

/** What was drained since the last tick: a long refresh is drained several times. */
export interface Gathered {
  seconds: number;
  time: number;
  samples: number;
  missed: number;
  bpfNanoseconds: number;
  ticks: number;
  readonly counters: Float64Array;
  readonly notices: string[];
}

/** Nothing, in as many counters as a drain has. */
export const emptyGathered = ({ counters }: Drained): Gathered => ({
  seconds: 0,
  time: 0,
  samples: 0,
  missed: 0,
  bpfNanoseconds: 0,
  ticks: 0,
  counters: new Float64Array(counters.length),
  notices: [],
});

/** Adds a drain. */
export function gather(into: Gathered, drained: Drained): void {
  into.seconds += drained.seconds;
  into.time = Math.round(drained.time);
  into.samples += drained.samples;
  into.missed += drained.missed;
  into.bpfNanoseconds += drained.bpfNanoseconds;
  into.ticks += drained.ticks;
  into.notices.push(...drained.notices);
  drained.counters.forEach((value, id) => {
    into.counters[id] = (into.counters[id] ?? 0) + value;
  });
}
