/** Says why there is nothing to list, and which key helps. */

import { isWaiting } from "../model/waits/activity.ts";
import { RUNTIME_LABELS } from "../text/columns.ts";
import { seconds, thousands } from "../text/format.ts";
import type { Tick } from "../tick/tick.ts";
import { areSamples, unitRow } from "../tick/units.ts";
import type { Session } from "./state/session.ts";

/** Says whether a process is there; undefined where nobody can know, as in a replay. */
export type IsAlive = (pid: number) => boolean | undefined;

/** What these processes did not do. */
function pidText({ pids, unit, event }: Tick, alive: IsAlive): string {
  const gone = pids.filter((pid) => alive(pid) === false);
  if (gone.length === pids.length) {
    return `${gone.length === 1 ? "pid" : "pids"} ${gone.join(", ")} ${gone.length === 1 ? "has" : "have"} exited. p chooses another.`;
  }
  const missing = areSamples(unit) ? "used no CPU" : `had no ${event}`;
  return `pid ${pids.join(", ")} ${missing} in this refresh. p chooses another.`;
}

/** Makes the sentences, one a line. */
export function nothingLines(session: Session, tick: Tick | undefined, alive: IsAlive): string[] {
  const { state } = session;
  if (!tick) {
    if (session.error !== undefined) return [session.error];
    return [`Collecting: the first refresh comes after ${seconds(state.delaySeconds)}.`];
  }
  if (isWaiting(tick) && tick.samples === 0) return ["No thread waits."];
  if (state.activity !== "running" && tick.samples === 0) {
    return ["Threads that wait are looked at from now on."];
  }
  if (tick.samples === 0) {
    if (tick.pids.length > 0) return [pidText(tick, alive)];
    const recent = session.history.last(10);
    const sum = recent.reduce((total, one) => total + one.samples, 0);
    const time = recent.reduce((total, one) => total + one.intervalSeconds, 0);
    if (!areSamples(tick.unit)) {
      const before = `${thousands(sum)} ${tick.unit} in the last ${Math.round(time)} s`;
      return [`No ${tick.event} in this refresh; ${before}. E chooses another.`];
    }
    return [`The CPUs are idle: ${thousands(sum)} samples in the last ${Math.round(time)} s.`];
  }
  const wanted = [
    state.filterText === "" ? "" : `"${state.filterText}"`,
    state.language ? `language ${RUNTIME_LABELS[state.language]}` : "",
  ].filter((text) => text !== "");
  const amount = areSamples(tick.unit)
    ? `${thousands(tick.samples)} samples`
    : unitRow(tick.unit).text(tick.samples);
  if (isWaiting(tick) && wanted.length === 0) {
    return ["All threads wait for work: i shows them."];
  }
  return [
    `Nothing matches ${wanted.join(" and ") || "this view"} in this refresh;`,
    `${amount} in all. ${state.language ? "l shows other languages." : "esc clears the filter."}`,
  ];
}
