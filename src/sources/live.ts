/** Ticks of this machine, live: one a refresh, from the making of the source to its end. */
import { constants } from "node:os";
import { setImmediate as behindThisTurn } from "node:timers/promises";
import counterFile from "../../bpf/counters.json" with { type: "json" };
import { loadAddon } from "../addon/binding.ts";
import type { ResolvedEvent } from "../addon/events.ts";
import {
  type BudgetState,
  budgetNotice,
  DEFAULT_BUDGET_PERCENT,
  spend,
  startBudget,
} from "../collector/budget.ts";
import { Collector, type CollectorOptions, MAX_DRAIN_SECONDS } from "../collector/collector.ts";
import type { LookedUp } from "../collector/frame-lookup.ts";
import { compactSoon, releaseRegularly } from "../machine/engine.ts";
import { startOfProcess } from "../machine/process-start.ts";
import { EXIT_CANNOT, EXIT_FAILED, UserError } from "../tick/errors.ts";
import type { CounterDefinition, FrameFacts, SourceEvent, TickSource } from "../tick/source.ts";
import type { Store } from "../tick/store.ts";
import type { Tick } from "../tick/tick.ts";

export interface LiveOptions extends CollectorOptions {
  readonly delaySeconds: number;
  /** The first refresh may be sooner: who looks at a screen wants an answer now. */
  readonly firstDelaySeconds?: number;
  /** What polytop may cost, percent of one CPU, before it samples less; 0: no limit. */
  readonly budgetPercent?: number;
}

/** A timer may fire so early. */
const EARLY_MILLISECONDS = 1;

/** A refresh that waits for threads to be visited comes after so long all the same, and is looked for so often. */
const MOST_LATE_MILLISECONDS = 10_000;
const LATE_LOOK_MILLISECONDS = 200;

const { EPERM, EACCES } = constants.errno;

/** Starts sampling. Throws a UserError that says what this machine or user lacks. */
export function openLiveSource(options: LiveOptions): LiveSource {
  try {
    return new LiveSource(options);
  } catch (error) {
    throw startError(error as Error);
  }
}

/** Samples from its making until it is closed. What is asked of it during a drain is done behind that, in its order. */
export class LiveSource implements TickSource {
  readonly counters: readonly CounterDefinition[] = counterFile.counters;
  /** Rejects where sampling ends by itself. */
  readonly ended: Promise<void>;
  readonly #collector: Collector;
  readonly #addon = loadAddon();
  readonly #end = Promise.withResolvers<void>();
  readonly #listeners = new Set<(event: SourceEvent) => void>();
  #budget: BudgetState;
  /** Samples a second on each CPU by now. */
  #frequency: number;
  #seconds: number;
  /** When the latest refresh was due, in milliseconds of performance.now(). */
  #latestDue: number;
  #timer: NodeJS.Timeout | undefined;
  /** Says that the refresh is due, and waits for threads to be visited. */
  #isLate = false;
  /** Is settled when nobody uses the collector. */
  #queue: Promise<unknown> = Promise.resolve();
  #closed: Promise<void> | undefined;
  #failure: UserError | undefined;
  /** Says that functions were forgotten behind the latest tick. */
  #hasForgotten = false;
  /** What was looked up of one function's frames, by their numbers in a store. */
  readonly #facts = new Map<number, FrameFacts>();
  #factsOf: number | undefined;
  #factsStore: Store | undefined;

