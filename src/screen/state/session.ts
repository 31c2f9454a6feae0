/**
 * Runs behind the screen: it holds the state and the ticks, and takes the keys. Several keys that arrive
 * in one read each see what the one before did.
 */

import type { Aggregate } from "../../model/aggregate.ts";
import { eventNames } from "../../model/events.ts";
import { withTaskWords } from "../../model/filter/filter.ts";
import { History } from "../../model/history.ts";
import { parsePids } from "../../model/pids.ts";
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
import { chooseEvents } from "./choose-events.ts";
import { complete, type Facts } from "./complete.ts";
import { LookedUpFrames } from "./looked-up.ts";
import { completePrompt, recall, withPromptText } from "./prompt.ts";
import { type SelectedRow, selectedAmong } from "./rows.ts";
import { Selectors } from "./selectors.ts";
import {
  initialState,
  isPrompt,
  type PromptMode,
  type ViewOptions,
  type ViewState,
  withFilter,
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
  withPids,
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
}

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
  /** The help is shown from this line on. */
  helpOffset = 0;
  readonly now: () => number;
  readonly #listeners = new Set<() => void>();
  #version = 0;

  constructor(source: TickSource, options: ViewOptions, tools: SessionTools = {}) {
    this.source = source;
    this.now = tools.now ?? Date.now;
    this.write = tools.write;
    this.events = tools.events;
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
    } else {
      const { tick } = event;
      this.error = undefined;
      if (this.received === 0) this.look(tick.activity ?? "running");
      this.received++;
      this.history.push(tick);
      // Totals are of what was asked for, whatever is looked at.
      this.asked = ofActivity(tick);
      this.totals.add(this.asked, this.everything(this.asked));
      this.update(expire, this.now());
      if (eventNames(tick)[0] === this.askedEvents?.split(",")[0]) this.askedEvents = undefined;
    }
    this.changed();
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

  /** Collects what prompts can be completed with. */
  facts(): Facts {
    const tick = this.shown;
    const events = (typed: string): readonly string[] =>
      this.events?.complete(typed, this.state.pids) ?? [];
    if (!tick) return { processes: [], threads: [], events };
    const { processes } = this.everything(tick);
    const threads = new Set(Array.from(tasksOf(tick), ({ thread }) => thread));
    return {
      processes: processes.toSorted((a, b) => b.samples - a.samples || a.pid - b.pid),
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
    else if (isPrompt(mode)) this.#promptKey(mode, name);
    else if (mode === "help") this.#helpKey(name);
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
      this.update(withPromptText, this.state.prompt.text + line);
    } else if (this.state.mode === "list") {
      this.note("a pasted text goes into an open prompt: / filters, p chooses pids");
    }
    this.changed();
  }

  #helpKey(name: string): void {
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
    if (step !== undefined) this.helpOffset = Math.max(0, this.helpOffset + step);
    else if (name === "q") this.terminal.quit();
    else this.update(enterMode, "list");
  }

  #promptKey(mode: PromptMode, name: string): void {
    const { text } = this.state.prompt;
    if (name === "enter") this.#submit(mode, text);
    else if (name === "esc") this.update(enterMode, "list");
    else if (name === "up") this.update(recall, 1);
    else if (name === "down") this.update(recall, -1);
    else if (name === "tab") this.update(completePrompt, complete(mode, text, this.facts()));
    else if (name === "backspace") this.update(withPromptText, [...text].slice(0, -1).join(""));
    else if (name === "ctrl-u") this.update(withPromptText, "");
    else if (name === "ctrl-w") this.update(withPromptText, text.replace(/\S*\s*$/, ""));
    else if ([...name].length === 1) this.update(withPromptText, text + name);
  }

  #submit(mode: PromptMode, text: string): void {
    if (this.state.prompt.error !== undefined) return;
    if (mode === "filter") {
      this.update(withFilter, text);
      this.update(enterMode, "list");
      return;
    }
    if (mode === "events") {
      this.update(enterMode, "list");
      void chooseEvents(this, text);
      return;
    }
    const parsed = parsePids(text);
    if ("error" in parsed) return;
    this.update(enterMode, "list");
    void this.#setPids(parsed.pids);
  }

  async #setPids(pids: readonly number[]): Promise<void> {
    if (!this.source.setPids) {
      const words = pids.length > 0 ? `pid:${pids.join(",")}` : "";
      this.update(withFilter, withTaskWords(this.state.filterText, words));
      this.changed();
      return;
    }
    let error: string | undefined;
    try {
      error = await this.source.setPids(pids);
    } catch (thrown) {
      error = thrown instanceof Error ? thrown.message : String(thrown);
    }
    if (error === undefined) {
      this.update(withPids, pids);
      this.say(pids.length > 0 ? `sampling pid ${pids.join(", ")} only` : "sampling all processes");
      return;
    }
    this.say(`! ${error}`);
  }
}
