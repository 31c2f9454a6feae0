/**
 * Collects as it is asked to: makes one tick a refresh and sends it to who shows them, on the same thread or on
 * another; what that asks comes as requests.
 */
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
import { type LookedUp, notLookedUp } from "../collector/frame-lookup.ts";
import { compactSoon } from "../machine/engine.ts";
import { buffersOf, type TickDelta } from "../tick/delta.ts";
import { UserError } from "../tick/errors.ts";

/** What collecting begins with. */
export interface CollectingSetup {
  readonly sampler: CollectorOptions;
  readonly delaySeconds: number;
  readonly firstDelaySeconds: number;
  /** What polytop may cost, percent of one CPU; 0: no limit. */
  readonly budgetPercent?: number;
}

/** What is asked while it collects; an answer has the number of its request. */
export type CollectingRequest =
  | { readonly kind: "pids"; readonly id: number; readonly pids: readonly number[] }
  | { readonly kind: "interval"; readonly seconds: number }
  | { readonly kind: "waits"; readonly id: number }
  | { readonly kind: "events"; readonly id: number; readonly events: readonly ResolvedEvent[] }
  | { readonly kind: "flush"; readonly id: number }
  | { readonly kind: "frames"; readonly id: number; readonly function: number | undefined }
  | { readonly kind: "close" };

/** What it sends. */
export type CollectingReply =
  | { readonly kind: "loaded" }
  | { readonly kind: "ready" }
  | { readonly kind: "tick"; readonly delta: TickDelta }
  | { readonly kind: "answer"; readonly id: number; readonly error: string | undefined }
  | { readonly kind: "frames"; readonly id: number; readonly found: LookedUp }
  | {
      readonly kind: "failed";
      readonly message: string;
      readonly errno: number;
      /** What polytop exits with for an error that is meant for the user as it is. */
      readonly exitCode: number | undefined;
      readonly stack: string | undefined;
    };

/** The count maps are sized for this: a longer refresh is drained several times. */
const MAX_DRAIN_SECONDS = 1;

/** A refresh that waits for threads to be visited comes after so long all the same, and is looked for so often. */
const MOST_LATE_MILLISECONDS = 10_000;
const LATE_LOOK_MILLISECONDS = 200;

/** The first picture is on the screen by then, and what runs now is what will run. */
const START_MILLISECONDS = 1500;
const RELEASE_MILLISECONDS = 30_000;
/** To release takes 5 ms, as the kernel walks all of the program's pages for it: not where so little has come since. */
const RELEASED_AT_LEAST_BYTES = 10e6;

/** What collects, as who shows its ticks sees it: a Worker is one. */
export interface Collecting {
  /** Takes first what collecting begins with, then requests. */
  postMessage(message: CollectingSetup | CollectingRequest): void;
  on(event: "message", listener: (reply: CollectingReply) => void): unknown;
  on(event: "error", listener: (error: Error) => void): unknown;
  once(event: "message", listener: (reply: CollectingReply) => void): unknown;
  once(event: "exit", listener: (code: number) => void): unknown;
}

/** The way to who shows what is collected. */
export interface CollectingPort {
  /** The memory in `handedOver` is the other side's from then on. */
  reply(message: CollectingReply, handedOver?: readonly ArrayBuffer[]): void;
  /** Calls `listener` with each request from now on. */
  onRequest(listener: (request: CollectingRequest) => void): void;
  /** Nothing will be sent any more. */
  close(): void;
}

function describeError(error: unknown): CollectingReply {
  const known = error instanceof Error ? error : new Error(String(error));
  const errno = "errno" in known && typeof known.errno === "number" ? known.errno : 0;
  const exitCode = known instanceof UserError ? known.exitCode : undefined;
  return { kind: "failed", message: known.message, errno, exitCode, stack: known.stack };
}

/** Calls the collector at even times, whatever a call takes. */
class Schedule {
  readonly #collector: Collector;
  readonly #port: CollectingPort;
  readonly #comeBeforeHelpers = loadAddon().comeBeforeHelpers;
  #budget: BudgetState;
  /** Samples a second on each CPU by now. */
  #frequency: number;
  #seconds: number;
  #lastTick: number;
  #timer: NodeJS.Timeout | undefined;
  /** The refresh is due, and waits for threads to be visited. */
  #isLate = false;

