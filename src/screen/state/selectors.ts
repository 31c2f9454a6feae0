/**
 * Works out of the ticks what views are drawn from, once, and keeps it while they and the choices stay
 * the same. What would take long is worked out a part at a time: `pending` says that there is more.
 */
import {
  type Aggregate,
  type AggregateOptions,
  aggregate,
  type FunctionRow,
} from "../../model/aggregate.ts";
import { CallTree, trunk } from "../../model/call-tree.ts";
import { type Changes, compare } from "../../model/changes.ts";
import { Covered } from "../../model/covered.ts";
import { eventNames, ofEventNamed } from "../../model/events.ts";
import { FunctionSums } from "../../model/function-sums.ts";
import type { History } from "../../model/history.ts";
import { isSameChoice } from "../../model/selection.ts";
import { Trails } from "../../model/trails.ts";
import type { Tick } from "../../tick/tick.ts";
import { isTime } from "../../tick/units.ts";
import { Memo } from "./memo.ts";
import { RECENT_SECONDS, type ViewState } from "./state.ts";

/** So many aggregates are kept: for now, for what is frozen, with filter and without, for 10 s. */
const KEPT_AGGREGATES = 6;

/** Shares of fewer samples say little: a function of 10 % has 30 of them, give or take five. */
const ENOUGH_SAMPLES = 300;

/** Ticks that can be added up: of the same processes and event. */
const isAlike = (a: Tick, b: Tick): boolean =>
  a.event === b.event && a.pids.join() === b.pids.join();

/** So many counts of old ticks are added in one refresh, which takes some milliseconds. */
const SINCE_BUDGET = 3000;
const TREE_BUDGET = 5000;

/** So many rows of the tree are open at first. */
const TRUNK_ROWS = 12;

/** Marks a set of open rows as no longer empty, whatever is closed. */
const NO_ROW = "";

/** Returns the row of a node of a tree; it outlives the tree. */
export const rowOf = (tree: CallTree, node: number): string => String(tree.path(node));

/** Returns the node of a row, when it has samples. */
export const nodeOf = (tree: CallTree, row: string | undefined): number | undefined =>
  row === undefined ? undefined : tree.find(Number(row));

interface Kept {
  readonly ticks: readonly Tick[];
  readonly options: AggregateOptions;
  readonly result: Aggregate;
}

/** Rows of functions and what they are a part of. */
export interface FunctionPicture {
  readonly rows: readonly FunctionRow[];
  readonly samples: number;
  readonly seconds: number;
  readonly changes?: Changes;
}

/** What functions have of one of several events, in the span of the picture. */
export interface EventPicture {
  readonly name: string;
  /** By the id of a function. */
  readonly rows: ReadonlyMap<number, FunctionRow>;
}

/** A tree and the time that it covers. */
export interface TreePicture {
  readonly tree: CallTree;
  readonly seconds: number;
}

/** Everything that depends on what is left out; another choice makes it anew. */
interface Choice {
  readonly options: AggregateOptions;
  readonly since: Covered<FunctionSums>;
  readonly recent: Covered<FunctionSums>;
  readonly trails: Trails;
  /** What ticks have that is shown. */
  readonly amounts: WeakMap<Tick, number>;
  /** Sums of the events behind the first, by their names. */
  readonly others: Map<string, { since: Covered<FunctionSums>; recent: Covered<FunctionSums> }>;
  tree?: { readonly key: string; readonly covered: Covered<CallTree>; trunk?: Set<string> };
}

const sameTicks = (a: readonly Tick[], b: readonly Tick[]): boolean =>
  a.length === b.length && a[0]?.time === b[0]?.time && a.at(-1) === b.at(-1);

/** Ticks that go out of a window later are added up once only. */
function remembered(add: (tick: Tick) => Aggregate): (tick: Tick) => Aggregate {
  const known = new WeakMap<Tick, Aggregate>();
  return (tick) => {
    const result = known.get(tick) ?? add(tick);
    known.set(tick, result);
    return result;
  };
}

/** Works out and keeps what views ask for. */
export class Selectors {
  readonly #history: History;
  #kept: Kept[] = [];
  #choice: Choice | undefined;
  readonly #changes = new Memo<Changes>();
  readonly #rows = new Memo<FunctionPicture>();
  readonly #others = new Memo<readonly EventPicture[]>();
  /** The span `since` begins then. */
  clearedAt = Number.NEGATIVE_INFINITY;
  /** There is more to work out, so the window is to be drawn again soon. */
  pending = false;

