/**
 * What runs behind the screen: the state, the ticks, and what keys do to them. React only draws
 * it; several keys that arrive in one read each see what the one before did.
 */
import type { CounterDefinition, SourceEvent, TickSource } from "../collector/source.ts";
import type { Tick } from "../collector/tick.ts";
import { type Aggregate, type AggregateOptions, aggregate } from "../model/aggregate.ts";
import { History } from "../model/history.ts";
import { parsePids } from "../model/pids.ts";
import { Totals } from "../model/totals.ts";
import {
  type Action,
  initialState,
  reduce,
  type ViewOptions,
  type ViewState,
} from "../model/view.ts";
import { type Command, commandFor, isPrompt } from "./keys.ts";

/** What only the terminal can do. */
export interface TerminalActions {
  quit(): void;
  suspend(): void;
  redraw(): void;
}

/** The ids of the rows now listed, and how many fit: what moving needs to know. */
export interface ListShape {
  readonly ids: readonly number[];
  readonly page: number;
}

/** How many aggregates are kept: that of now, that of the frozen tick, and each with its filter. */
const KEPT_AGGREGATES = 4;

interface Kept {
  readonly tick: Tick;
  readonly options: AggregateOptions;
  readonly result: Aggregate;
}

const sameOptions = (a: AggregateOptions, b: AggregateOptions): boolean =>
  a.filter === b.filter && a.kernel === b.kernel && a.nativeFrames === b.nativeFrames;

/** The live screen without its drawing. */
export class Session {
  state: ViewState;
  latest: Tick | undefined;
  error: string | undefined;
  /** How many refreshes came. */
  received = 0;
  readonly history = new History();
  readonly totals = new Totals();
  readonly counters: readonly CounterDefinition[];
  /** Set by the drawing side before keys arrive. */
  shape: () => ListShape = () => ({ ids: [], page: 1 });
  terminal: TerminalActions = { quit: () => {}, suspend: () => {}, redraw: () => {} };
  /** Of the help, whose length only its drawing knows. */
  helpOffset = 0;
  readonly #source: TickSource;
  readonly #now: () => number;
  readonly #listeners = new Set<() => void>();
  #kept: Kept[] = [];
  #version = 0;

  constructor(source: TickSource, options: ViewOptions, now: () => number = Date.now) {
    this.#source = source;
    this.#now = now;
    this.counters = source.counters;
    this.state = initialState(options);
  }

  /** Begins to listen to the source; what it returns ends that. */
  start(): () => void {
    return this.#source.subscribe((event) => this.receive(event));
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
    } else {
      this.error = undefined;
      this.latest = event.tick;
      this.received++;
      this.history.push(event.tick);
      this.totals.add(event.tick, this.everything(event.tick));
      this.state = reduce(this.state, { type: "tick", now: this.#now() });
    }
    this.changed();
  }

  /** The tick that is looked at. */
  get shown(): Tick | undefined {
    return this.state.frozen ?? this.latest;
  }

  /** A tick added up as the state wants it. */
  picture(tick: Tick): Aggregate {
    const { filter, kernel, nativeFrames } = this.state;
    return this.#aggregate(tick, { ...(filter ? { filter } : {}), kernel, nativeFrames });
  }

  /** A tick added up whole: what the header tells. */
  everything(tick: Tick): Aggregate {
    return this.#aggregate(tick, { kernel: true, nativeFrames: this.state.nativeFrames });
  }

  #aggregate(tick: Tick, options: AggregateOptions): Aggregate {
    const kept = this.#kept.find((one) => one.tick === tick && sameOptions(one.options, options));
    if (kept) return kept.result;
    const result = aggregate([tick], options);
    this.#kept = [{ tick, options, result }, ...this.#kept].slice(0, KEPT_AGGREGATES);
    return result;
  }

