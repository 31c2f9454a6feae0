/**
 * Runs behind the screen: it holds the state and the ticks, and takes the keys. Several keys that arrive
 * in one read each see what the one before did.
 */

import type { Aggregate } from "../../model/aggregate.ts";
import { eventNames } from "../../model/events.ts";
import { History } from "../../model/history.ts";
import { Totals } from "../../model/totals.ts";
import { ofActivity } from "../../model/waits/activity.ts";
import type { TerminalActions } from "../../terminal/window.tsx";
import type { CounterDefinition, FactsOf, SourceEvent, TickSource } from "../../tick/source.ts";
import { type Tick, tasksOf } from "../../tick/tick.ts";
import type { Activity } from "../../tick/waits.ts";
import { bindingFor } from "../keys/lookup.ts";
import { openFunction } from "../views/function.ts";
import { viewOf } from "../views/registry.ts";
import type { View } from "../views/view.ts";
import type { Facts, KnownProcess } from "./complete.ts";
import { LookedUpFrames } from "./looked-up.ts";
import { insert } from "./prompt.ts";
import { promptKey } from "./prompt-keys.ts";
import { type SelectedRow, selectedAmong } from "./rows.ts";
import { Selectors } from "./selectors.ts";
import {
  initialState,
  isPrompt,
  isText,
  type ViewOptions,
  type ViewState,
  without,
} from "./state.ts";
import {
  enterMode,
  expire,
  freeze,
  type ListNow,
  select,
  settle,
  withActivity,
  withMessage,
} from "./transitions.ts";

/** Says where the selection goes in a view that is no list. */
export type Steer = (
  from: string | undefined,
  to: "up" | "down" | "left" | "right",
) => string | undefined;

/** Moving needs to know the ids of the rows now listed, and how many fit. */
export interface ListShape {
  readonly ids: readonly string[];
  readonly page: number;
  readonly steer?: Steer;
  /** The filter names these rows among `ids`. */
  readonly matches?: readonly string[];
  /** The row that is drawn as the selected one. */
  readonly selected?: SelectedRow;
}

/** Writes ticks to a file and says where; rejects with what was wrong. */
export type WriteTicks = (ticks: readonly Tick[], factsOf: FactsOf) => Promise<string>;

/** Knows events, and how to count others from now on. */
export interface EventTools {
  /** Resolves to what was wrong, or to what is to be known of these events; `pids`: what sampling is narrowed to. */
  choose(
    text: string,
    pids: readonly number[],
  ): Promise<{ readonly error?: string; readonly notice?: string }>;
  /** Events that begin with a text. */
  complete(typed: string, pids: readonly number[]): readonly string[];
}

/** A session may be given these besides its source. */
export interface SessionTools {
  readonly events?: EventTools;
  readonly now?: () => number;
  readonly write?: WriteTicks;
  /** Lists the processes of the machine, those that sleep too. */
  readonly processes?: () => readonly KnownProcess[];
}

/** So many notices are kept to be said once more at the end. */
const MOST_TOLD = 20;

/** The processes of the machine are listed anew when they are so old: a prompt asks for them with each key. */
const LISTED_MS = 3000;

/** So much of a pasted text is looked at: a prompt takes less. */
const MOST_PASTED = 1000;

/** A session is the live screen without its drawing. */
export class Session {
  state: ViewState;
  /** The newest refresh, of the threads that were asked for at the start. */
  asked: Tick | undefined;
  error: string | undefined;
  /** Says what is to be known of the source. */
  notice: string | undefined;
  /** So many refreshes came. */
  received = 0;
  readonly history = new History();
  readonly totals = new Totals();
  readonly selectors: Selectors;
  readonly lookedUp: LookedUpFrames;
  readonly counters: readonly CounterDefinition[];
  readonly source: TickSource;
  readonly write: WriteTicks | undefined;
  readonly events: EventTools | undefined;
  /** The drawing side sets this before keys arrive. */
  shape: () => ListShape = () => ({ ids: [], page: 1 });
  terminal: TerminalActions = { quit: () => {}, suspend: () => {}, redraw: () => {} };
  /** The events that were asked for and that no refresh has yet; undefined: there are none. */
  askedEvents: string | undefined;
  /** The help, or another text, is shown from this line on. */
  textOffset = 0;
  /** What was said so far of the source, each once; the newest are the last. */
  readonly told = new Set<string>();
  readonly now: () => number;
  readonly #listProcesses: () => readonly KnownProcess[];
  #processes: { readonly time: number; readonly list: readonly KnownProcess[] } | undefined;
  readonly #listeners = new Set<() => void>();
  #version = 0;

