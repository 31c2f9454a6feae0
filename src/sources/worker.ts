/**
 * The collecting thread: the screen never waits for it. It makes one tick a refresh and sends it
 * to the main thread; what the main thread asks of it comes as requests.
 */
import { parentPort, workerData } from "node:worker_threads";
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
import type { FrameLines } from "../collector/native-lines.ts";
import { compactRegularly, compactSoon } from "../machine/engine.ts";
import { putCollectorSecond } from "../machine/priority.ts";
import { buffersOf, type TickDelta } from "../tick/delta.ts";
import { UserError } from "../tick/errors.ts";

/** What the collecting thread is started with. */
export interface WorkerSetup {
  readonly sampler: CollectorOptions;
  readonly delaySeconds: number;
  readonly firstDelaySeconds: number;
  /** What polytop may cost, percent of one CPU; 0: no limit. */
  readonly budgetPercent?: number;
}

/** What the main thread asks of the collecting one; an answer has the number of its request. */
export type WorkerRequest =
  | { readonly kind: "pids"; readonly id: number; readonly pids: readonly number[] }
  | { readonly kind: "interval"; readonly seconds: number }
  | { readonly kind: "waits"; readonly id: number }
  | { readonly kind: "events"; readonly id: number; readonly events: readonly ResolvedEvent[] }
  | { readonly kind: "flush"; readonly id: number }
  | { readonly kind: "lines"; readonly id: number; readonly function: number | undefined }
  | { readonly kind: "close" };

/** What the collecting thread sends. */
export type WorkerReply =
  | { readonly kind: "loaded" }
  | { readonly kind: "ready" }
  | { readonly kind: "tick"; readonly delta: TickDelta }
  | { readonly kind: "answer"; readonly id: number; readonly error: string | undefined }
  | { readonly kind: "lines"; readonly id: number; readonly found: FrameLines }
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

/** Sends a message; the memory in `handedOver` is the main thread's from then on. */
function reply(message: WorkerReply, handedOver: readonly ArrayBuffer[] = []): void {
  parentPort?.postMessage(message, handedOver);
}

function describeError(error: unknown): WorkerReply {
  const known = error instanceof Error ? error : new Error(String(error));
  const errno = "errno" in known && typeof known.errno === "number" ? known.errno : 0;
  const exitCode = known instanceof UserError ? known.exitCode : undefined;
  return { kind: "failed", message: known.message, errno, exitCode, stack: known.stack };
}

/** Calls the collector at even times, whatever a call takes. */
class Schedule {
  readonly #collector: Collector;
  readonly #comeBeforeHelpers = loadAddon().comeBeforeHelpers;
  #budget: BudgetState;
  /** Samples a second on each CPU by now. */
  #frequency: number;
  #seconds: number;
  #lastTick: number;
  #timer: NodeJS.Timeout | undefined;
  /** The refresh is due, and waits for threads to be visited. */
  #isLate = false;

  constructor(collector: Collector, budget: BudgetState, setup: WorkerSetup) {
    const { delaySeconds, firstDelaySeconds, sampler } = setup;
    this.#collector = collector;
    this.#budget = budget;
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
        reply({ kind: "tick", delta }, buffersOf(delta));
        if (delta.forgotten) compactSoon();
      }
      this.#plan();
    } catch (error) {
      reply(describeError(error));
    }
  }
}

function serve(setup: WorkerSetup): void {
  // Until now its turn has no end.
  loadAddon().comeBeforeHelpers();
  const { sampler } = setup;
  const collector = new Collector({ ...sampler, drainSeconds: MAX_DRAIN_SECONDS });
  const budget = startBudget(sampler.frequency, setup.budgetPercent ?? DEFAULT_BUDGET_PERCENT);
  const schedule = new Schedule(collector, budget, setup);
  parentPort?.on("message", (request: WorkerRequest) => {
    if (request.kind === "interval") schedule.setSeconds(request.seconds);
    if (request.kind === "pids") {
      // What was sampled of others so far is a refresh of its own: the next one is of these alone.
      schedule.flush();
      reply(tryIt(request.id, () => collector.setTargets(request.pids)));
    }
    if (request.kind === "waits") reply(tryIt(request.id, () => collector.watchWaits()));
    if (request.kind === "events") {
      // What was counted of others so far is a refresh of its own.
      schedule.flush();
      reply(tryIt(request.id, () => collector.setEvents(request.events)));
    }
    if (request.kind === "lines") void answerLines(collector, request);
    if (request.kind === "flush") {
      schedule.flush();
      reply({ kind: "answer", id: request.id, error: undefined });
    }
    if (request.kind === "close") {
      schedule.stop();
      collector.close();
      parentPort?.close();
    }
  });
  reply({ kind: "ready" });
  const { releaseUnusedMemory } = loadAddon();
  setTimeout(releaseUnusedMemory, START_MILLISECONDS).unref();
  setInterval(releaseUnusedMemory, RELEASE_MILLISECONDS).unref();
  compactRegularly();
}

async function answerLines(
  collector: Collector,
  { id, function: wanted }: WorkerRequest & { kind: "lines" },
): Promise<void> {
  try {
    reply({ kind: "lines", id, found: await collector.lines(wanted) });
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    reply({ kind: "lines", id, found: { files: [], lines: new Uint32Array(), why } });
  }
}

/** Does what was asked for; the answer says what was wrong, if anything. */
function tryIt(id: number, work: () => void): WorkerReply {
  try {
    work();
    return { kind: "answer", id, error: undefined };
  } catch (error) {
    // The kernel's reasons follow on further lines, for which a screen has no room.
    const [what] = (error instanceof Error ? error.message : String(error)).split("\n");
    return { kind: "answer", id, error: what };
  }
}

function start(setup: WorkerSetup): void {
  try {
    serve(setup);
  } catch (error) {
    reply(describeError(error));
  }
}

putCollectorSecond();
reply({ kind: "loaded" });
// The thread may be there before it is known what it has to do.
if (workerData) start(workerData as WorkerSetup);
else parentPort?.once("message", start);
