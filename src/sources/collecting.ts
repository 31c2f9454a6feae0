/**
 * Collects from its making to its end: makes one tick a refresh. What is asked of the collector meanwhile comes in its
 * turn, one after the other, as a drain goes on beside.
 */
import { setImmediate as behindThisTurn } from "node:timers/promises";
import { loadAddon } from "../addon/binding.ts";
import type { ResolvedEvent } from "../addon/events.ts";
import {
  type BudgetState,
  budgetNotice,
  DEFAULT_BUDGET_PERCENT,
  spend,
  startBudget,
} from "../collector/budget.ts";
import { Collector, type CollectorOptions } from "../collector/collector.ts";
import type { LookedUp } from "../collector/frame-lookup.ts";
import type { TickDelta } from "../tick/delta.ts";

/** What collecting begins with. */
export interface CollectingSetup {
  readonly sampler: Omit<CollectorOptions, "drainSeconds">;
  readonly delaySeconds: number;
  readonly firstDelaySeconds: number;
  /** What polytop may cost, percent of one CPU; 0: no limit. */
  readonly budgetPercent?: number;
}

/** Who gets what is collected. */
export interface CollectingListener {
  /** Takes the next tick; its memory is the listener's. */
  tick(delta: TickDelta): void;
  /** Nothing more will come. */
  failed(error: unknown): void;
}

/** The count maps are sized for this: a longer refresh is drained several times. */
const MAX_DRAIN_SECONDS = 1;

/** A timer may fire so early. */
const EARLY_MILLISECONDS = 1;

/** A refresh that waits for threads to be visited comes after so long all the same, and is looked for so often. */
const MOST_LATE_MILLISECONDS = 10_000;
const LATE_LOOK_MILLISECONDS = 200;

/** The first picture is on the screen by then, and what runs now is what will run. */
const START_MILLISECONDS = 1500;
const RELEASE_MILLISECONDS = 30_000;
/** To release takes 5 ms, as the kernel walks all of the program's pages for it: not where so little has come since. */
const RELEASED_AT_LEAST_BYTES = 10e6;

export class Collecting {
  readonly #collector: Collector;
  readonly #listener: CollectingListener;
  readonly #addon = loadAddon();
  #budget: BudgetState;
  /** Samples a second on each CPU by now. */
  #frequency: number;
  #seconds: number;
  #lastTick: number;
  #timer: NodeJS.Timeout | undefined;
  /** The refresh is due, and waits for threads to be visited. */
  #isLate = false;
  #isClosed = false;
  /** Is settled when nobody uses the collector. */
  #turn: Promise<unknown> = Promise.resolve();

