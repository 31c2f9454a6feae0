/**
 * What runs behind the screen: the state, the ticks, and what keys do to them. React only draws
 * it; several keys that arrive in one read each see what the one before did.
 */

import type { Aggregate } from "../model/aggregate.ts";
import { complete, type Facts } from "../model/complete.ts";
import { Family, type ParentLookup } from "../model/family.ts";
import { withTaskWords } from "../model/filter.ts";
import { History } from "../model/history.ts";
import { parsePids } from "../model/pids.ts";
import { Totals } from "../model/totals.ts";
import {
  type Action,
  initialState,
  reduce,
  type ViewOptions,
  type ViewState,
  without,
} from "../model/view.ts";
import type { CounterDefinition, LineOf, SourceEvent, TickSource } from "../tick/source.ts";
import { type Tick, tasksOf } from "../tick/tick.ts";
import { runCommand } from "./commands.ts";
import { commandFor, isPrompt } from "./keys.ts";
import { Looks } from "./looks.ts";
import { SourceLines } from "./source-lines.ts";

/** What only the terminal can do. */
export interface TerminalActions {
  quit(): void;
  suspend(): void;
  redraw(): void;
}

/** Where the selection goes in a view that is no list. */
export type Steer = (
  from: number | undefined,
  to: "up" | "down" | "left" | "right",
) => number | undefined;

/** The ids of the rows now listed, and how many fit: what moving needs to know. */
export interface ListShape {
  readonly ids: readonly number[];
  readonly page: number;
  readonly steer?: Steer;
  /** Of `ids`, those that the filter names. */
  readonly matches?: readonly number[];
}

/** Writes ticks to a file and says where; rejects with what was wrong. */
export type WriteTicks = (ticks: readonly Tick[], lineOf: LineOf) => Promise<string>;

/** What a session may be given besides its source. */
export interface SessionTools {
  readonly now?: () => number;
  /** Of processes that were not sampled. */
  readonly parentOf?: ParentLookup;
  readonly write?: WriteTicks;
}

/** The live screen without its drawing. */
export class Session {
  state: ViewState;
  latest: Tick | undefined;
  error: string | undefined;
  /** What is to be known of the source. */
  notice: string | undefined;
  /** How many refreshes came. */
  received = 0;
  readonly history = new History();
  readonly totals = new Totals();
  readonly family: Family;
  readonly looks: Looks;
  readonly lines: SourceLines;
  readonly counters: readonly CounterDefinition[];
  readonly source: TickSource;
  readonly write: WriteTicks | undefined;
  /** Set by the drawing side before keys arrive. */
  shape: () => ListShape = () => ({ ids: [], page: 1 });
  terminal: TerminalActions = { quit: () => {}, suspend: () => {}, redraw: () => {} };
  /** Of the help, whose length only its drawing knows. */
  helpOffset = 0;
  readonly now: () => number;
  readonly #listeners = new Set<() => void>();
  #version = 0;

  constructor(source: TickSource, options: ViewOptions, tools: SessionTools = {}) {
    this.source = source;
    this.now = tools.now ?? Date.now;
    this.write = tools.write;
    this.family = new Family(tools.parentOf);
    this.looks = new Looks(this.history, this.family);
    this.lines = new SourceLines(source, () => this.changed());
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

  /** A refresh, or why there is none. */
  receive(event: SourceEvent): void {
    if ("error" in event) {
      this.error = event.error;
    } else if ("notice" in event) {
      this.notice = event.notice;
    } else {
      const { tick } = event;
      this.error = undefined;
      this.latest = tick;
      this.received++;
      for (const task of tasksOf(tick)) this.family.learn(task);
      this.history.push(tick);
      this.totals.add(tick, this.everything(tick));
      this.state = reduce(this.state, { type: "tick", now: this.now() });
      this.lines.follow(this.state);
    }
    this.changed();
  }

  /** The tick that is looked at. */
  get shown(): Tick | undefined {
    return this.state.frozen ?? this.latest;
  }

  /** A tick added up whole: what the header tells. */
  everything(tick: Tick): Aggregate {
    return this.looks.everything(tick, this.state);
  }

  /** Changes the state; whoever asks for the frame next gets a new one. */
  dispatch(action: Action): void {
    this.state = reduce(this.state, action);
    this.lines.follow(this.state);
    this.#version++;
  }

  /** Says something for a moment. */
  say(text: string): void {
    this.dispatch({ type: "message", text, now: this.now() });
    this.changed();
  }

  /** Starts totals and what is counted since then again. */
  clearTotals(): void {
    this.totals.clear();
    this.looks.clearedAt = this.latest?.time ?? Number.NEGATIVE_INFINITY;
  }

  /** What prompts can be completed with. */
  facts(): Facts {
    const tick = this.shown;
    if (!tick) return { processes: [], threads: [] };
    const { processes } = this.everything(tick);
    const threads = new Set(Array.from(tasksOf(tick), ({ thread }) => thread));
    return {
      processes: processes.toSorted((a, b) => b.samples - a.samples || a.pid - b.pid),
      threads: [...threads],
    };
  }

  /** One key, by its name. */
  key(name: string): void {
    const { mode } = this.state;
    this.state = without(this.state, "message");
    if (name === "ctrl-c") this.terminal.quit();
    else if (name === "ctrl-z") this.terminal.suspend();
    else if (name === "ctrl-l") this.terminal.redraw();
    else if (isPrompt(mode)) this.#promptKey(mode, name);
    else if (mode === "help") this.#helpKey(name);
    else {
      const command = commandFor(name, this.state.view, this.state.frozen !== undefined);
      if (command) runCommand(this, command);
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
    else this.dispatch({ type: "mode", mode: "list" });
  }

  #promptKey(mode: "pid" | "filter", name: string): void {
    const { text } = this.state.prompt;
    if (name === "enter") this.#submit(mode, text);
    else if (name === "esc") this.dispatch({ type: "mode", mode: "list" });
    else if (name === "up") this.dispatch({ type: "prompt-recall", step: 1 });
    else if (name === "down") this.dispatch({ type: "prompt-recall", step: -1 });
    else if (name === "tab") {
      const completion = complete(mode, text, this.facts());
      this.dispatch({ type: "prompt-complete", completion });
    } else if (name === "backspace") {
      this.dispatch({ type: "prompt-text", text: [...text].slice(0, -1).join("") });
    } else if (name === "ctrl-u") this.dispatch({ type: "prompt-text", text: "" });
    else if (name === "ctrl-w") {
      this.dispatch({ type: "prompt-text", text: text.replace(/\S*\s*$/, "") });
    } else if ([...name].length === 1) this.dispatch({ type: "prompt-text", text: text + name });
  }

  #submit(mode: "pid" | "filter", text: string): void {
    if (this.state.prompt.error !== undefined) return;
    if (mode === "filter") {
      this.dispatch({ type: "filter", text });
      this.dispatch({ type: "mode", mode: "list" });
      return;
    }
    const parsed = parsePids(text);
    if ("error" in parsed) return;
    this.dispatch({ type: "mode", mode: "list" });
    void this.#setPids(parsed.pids);
  }

  async #setPids(pids: readonly number[]): Promise<void> {
    if (!this.source.setPids) {
      const words = pids.length > 0 ? `pid:${pids.join(",")}` : "";
      this.dispatch({ type: "filter", text: withTaskWords(this.state.filterText, words) });
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
      this.dispatch({ type: "pids", pids });
      this.say(pids.length > 0 ? `sampling pid ${pids.join(", ")} only` : "sampling all processes");
      return;
    }
    this.say(`! ${error}`);
  }
}