  #dispatch(action: Action): void {
    this.state = reduce(this.state, action);
  }

  /** Says something for a moment. */
  say(text: string): void {
    this.#dispatch({ type: "message", text, now: this.#now() });
    this.changed();
  }

  /** One key, by its name. */
  key(name: string): void {
    const { mode } = this.state;
    if (name === "ctrl-c") this.terminal.quit();
    else if (name === "ctrl-z") this.terminal.suspend();
    else if (name === "ctrl-l") this.terminal.redraw();
    else if (isPrompt(mode)) this.#promptKey(mode, name);
    else if (mode === "help") this.#helpKey(name);
    else {
      const command = commandFor(name, this.state.view, this.state.frozen !== undefined);
      if (command) this.#run(command);
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
    else this.#dispatch({ type: "mode", mode: "list" });
  }

  #promptKey(mode: "pid" | "filter", name: string): void {
    const { text } = this.state.prompt;
    if (name === "enter") this.#submit(mode, text);
    else if (name === "esc") this.#dispatch({ type: "mode", mode: "list" });
    else if (name === "up") this.#dispatch({ type: "prompt-recall", step: 1 });
    else if (name === "down") this.#dispatch({ type: "prompt-recall", step: -1 });
    else if (name === "backspace") {
      this.#dispatch({ type: "prompt-text", text: [...text].slice(0, -1).join("") });
    } else if (name === "ctrl-u") this.#dispatch({ type: "prompt-text", text: "" });
    else if (name === "ctrl-w") {
      this.#dispatch({ type: "prompt-text", text: text.replace(/\S*\s*$/, "") });
    } else if ([...name].length === 1) this.#dispatch({ type: "prompt-text", text: text + name });
  }

  #submit(mode: "pid" | "filter", text: string): void {
    if (this.state.prompt.error !== undefined) return;
    if (mode === "filter") {
      this.#dispatch({ type: "filter", text });
      this.#dispatch({ type: "mode", mode: "list" });
      return;
    }
    const parsed = parsePids(text);
    if ("error" in parsed) return;
    this.#dispatch({ type: "mode", mode: "list" });
    void this.#setPids(parsed.pids);
  }

  async #setPids(pids: readonly number[]): Promise<void> {
    let error: string | undefined;
    try {
      error = await this.#source.setPids(pids);
    } catch (thrown) {
      error = thrown instanceof Error ? thrown.message : String(thrown);
    }
    if (error === undefined) {
      this.#dispatch({ type: "pids", pids });
      this.say(pids.length > 0 ? `sampling pid ${pids.join(", ")} only` : "sampling all processes");
      return;
    }
    this.say(`! ${error}`);
  }

  #run(command: Command): void {
    const now = this.#now();
    switch (command.do) {
      case "quit":
        this.terminal.quit();
        break;
      case "suspend":
        this.terminal.suspend();
        break;
      case "redraw":
        this.terminal.redraw();
        break;
      case "help":
        this.helpOffset = 0;
        this.#dispatch({ type: "mode", mode: "help" });
        break;
      case "pid":
      case "filter":
        this.#dispatch({ type: "mode", mode: command.do });
        break;
      case "sort":
        this.#dispatch({ type: "sort", step: command.by, now });
        this.#dispatch({ type: "message", text: `sorted by ${this.state.sort}`, now });
        break;
      case "freeze":
        this.#dispatch({
          type: "freeze",
          tick: this.state.frozen ? undefined : this.latest,
        });
        break;
      case "step":
        this.#step(command.by);
        break;
      case "interval":
        this.#dispatch({ type: "interval", step: command.by });
        this.#source.setInterval(this.state.delaySeconds);
        break;
      case "clear":
        this.totals.clear();
        this.#dispatch({ type: "message", text: "totals cleared", now });
        break;
      case "view":
        this.#dispatch({ type: "view", view: command.view });
        break;
      case "move":
        this.#dispatch({ type: "move", motion: command.motion, ...this.shape(), now });
        break;
      case "open":
        this.#open();
        break;
      case "next-view":
      case "reverse":
      case "kernel":
      case "language":
      case "back":
        this.#dispatch({ type: command.do });
        break;
      default:
        command satisfies never;
    }
  }

  #step(by: 1 | -1): void {
    const from = this.shown;
    if (!from || (by > 0 && !this.state.frozen)) return;
    const tick = this.history.step(from, by);
    if (tick) this.#dispatch({ type: "freeze", tick });
  }

  #open(): void {
    const { ids } = this.shape();
    const selected = this.state.selected[this.state.view];
    const id = selected !== undefined && ids.includes(selected) ? selected : ids[0];
    if (id !== undefined) this.#dispatch({ type: "open", id });
  }
}
