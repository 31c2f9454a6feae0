/** Counts other events while it runs: those of a prompt, or the next of the common ones. */
import { setTimeout } from "node:timers/promises";
import { eventNames } from "../../model/events.ts";
import { parseEvents } from "../../tick/event-request.ts";
import { COMMON_EVENTS, CPU_TIME } from "../../tick/events.ts";
import type { Session } from "./session.ts";

/** In so many milliseconds something has happened, for the most part: a screen waits no whole refresh for it. */
const FIRST_LOOK_MS = 100;

/** The events that are counted, the first of them the one that gives the order. */
export const countedEvents = (session: Session): readonly string[] =>
  session.latest ? eventNames(session.latest) : [CPU_TIME];

/** Counts these events from now on; an empty text means the CPU's time. Says what was wrong with them. */
export async function chooseEvents(session: Session, text: string): Promise<void> {
  const { events: tools, state } = session;
  if (!tools) return session.say("! a recording has the events that it was made of");
  const wanted = text.trim() || CPU_TIME;
  const [first] = parseEvents(wanted);
  if (first?.kind === "time" && first.text !== CPU_TIME) {
    return session.say("! threads that wait have a key of their own: e");
  }
  // The kernel checks a program for each event, which takes a quarter of a second.
  session.say(`${wanted}: being set up`);
  session.askedEvents = wanted;
  const { error, notice } = await tools.choose(wanted, state.pids);
  if (error !== undefined) {
    session.askedEvents = undefined;
    return session.say(`! ${error.split("\n").join("; ")}`);
  }
  if (session.state.activity !== "running") session.look("running");
  session.lookAtEvent(first?.text ?? CPU_TIME);
  session.clearTotals();
  session.say(notice ?? `counting ${wanted}`);
  await setTimeout(FIRST_LOOK_MS);
  await session.source.flush?.();
}

/** Counts the next of the common events alone. */
export function chooseNextEvent(session: Session): void {
  // A key that comes before the next refresh goes on from what was asked for by the key before it.
  const [first = ""] = session.askedEvents?.split(",") ?? countedEvents(session);
  const at = COMMON_EVENTS.indexOf(first);
  void chooseEvents(session, COMMON_EVENTS[(at + 1) % COMMON_EVENTS.length] ?? CPU_TIME);
}

/** Sorts by the next of several events. */
export function sortByNextEvent(session: Session): void {
  const names = countedEvents(session);
  // The order in which they are counted stays that of the tick, whichever is looked at.
  const all = session.collected ? eventNames(session.collected) : names;
  const next = all[(all.indexOf(names[0] ?? "") + 1) % all.length];
  if (next === undefined || all.length < 2) {
    session.note("one event is counted: E chooses others, cpu,page-faults are two");
  } else {
    session.lookAtEvent(next);
    session.note(`sorted by ${next}`);
  }
}