  constructor(history: History) {
    this.#history = history;
  }

  /** Says what the state leaves out. */
  options({ filter, kernel, nativeFrames, idle, physical }: ViewState): AggregateOptions {
    return { ...(filter ? { filter } : {}), kernel, nativeFrames, idle, physical };
  }

  #aggregate(ticks: readonly Tick[], options: AggregateOptions): Aggregate {
    const kept = this.#kept.find(
      (one) => sameTicks(one.ticks, ticks) && isSameChoice(one.options, options),
    );
    if (kept) {
      // What is asked for again stays: the mark's is wanted with every refresh.
      if (kept !== this.#kept[0]) this.#kept = [kept, ...this.#kept.filter((one) => one !== kept)];
      return kept.result;
    }
    const result = aggregate(ticks, options);
    this.#kept = [{ ticks, options, result }, ...this.#kept].slice(0, KEPT_AGGREGATES);
    return result;
  }

  /** Adds a tick up as the state wants it. */
  picture(tick: Tick, state: ViewState): Aggregate {
    return this.#aggregate([tick], this.options(state));
  }

  /** Adds a tick up whole, as the header tells it. */
  everything(tick: Tick, { nativeFrames, idle, physical }: ViewState): Aggregate {
    return this.#aggregate([tick], { kernel: true, nativeFrames, idle, physical });
  }

  /**
   * The refreshes that percentages of now are of, oldest first: as many as hold enough samples to tell which of two is
   * more, the last seconds at most. Threads that wait are all looked at in each.
   */
  steadyTicks(tick: Tick, state: ViewState): readonly Tick[] {
    if (isTime(tick.unit)) return [tick];
    const { amounts, options } = this.#chosen(state);
    const ticks = this.#history.last(RECENT_SECONDS, tick).filter((one) => isAlike(one, tick));
    let amount = 0;
    let first = ticks.length;
    while (first > 0 && amount < ENOUGH_SAMPLES) {
      const one = ticks[--first] as Tick;
      const known = amounts.get(one) ?? this.#aggregate([one], options).samples;
      amounts.set(one, known);
      amount += known;
    }
    return ticks.slice(first);
  }

  /** Adds up what percentages of now are of. */
  steady(tick: Tick, state: ViewState): Aggregate {
    return this.#aggregate(this.steadyTicks(tick, state), this.options(state));
  }

  /** Adds the last seconds up. */
  recent(tick: Tick, state: ViewState): Aggregate {
    return this.#aggregate(this.#history.last(RECENT_SECONDS, tick), this.options(state));
  }

  /** The ticks of the history are others now: sums of them begin anew. */
  forget(): void {
    this.#choice = undefined;
  }

  #chosen(state: ViewState): Choice {
    const options = this.options(state);
    if (this.#choice && isSameChoice(this.#choice.options, options)) return this.#choice;
    // Old ticks are added up once: only those of now are worth keeping.
    const add = (tick: Tick): Aggregate =>
      this.#kept.find(
        (one) =>
          one.ticks.length === 1 && one.ticks[0] === tick && isSameChoice(one.options, options),
      )?.result ?? aggregate([tick], options);
    this.#choice = {
      options,
      since: new Covered(() => new FunctionSums(add), false),
      recent: new Covered(() => new FunctionSums(remembered(add), true), true),
      trails: new Trails(this.#history, add),
      amounts: new WeakMap(),
      others: new Map(),
    };
    return this.#choice;
  }

  /** Sums up what there was since totals were cleared, up to a tick. */
  since(tick: Tick, state: ViewState): { sums: FunctionSums; seconds: number } {
    this.picture(tick, state);
    const { since } = this.#chosen(state);
    since.sum.forgetLeast();
    if (!since.update(this.#history, this.clearedAt, tick, SINCE_BUDGET)) this.pending = true;
    return { sums: since.sum, seconds: since.seconds };
  }

  /** Makes history lines up to a tick. */
  trails(tick: Tick, state: ViewState): Trails {
    this.picture(tick, state);
    const { trails } = this.#chosen(state);
    if (!trails.update(tick)) this.pending = true;
    return trails;
  }

  /** Makes the rows of the last seconds by adding what is new and taking out what is old. */
  #recentFunctions(tick: Tick, state: ViewState): FunctionPicture {
    const now = this.steady(tick, state);
    const { recent } = this.#chosen(state);
    const from = tick.time - RECENT_SECONDS * 1000;
    if (!recent.update(this.#history, from, tick, TREE_BUDGET)) this.pending = true;
    return this.#summed(recent, now);
  }

  #summed({ sum, seconds }: Covered<FunctionSums>, now: Aggregate): FunctionPicture {
    const { samples } = sum;
    return this.#rows.of([sum, now, samples], () => ({ rows: sum.rows(now), samples, seconds }));
  }

  /** Lists the functions of the span that is chosen, or against the mark. */
  functions(tick: Tick, state: ViewState): FunctionPicture {
    const { mark, span } = state;
    if (mark) {
      const now = this.#recentFunctions(tick, state);
      const then = this.#aggregate(mark.ticks, this.options(state));
      const before = { rows: then.functions, samples: then.samples };
      const changes = this.#changes.of([now, then], () => compare(now, before));
      return { ...now, rows: changes.rows, changes };
    }
    if (span === "recent") return this.#recentFunctions(tick, state);
    const all = this.steady(tick, state);
    if (span === "now") {
      return { rows: all.functions, samples: all.samples, seconds: all.seconds };
    }
    this.since(tick, state);
    return this.#summed(this.#chosen(state).since, all);
  }

  /** What functions have of the events behind the first, in the span that is chosen. */
  others(tick: Tick, state: ViewState): readonly EventPicture[] {
    const names = eventNames(tick).slice(1);
    if (names.length === 0) return [];
    return this.#others.of([tick, this.#chosen(state), state.span, state.mark], () =>
      names.map((name) => this.#other(tick, state, name)),
    );
  }

  #other(tick: Tick, state: ViewState, name: string): EventPicture {
    const choice = this.#chosen(state);
    const addAll = (ticks: readonly Tick[]): Aggregate =>
      aggregate(
        ticks.map((one) => ofEventNamed(one, name)),
        choice.options,
      );
    const add = (one: Tick): Aggregate => addAll([one]);
    const now = addAll(this.steadyTicks(tick, state));
    const span = state.mark ? "recent" : state.span;
    const byId = (rows: readonly FunctionRow[]) =>
      new Map(rows.map((row) => [row.function.id, row]));
    if (span === "now") return { name, rows: byId(now.functions) };
    const known = choice.others.get(name) ?? {
      since: new Covered(() => new FunctionSums(add), false),
      recent: new Covered(() => new FunctionSums(remembered(add), true), true),
    };
    choice.others.set(name, known);
    const from = span === "since" ? this.clearedAt : tick.time - RECENT_SECONDS * 1000;
    const covered = known[span];
    if (span === "since") covered.sum.forgetLeast();
    const budget = span === "since" ? SINCE_BUDGET : TREE_BUDGET;
    if (!covered.update(this.#history, from, tick, budget)) this.pending = true;
    return { name, rows: byId(covered.sum.rows(now)) };
  }

  /** Makes the tree of the last seconds, or since totals were cleared. */
  tree(tick: Tick, state: ViewState): TreePicture {
    const choice = this.#chosen(state);
    const isSince = state.span === "since";
    const key = `${isSince} ${state.bottomUp}`;
    if (choice.tree?.key !== key) {
      const make = (): CallTree => new CallTree(choice.options, state.bottomUp);
      choice.tree = { key, covered: new Covered(make, !isSince) };
    }
    const { covered } = choice.tree;
    if (covered.sum.isWorn) covered.reset();
    const from = isSince ? this.clearedAt : tick.time - RECENT_SECONDS * 1000;
    if (!covered.update(this.#history, from, tick, TREE_BUDGET)) this.pending = true;
    return { tree: covered.sum, seconds: covered.seconds };
  }

  /** Returns the rows of the tree that are open: the trunk, until the user opens or closes one. */
  openRows(tick: Tick, state: ViewState): ReadonlySet<string> {
    if (state.expanded.size > 0) return state.expanded;
    const { tree } = this.tree(tick, state);
    const kept = this.#choice?.tree;
    if (kept?.trunk && kept.trunk.size > 1) return kept.trunk;
    const rows = new Set([NO_ROW, ...trunk(tree, TRUNK_ROWS).map(String)]);
    if (kept) kept.trunk = rows;
    return rows;
  }
}