  /** Throws an Error, with `errno` where the kernel refuses. */
  constructor(options: LiveOptions) {
    const { frequency, delaySeconds, firstDelaySeconds = delaySeconds, budgetPercent } = options;
    this.ended = this.#end.promise;
    // Whoever waits for it hears of it.
    this.ended.catch(() => {});
    // This thread is boosted without end until the first plan.
    this.#addon.comeBeforeHelpers();
    this.#collector = new Collector(options);
    this.#budget = startBudget(frequency, budgetPercent ?? DEFAULT_BUDGET_PERCENT);
    this.#frequency = frequency;
    this.#seconds = delaySeconds;
    // The collector took its time since sampling began.
    const begun = performance.now() - this.#collector.sampledSeconds() * 1000;
    this.#latestDue = begun - (delaySeconds - firstDelaySeconds) * 1000;
    this.#plan();
    releaseRegularly(this.#addon.releaseUnusedMemory);
  }

  subscribe(listener: (event: SourceEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  setInterval(seconds: number): void {
    this.#seconds = seconds;
    this.#plan();
  }

  /** Samples these alone; none: all. What was sampled of others so far is a refresh of its own. */
  async setPids(pids: readonly number[]): Promise<string | undefined> {
    const missing = pids.filter((pid) => startOfProcess(pid) === undefined);
    if (missing.length > 0) return `no process has pid ${missing.join(", ")}`;
    const narrow = async (): Promise<void> => {
      // The drain of the refresh takes a while, and what is sampled meanwhile is a part of the next one.
      this.#collector.narrow(pids);
      await this.#refresh(true);
      this.#collector.setTargets(pids);
    };
    return this.#ask(this.#enqueue(narrow));
  }

  /**
   * Counts these events from now on, and nothing else; what was counted so far is a refresh of its own. Resolves to why
   * it cannot, or to nothing.
   */
  setEvents(events: readonly ResolvedEvent[]): Promise<string | undefined> {
    const replace = async (): Promise<void> => {
      await this.#refresh(true);
      this.#collector.setEvents(events);
    };
    return this.#ask(this.#enqueue(replace));
  }

  watchWaits(): Promise<string | undefined> {
    return this.#ask(this.#enqueue(() => this.#collector.watchWaits()));
  }

  async flush(): Promise<void> {
    if (!this.#closed) await this.#ask(this.#enqueue(() => this.#refresh(true)));
  }

  async lookUp(functionId: number | undefined): Promise<string | undefined> {
    if (functionId !== this.#factsOf) this.#facts.clear();
    this.#factsOf = functionId;
    return this.#ask(this.#learnOf(functionId));
  }

  /** Resolves to why some lines are not known, or to nothing. */
  async #learnOf(functionId: number | undefined): Promise<string | undefined> {
    // Only the beginning is queued, as the look-up may read for a while: in an object nobody waits for its promise.
    const { found } = await this.#enqueue(() => ({ found: this.#collector.lookUp(functionId) }));
    return this.#learn(await found) || undefined;
  }

  readonly factsOf = (store: Store, frame: number): FrameFacts | undefined =>
    store === this.#factsStore ? this.#facts.get(frame) : undefined;

  /** Takes in what was looked up; returns why some lines are not known. */
  #learn({ store, files, lines, bodies, why }: LookedUp): string {
    if (store !== this.#factsStore) this.#facts.clear();
    this.#factsStore = store;
    for (let at = 0; at + 2 < lines.length; at += 3) {
      const file = files[lines[at + 1] ?? 0];
      const line = lines[at + 2] ?? 0;
      if (file) this.#facts.set(lines[at] ?? 0, { source: { file, line } });
    }
    for (const [frame, body] of bodies) this.#facts.set(frame, { body });
    return why;
  }

  /** Ends sampling; resolves when nothing of it is left in the kernel. */
  close(): Promise<void> {
    // Among very many threads the end of each takes its time, and all are waited for.
    if (!this.#closed) this.#addon.endFirst();
    clearTimeout(this.#timer);
    this.#closed ??= this.#enqueue(() => this.#collector.close());
    return this.#closed;
  }

  #enqueue<T>(work: () => T | Promise<T>): Promise<T> {
    const done = this.#queue.then(work);
    this.#queue = done.catch(() => {});
    return done;
  }

  /** Resolves to what is said of why something could not be done, or to nothing. */
  async #ask(answer: Promise<string | undefined> | Promise<void>): Promise<string | undefined> {
    try {
      return (await answer) ?? undefined;
    } catch (error) {
      if (this.#failure) return this.#failure.message;
      // The kernel's reasons follow on further lines, for which a screen has no room.
      return firstLine(error instanceof Error ? error.message : String(error));
    }
  }

  #plan(): void {
    if (this.#closed) return;
    clearTimeout(this.#timer);
    // What is drawn of a tick, and keys behind it, come first too.
    this.#addon.comeBeforeHelpers();
    const left = this.#latestDue + this.#seconds * 1000 - performance.now();
    const wait = Math.min(
      this.#isLate ? LATE_LOOK_MILLISECONDS : Math.max(0, left),
      MAX_DRAIN_SECONDS * 1000,
    );
    // Node leaves out what is less than a millisecond: the timer would end before its time, for a drain of its own.
    this.#timer = setTimeout(() => this.#run(), Math.ceil(wait));
  }

  /** Refreshes at even times, whatever a refresh takes. */
  #run(): void {
    this.#enqueue(() => this.#refresh()).catch((error: Error) => this.#fail(error));
  }

  async #refresh(isForced = false): Promise<void> {
    if (this.#closed) return;
    const due = this.#latestDue + this.#seconds * 1000;
    const now = performance.now();
    await this.#collector.drain();
    // Keys come first.
    await behindThisTurn();
    if (this.#closed) return;
    const isDue = isForced || now >= due - EARLY_MILLISECONDS;
    const mayCome = isForced || now > due + MOST_LATE_MILLISECONDS || this.#collector.isReady();
    this.#isLate = isDue && !mayCome;
    if (isDue && mayCome) {
      // Even times, unless the machine was so busy that a whole refresh was missed.
      this.#latestDue = !isForced && now - due < this.#seconds * 500 ? due : now;
      this.#deliver(this.#tick());
    }
    this.#plan();
  }

  /** Makes a tick at the rate that was in force, and sets the rate that its cost allows for the next one. */
  #tick(): Tick {
    const tick = this.#collector.take();
    this.#budget = spend(this.#budget, tick.intervalSeconds, tick.self.cpuPercent);
    const { frequency } = this.#budget;
    if (frequency !== this.#frequency) {
      // What was sampled since the tick belongs to the old rate, and is little.
      this.#collector.setFrequency(frequency);
      this.#frequency = frequency;
    }
    const notice = budgetNotice(this.#budget);
    return notice === undefined ? tick : { ...tick, notices: [...tick.notices, notice] };
  }

  #deliver(tick: Tick): void {
    for (const listener of this.#listeners) listener({ tick });
    // The store before this one is held by nobody, or by few, and functions go with theirs.
    if (this.#hasForgotten) compactSoon();
    this.#hasForgotten = this.#collector.forgetFunctions();
  }

  /** Says to whoever waits that nothing more will come, for the first reason that there is. */
  #fail({ message, stack }: Error): void {
    if (this.#closed || this.#failure) return;
    this.#failure = new UserError(`sampling has ended: ${firstLine(message)}`, EXIT_FAILED);
    if (stack !== undefined) this.#failure.stack = stack;
    this.#end.reject(this.#failure);
  }
}

const firstLine = (text: string): string => text.split("\n")[0] ?? "";

/** Why sampling could not start, with what to do about it. */
function startError(error: Error & { readonly errno?: unknown }): UserError {
  if (error instanceof UserError) return error;
  const [what = "sampling cannot start", ...log] = error.message.split("\n");
  const isDenied = error.errno === EPERM || error.errno === EACCES;
  const hint = isDenied
    ? "Run it as root; `polytop doctor` says what else would do."
    : "`polytop doctor` says what this machine lacks.";
  const reported = new UserError(`${what}\n${hint}`, error.errno ? EXIT_CANNOT : EXIT_FAILED);
  reported.stack = [error.stack ?? "", ...log].join("\n");
  return reported;
}