  /** Samples from now on. Throws an Error, with `errno` where the kernel refuses. */
  constructor(setup: CollectingSetup, listener: CollectingListener) {
    const { delaySeconds, firstDelaySeconds, sampler, budgetPercent } = setup;
    this.#listener = listener;
    // Until now its turn has no end.
    this.#addon.comeBeforeHelpers();
    this.#collector = new Collector({ ...sampler, drainSeconds: MAX_DRAIN_SECONDS });
    this.#budget = startBudget(sampler.frequency, budgetPercent ?? DEFAULT_BUDGET_PERCENT);
    this.#frequency = sampler.frequency;
    this.#seconds = delaySeconds;
    // The collector took its time since sampling began.
    const begun = performance.now() - this.#collector.sampledSeconds() * 1000;
    this.#lastTick = begun - (delaySeconds - firstDelaySeconds) * 1000;
    this.#plan();
    const release = releasing(this.#addon.releaseUnusedMemory);
    setTimeout(release, START_MILLISECONDS).unref();
    setInterval(release, RELEASE_MILLISECONDS).unref();
  }

  setSeconds(seconds: number): void {
    this.#seconds = seconds;
    this.#plan();
  }

  /** Samples these alone; none: all. What was sampled of others so far is a refresh of its own. */
  setTargets(pids: readonly number[]): Promise<void> {
    return this.#inTurn(async () => {
      // First: a drain takes a while, and what is sampled meanwhile is a part of the next refresh.
      this.#collector.narrow(pids);
      await this.#refresh(true);
      this.#collector.setTargets(pids);
    });
  }

  /** Counts these and nothing else. What was counted of others so far is a refresh of its own. */
  setEvents(events: readonly ResolvedEvent[]): Promise<void> {
    return this.#inTurn(async () => {
      await this.#refresh(true);
      this.#collector.setEvents(events);
    });
  }

  watchWaits(): Promise<void> {
    return this.#inTurn(() => this.#collector.watchWaits());
  }

  /** Makes a tick of what there is, before its time. */
  flush(): Promise<void> {
    return this.#inTurn(() => this.#refresh(true));
  }

  /** Looks up the frames of a function; see FrameLookup. */
  async lookUp(functionId: number | undefined): Promise<LookedUp> {
    // Only its beginning takes a turn: it may read for a while.
    const { found } = await this.#inTurn(() => ({ found: this.#collector.lookUp(functionId) }));
    return found;
  }

  /** Ends sampling; resolves when nothing of it is left in the kernel. */
  close(): Promise<void> {
    clearTimeout(this.#timer);
    this.#isClosed = true;
    return this.#inTurn(() => this.#collector.close());
  }

  #inTurn<T>(work: () => T | Promise<T>): Promise<T> {
    const done = this.#turn.then(work);
    this.#turn = done.catch(() => {});
    return done;
  }

  #plan(): void {
    if (this.#isClosed) return;
    clearTimeout(this.#timer);
    // What is drawn of a tick, and keys behind it, come first too.
    this.#addon.comeBeforeHelpers();
    const left = this.#lastTick + this.#seconds * 1000 - performance.now();
    const wait = Math.min(
      this.#isLate ? LATE_LOOK_MILLISECONDS : Math.max(0, left),
      MAX_DRAIN_SECONDS * 1000,
    );
    // Node leaves out what is less than a millisecond: the timer would end before its time, for a drain of its own.
    this.#timer = setTimeout(() => this.#run(), Math.ceil(wait));
  }

  /** Refreshes at even times, whatever a refresh takes. */
  #run(): void {
    this.#inTurn(() => this.#refresh()).catch((error: unknown) => this.#listener.failed(error));
  }

  async #refresh(isForced = false): Promise<void> {
    if (this.#isClosed) return;
    const due = this.#lastTick + this.#seconds * 1000;
    const now = performance.now();
    await this.#collector.drain();
    // Keys come first.
    await behindThisTurn();
    if (this.#isClosed) return;
    const isDue = isForced || now >= due - EARLY_MILLISECONDS;
    const mayCome = isForced || now > due + MOST_LATE_MILLISECONDS || this.#collector.isReady();
    this.#isLate = isDue && !mayCome;
    if (isDue && mayCome) {
      // Even times, unless the machine was so busy that a whole refresh was missed.
      this.#lastTick = !isForced && now - due < this.#seconds * 500 ? due : now;
      this.#listener.tick(this.#tick());
    }
    this.#plan();
  }

  /** A tick at the rate that was in force, and the next one at the rate that its cost allows. */
  #tick(): TickDelta {
    const delta = this.#collector.take();
    const { intervalSeconds, self } = delta.header;
    this.#budget = spend(this.#budget, intervalSeconds, self.cpuPercent);
    const { frequency } = this.#budget;
    if (frequency !== this.#frequency) {
      // What was sampled since the tick belongs to the old rate, and is little.
      this.#collector.setFrequency(frequency);
      this.#frequency = frequency;
    }
    const notice = budgetNotice(this.#budget);
    if (notice === undefined) return delta;
    return { ...delta, header: { ...delta.header, notices: [...delta.header.notices, notice] } };
  }
}

/** Releases memory where that is worth its time. */
function releasing(releaseUnusedMemory: () => void): () => void {
  let left = 0;
  return () => {
    if (process.memoryUsage.rss() < left + RELEASED_AT_LEAST_BYTES) return;
    releaseUnusedMemory();
    left = process.memoryUsage.rss();
  };
}
