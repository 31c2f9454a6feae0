/** These are the keys that do more than change the state: they need to know what is listed, or ask the source. */

import { setTimeout } from "node:timers/promises";
import { TRAIL_CELLS } from "../../model/trails.ts";
import { clock } from "../../text/format.ts";
import { CPU_TIME } from "../../tick/events.ts";
import { ACTIVITIES, type Activity } from "../../tick/waits.ts";
import { chooseEvents, countedEvents } from "../state/choose-events.ts";
import type { Motion } from "../state/rows.ts";
import type { Session } from "../state/session.ts";
import { type PromptMode, RECENT_SECONDS, type Span, type TextMode } from "../state/state.ts";
import {
  changeInterval,
  changeSort,
  changeSpan,
  enterMode,
  freeze,
  goBack,
  move as moveSelection,
  toggle as toggleChoice,
  unmark,
  withMark,
} from "../state/transitions.ts";
import { followHottest, steer } from "../views/tree-keys.ts";

/** So many seconds are written: those that history lines show. */
const WRITTEN_SECONDS = 4 * TRAIL_CELLS;

type Action = (session: Session) => void;

/** Shows a text from its beginning: the help, or what there is to be known. */
export const showText =
  (mode: TextMode): Action =>
  (session) => {
    session.textOffset = 0;
    session.update(enterMode, mode);
  };

/** Opens a prompt. */
export const prompt =
  (mode: PromptMode): Action =>
  (session) =>
    session.update(enterMode, mode);

/** Changes a choice between two. */
export const toggle =
  (choice: "reverse" | "threads" | "kernel" | "idle" | "physical"): Action =>
  (session) =>
    session.update(toggleChoice, choice);

/** Sorts by another key. */
export const sort =
  (by: 1 | -1): Action =>
  (session) => {
    session.update(changeSort, by);
    session.note(`sorted by ${session.state.sort}`);
  };

/** Stays at the newest refresh, or follows again. */
export const toggleFreeze: Action = (session) =>
  session.update(freeze, session.state.frozen ? undefined : session.latest);

/** Freezes, and goes to an earlier or later refresh. */
export const step =
  (by: 1 | -1): Action =>
  (session) => {
    const from = session.shown;
    if (!from || (by > 0 && !session.state.frozen)) return;
    const tick = session.history.step(from, by);
    if (tick) session.update(freeze, tick);
  };

/** Sets the time between refreshes. */
export const setInterval =
  (by: 1 | -1): Action =>
  (session) => {
    session.update(changeInterval, by);
    session.source.setInterval(session.state.delaySeconds);
  };

/** Starts totals again. */
export const clearTotals: Action = (session) => {
  session.clearTotals();
  session.note("totals cleared");
};

const ACTIVITY_TEXTS: Readonly<Record<Activity, string>> = {
  running: "time on the CPUs",
  waiting: "time spent waiting",
  both: "time on the CPUs and spent waiting",
};

/** Files of what waits are read in so many milliseconds, for the most part. */
const FIRST_WAITS_MS = 100;

/** Asks the source for threads that wait, unless it brings them. */
async function watchWaits(session: Session): Promise<void> {
  const { source } = session;
  if (session.history.latest?.waiting) return;
  const error = source.watchWaits
    ? await source.watchWaits()
    : "nobody looked at threads that wait when this was recorded";
  if (error !== undefined) {
    session.look("running");
    session.say(`! ${error}`);
    return;
  }
  await setTimeout(FIRST_WAITS_MS);
  await source.flush?.();
}

/** Looks at threads that run, at those that wait, at both; the history is of them too. */
export const showNextActivity: Action = (session) => {
  if (countedEvents(session)[0] !== CPU_TIME) {
    // Waits are of time: first that of the CPUs is.
    void chooseEvents(session, "");
    return;
  }
  const at = ACTIVITIES.indexOf(session.state.activity);
  const next = ACTIVITIES[(at + 1) % ACTIVITIES.length] ?? "running";
  session.look(next);
  session.note(ACTIVITY_TEXTS[next]);
  if (next !== "running") void watchWaits(session);
};

/** Shows waits for work, or leaves them out again. */
export const toggleIdle: Action = (session) => {
  session.update(toggleChoice, "idle");
  session.note(session.state.idle ? "waits for work too" : "without waits for work");
};

const SPAN_TEXTS: Readonly<Record<Span, string>> = {
  now: "percentages of this refresh, or of as many as hold 300 samples",
  recent: `percentages of the last ${RECENT_SECONDS} s`,
  since: "percentages of all since the start, or since c",
};

/** Takes percentages of the next span. */
export const showNextSpan: Action = (session) => {
  session.update(changeSpan);
  session.note(SPAN_TEXTS[session.state.span]);
};

/** Moves the selection; where rows are no list, by where they stand. */
export const move =
  (motion: Motion): Action =>
  (session) => {
    const { ids, steer: isPicture } = session.shape();
    if (!isPicture) {
      session.update(moveSelection, motion, session.list());
    } else if (motion === "up" || motion === "down") {
      steer(session, motion);
    } else if (motion === "last" || motion === "page-down") {
      followHottest(session);
    } else if (ids[0] !== undefined) {
      session.selectRow(ids[0]);
    }
  };

/** Selects the next row that the filter names, or the one before. */
export const selectMatch =
  (by: 1 | -1): Action =>
  (session) => {
    const { matches = [] } = session.shape();
    if (matches.length === 0) {
      session.say("nothing in the flame is named by the filter: / searches");
      return;
    }
    const at = matches.indexOf(session.state.selected[session.view.id] ?? "");
    const to = at < 0 ? (by > 0 ? 0 : matches.length - 1) : at + by;
    const id = matches[(to + matches.length) % matches.length];
    if (id !== undefined) session.selectRow(id);
  };

/** Opens the row that is chosen. */
export const open: Action = (session) => {
  const row = session.chosenRow();
  if (row !== undefined) session.view.open?.(session, row);
};

/** Goes back. A selection in an empty list is nothing that anybody sees: what emptied it goes at once. */
export const back: Action = (session) => {
  const { selected, back: places } = session.state;
  const { view } = session;
  const { ids, steer: isPicture } = session.shape();
  const isHidden = selected[view.id] !== undefined && ids.length === 0 && !isPicture;
  if (isHidden && places.length === 0) session.update(goBack, view.takeBack);
  session.update(goBack, view.takeBack);
};

/** Marks the moment that is shown, or takes the mark away. */
export const toggleMark: Action = (session) => {
  const tick = session.shown;
  if (!tick) return;
  if (session.state.mark) {
    session.update(unmark);
    session.note("no mark");
    return;
  }
  const ticks = session.history.last(RECENT_SECONDS, tick);
  session.update(withMark, { time: tick.time, ticks });
  session.note("marked: CHANGE compares the last 10 s with those before the mark");
};

async function writeShown(session: Session): Promise<void> {
  const tick = session.shown;
  if (!session.write || !tick) {
    session.say("! there is nothing to write to here");
    return;
  }
  const ticks = session.history.recorded(WRITTEN_SECONDS, tick);
  try {
    const path = await session.write(ticks, session.lookedUp.factsOf);
    const first = ticks[0]?.time ?? tick.time;
    session.say(`written: ${clock((tick.time - first) / 1000 + tick.intervalSeconds)} to ${path}`);
  } catch (error) {
    session.say(`! ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** Writes what is shown to a file. */
export const write: Action = (session) => {
  void writeShown(session);
};