  constructor(collector: Collector, setup: CollectingSetup, port: CollectingPort) {
    const { delaySeconds, firstDelaySeconds, sampler } = setup;
    this.#collector = collector;
    this.#port = port;
    this.#budget = startBudget(sampler.frequency, setup.budgetPercent ?? DEFAULT_BUDGET_PERCENT);
    this.#frequency = sampler.frequency;
    this.#seconds = delaySeconds;
    // The collector took its time since sampling began.
    const begun = performance.now() - collector.sampledSeconds() * 1000;
    this.#lastTick = begun - (delaySeconds - firstDelaySeconds) * 1000;
    this.#plan();
  }

  setSeconds(seconds: number): void {
    this.#seconds = seconds;
    this.#plan();
  }

  /** Makes a tick of what there is, before its time. */
  flush(): void {
    this.#lastTick = performance.now() - this.#seconds * 1000;
    this.#run(true);
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  #plan(): void {
    clearTimeout(this.#timer);
    this.#comeBeforeHelpers();
    const left = this.#lastTick + this.#seconds * 1000 - performance.now();
    const wait = Math.min(
      this.#isLate ? LATE_LOOK_MILLISECONDS : Math.max(0, left),
      MAX_DRAIN_SECONDS * 1000,
    );
    this.#timer = setTimeout(() => this.#run(), wait);
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

  #run(isForced = false): void {
    try {
      const due = this.#lastTick + this.#seconds * 1000;
      const now = performance.now();
      this.#collector.drain();
      const mayCome = isForced || now > due + MOST_LATE_MILLISECONDS || this.#collector.isReady();
      // A timer may fire up to a millisecond early.
      this.#isLate = now >= due - 1 && !mayCome;
      if (now >= due - 1 && mayCome) {
        // Even times, unless the machine was so busy that a whole refresh was missed.
        this.#lastTick = now - due < this.#seconds * 500 ? due : now;
        const delta = this.#tick();
        this.#port.reply({ kind: "tick", delta }, buffersOf(delta));
        if (delta.forgotten) compactSoon();
      }
      this.#plan();
    } catch (error) {
      this.#port.reply(describeError(error));
    }
  }
}

/** Collects from now on, until it is asked to end; where it cannot, the reply says why. */
export function collect(setup: CollectingSetup, port: CollectingPort): void {
  try {
    serve(setup, port);
  } catch (error) {
    port.reply(describeError(error));
  }
}

function serve(setup: CollectingSetup, port: CollectingPort): void {
  const { comeBeforeHelpers, releaseUnusedMemory } = loadAddon();
  // Until now its turn has no end.
  comeBeforeHelpers();
  const collector = new Collector({ ...setup.sampler, drainSeconds: MAX_DRAIN_SECONDS });
  const schedule = new Schedule(collector, setup, port);
  port.onRequest((request) => {
    if (request.kind === "interval") schedule.setSeconds(request.seconds);
    if (request.kind === "pids") {
      // What was sampled of others so far is a refresh of its own: the next one is of these alone.
      schedule.flush();
      port.reply(tryIt(request.id, () => collector.setTargets(request.pids)));
    }
    if (request.kind === "waits") port.reply(tryIt(request.id, () => collector.watchWaits()));
    if (request.kind === "events") {
      // What was counted of others so far is a refresh of its own.
      schedule.flush();
      port.reply(tryIt(request.id, () => collector.setEvents(request.events)));
    }
    if (request.kind === "frames") void lookUp(collector, request).then(port.reply);
    if (request.kind === "flush") {
      schedule.flush();
      port.reply({ kind: "answer", id: request.id, error: undefined });
    }
    if (request.kind === "close") {
      schedule.stop();
      collector.close();
      port.close();
    }
  });
  port.reply({ kind: "ready" });
  const release = releasing(releaseUnusedMemory);
  setTimeout(release, START_MILLISECONDS).unref();
  setInterval(release, RELEASE_MILLISECONDS).unref();
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

async function lookUp(
  collector: Collector,
  { id, function: wanted }: CollectingRequest & { kind: "frames" },
): Promise<CollectingReply> {
  try {
    return { kind: "frames", id, found: await collector.lookUp(wanted) };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return { kind: "frames", id, found: notLookedUp(why) };
  }
}

/** Does what was asked for; the answer says what was wrong, if anything. */
function tryIt(id: number, work: () => void): CollectingReply {
  try {
    work();
    return { kind: "answer", id, error: undefined };
  } catch (error) {
    // The kernel's reasons follow on further lines, for which a screen has no room.
    const [what] = (error instanceof Error ? error.message : String(error)).split("\n");
    return { kind: "answer", id, error: what };
  }
}