  constructor(source: TickSource, options: ViewOptions, tools: SessionTools = {}) {
    this.source = source;
    this.now = tools.now ?? Date.now;
    this.write = tools.write;
    this.events = tools.events;
    this.#listProcesses = tools.processes ?? (() => []);
    this.selectors = new Selectors(this.history);
    this.lookedUp = new LookedUpFrames(source, () => this.changed());
    this.counters = source.counters;
    this.state = initialState(options);
  }

  /** Begins to listen to the source; what it returns ends that. */
  start(): () => void {
    return this.source.subscribe((event) => this.receive(event));
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  readonly version = (): number => this.#version;

  /** Says that something is to be drawn. */
  changed(): void {
    this.#version++;
    for (const listener of this.#listeners) listener();
  }

  /** Takes a refresh, or why there is none. */
  receive(event: SourceEvent): void {
    if ("error" in event) {
      this.error = event.error;
    } else if ("notice" in event) {
      this.notice = event.notice;
      this.#tell([event.notice]);
    } else {
      const { tick } = event;
      this.error = undefined;
      if (this.received === 0) this.look(tick.activity ?? "running");
      this.received++;
      this.history.push(tick);
      // Totals are of what was asked for, whatever is looked at.
      this.asked = ofActivity(tick);
      this.#tell(this.asked.notices);
      this.totals.add(this.asked, this.everything(this.asked));
      this.update(expire, this.now());
      if (eventNames(tick)[0] === this.askedEvents?.split(",")[0]) this.askedEvents = undefined;
    }
    this.changed();
  }

  #tell(notices: readonly string[]): void {
    for (const notice of notices) {
      this.told.delete(notice);
      this.told.add(notice);
    }
    for (const oldest of this.told) if (this.told.size > MOST_TOLD) this.told.delete(oldest);
  }

  /** What is to be known of what is shown, in full. */
  get notices(): readonly string[] {
    const shown = this.shown?.notices ?? [];
    return this.notice === undefined ? shown : [...shown, this.notice];
  }

  /** The newest refresh as it was collected. */
  get collected(): Tick | undefined {
    return this.history.collected;
  }

  /** The newest refresh, of the threads that are looked at. */
  get latest(): Tick | undefined {
    return this.history.latest;
  }

  /** Looks at other threads, in the past too. */
  look(activity: Activity): void {
    const { frozen } = this.state;
    this.history.activity = activity;
    this.selectors.forget();
    this.update(withActivity, activity);
    if (frozen) this.update(freeze, this.history.step(frozen, 0));
  }

  /** Looks at one of several events, in the past too; those beside it are columns. */
  lookAtEvent(name: string): void {
    const { frozen } = this.state;
    this.history.event = name;
    this.selectors.forget();
    this.update(withActivity, this.state.activity);
    if (frozen) this.update(freeze, this.history.step(frozen, 0));
  }

  /** Returns the tick that is looked at. */
  get shown(): Tick | undefined {
    return this.state.frozen ?? this.latest;
  }

  /** Adds a tick up whole, as the header tells it. */
  everything(tick: Tick): Aggregate {
    return this.selectors.everything(tick, this.state);
  }

  /** Changes the state by one of the transitions; whoever asks for the frame next gets a new one. */
  update<Rest extends unknown[]>(
    change: (state: ViewState, ...rest: Rest) => ViewState,
    ...rest: Rest
  ): void {
    this.state = change(this.state, ...rest);
    this.lookedUp.follow(openFunction(this.state));
    this.#version++;
  }

  /** Returns the view that is shown. */
  get view(): View {
    return viewOf(this.state);
  }

  /** Says something for a moment, when this key or refresh is drawn. */
  note(text: string): void {
    this.update(withMessage, text, this.now());
  }

  /** Says something for a moment, at once. */
  say(text: string): void {
    this.note(text);
    this.changed();
  }

  /** Returns the row that a key is about: the one that is drawn as selected. */
  chosenRow(): string | undefined {
    const { ids, selected } = this.shape();
    return (selected ?? selectedAmong(ids, this.state))?.id;
  }

  /** Notes what a frame that was drawn had selected. */
  settle(row: SelectedRow | undefined): void {
    this.state = settle(this.state, row);
  }

  /** Selects a row of the view. */
  selectRow(id: string): void {
    this.update(select, id, this.list());
  }

  /** Returns the rows of now, as moving wants them. */
  list(): ListNow {
    const { ids, page, selected } = this.shape();
    return { ids, page, now: this.now(), ...(selected ? { selected: selected.id } : {}) };
  }

  /** Starts totals and what is counted since then again. */
  clearTotals(): void {
    this.totals.clear();
    this.selectors.clearedAt = this.latest?.time ?? Number.NEGATIVE_INFINITY;
  }

  /** All processes of the machine, read anew when they are some seconds old. */
  #listed(): readonly KnownProcess[] {
    const now = this.now();
    if (!this.#processes || now > this.#processes.time + LISTED_MS) {
      this.#processes = { time: now, list: this.#listProcesses() };
    }
    return this.#processes.list;
  }

  /** Collects what prompts can be completed with. */
  facts(): Facts {
    const tick = this.shown;
    const events = (typed: string): readonly string[] =>
      this.events?.complete(typed, this.state.pids) ?? [];
    const listed = this.#listed();
    if (!tick) return { processes: listed, threads: [], events };
    const { processes } = this.everything(tick);
    const threads = new Set(Array.from(tasksOf(tick), ({ thread }) => thread));
    const sampled = processes
      .toSorted((a, b) => b.samples - a.samples || a.pid - b.pid)
      .map(({ facts, ...one }) => ({ ...one, command: "", ...facts }));
    const pids = new Set(sampled.map(({ pid }) => pid));
    return {
      processes: [...sampled, ...listed.filter(({ pid }) => !pids.has(pid))],
      threads: [...threads],
      events,
    };
  }

  /** Takes one key, by its name. */
  key(name: string): void {
    const { mode } = this.state;
    this.state = without(this.state, "message");
    if (name === "ctrl-c") this.terminal.quit();
    else if (name === "ctrl-z") this.terminal.suspend();
    else if (name === "ctrl-l") this.terminal.redraw();
    else if (isPrompt(mode)) promptKey(this, mode, name);
    else if (isText(mode)) this.#textKey(name);
    else bindingFor(name, this.view, this.state.frozen !== undefined)?.run(this);
    this.changed();
  }

  /** Takes a text that was pasted: into an open prompt, as one line; it is no keys. */
  paste(text: string): void {
    this.state = without(this.state, "message");
    if (isPrompt(this.state.mode)) {
      const line = text
        .slice(0, MOST_PASTED)
        .replace(/[\s\p{Cc}]+/gu, " ")
        .trim();
      this.update(insert, line);
    } else if (this.state.mode === "list") {
      this.note("a pasted text goes into an open prompt: / filters, p chooses pids");
    }
    this.changed();
  }

  #textKey(name: string): void {
    const { page } = this.shape();
    const steps: Record<string, number> = {
      up: -1,
      k: -1,
      down: 1,
      j: 1,
      pageup: -page,
      pagedown: page,
      " ": page,
    };
    const step = steps[name];
    if (step !== undefined) this.textOffset = Math.max(0, this.textOffset + step);
    else if (name === "q" || name === "f10") this.terminal.quit();
    else this.update(enterMode, "list");
  }
}
