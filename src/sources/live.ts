/** Ticks of this machine, live: begins to collect and speaks with what does. */
import { constants } from "node:os";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import counterFile from "../../bpf/counters.json" with { type: "json" };
import { loadAddon } from "../addon/binding.ts";
import type { ResolvedEvent } from "../addon/events.ts";
import type { LookedUp } from "../collector/frame-lookup.ts";
import { compactSoon, startSmallHeaps } from "../machine/engine.ts";
import { nativeFolder, samplingObject } from "../machine/native-folder.ts";
import { startOfProcess } from "../machine/process-start.ts";
import { TickAssembler } from "../tick/delta.ts";
import { EXIT_CANNOT, EXIT_FAILED, UserError } from "../tick/errors.ts";
import type { EventName } from "../tick/events.ts";
import type { CounterDefinition, FrameFacts, SourceEvent, TickSource } from "../tick/source.ts";
import type { Store } from "../tick/store.ts";
import type {
  Collecting,
  CollectingReply,
  CollectingRequest,
  CollectingSetup,
} from "./collecting.ts";
import { SameThread } from "./same-thread.ts";

export interface LiveOptions {
  /** Whose time is counted, where any is. */
  readonly event: EventName;
  /** What is counted beside it or in its place, in the order of the columns. */
  readonly events?: readonly ResolvedEvent[];
  /** Every so-many-th hit of an event. */
  readonly period?: number;
  readonly frequency: number;
  readonly delaySeconds: number;
  /** The first refresh may be sooner: who looks at a screen wants an answer now. */
  readonly firstDelaySeconds?: number;
  readonly pids: readonly number[];
  /** Only what this process's main thread starts from now on is sampled. */
  readonly followsOwn?: boolean;
  /** Files that are about to be run. */
  readonly prepared?: readonly string[];
  /** Stacks of the same functions are one: for who asks for no source lines of native functions. */
  readonly byFunction?: boolean;
  /** Where tables of programs are kept from run to run; empty: nowhere. */
  readonly cacheFolder: string;
  /** What polytop may cost, percent of one CPU, before it samples less; 0: no limit. */
  readonly budgetPercent?: number;
}

export interface LiveSource extends TickSource {
  /** Counts these from now on, and nothing else. Resolves to why it cannot, or to nothing. */
  setEvents(events: readonly ResolvedEvent[]): Promise<string | undefined>;
  /** Ends sampling; resolves when nothing of it is left in the kernel. */
  close(): Promise<void>;
}

/** The thread keeps frames and names: tens of megabytes. */
const HEAP_LIMITS = { maxOldGenerationSizeMb: 256 };

const { EPERM, EACCES } = constants.errno;

/**
 * Starts the collecting thread, which has nothing to do yet: it takes a tenth of a second, in which others work. The
 * addon must be whole.
 */
export function startThread(): Collecting {
  startSmallHeaps();
  // Else it would share a CPU with the thread on which the kernel verifies the BPF programs, and be there after that.
  return loadAddon().passTurn(
    () => new Worker(new URL("./worker.js", import.meta.url), { resourceLimits: HEAP_LIMITS }),
  );
}

/** Collects on this thread, where no key is waited for. */
export const collectHere = (): Collecting => new SameThread();

/** Starts sampling. Rejects with a UserError that says what this machine or user lacks. */
export async function openLiveSource(
  collecting: Collecting,
  options: LiveOptions,
): Promise<LiveSource> {
  const native = nativeFolder();
  const setup: CollectingSetup = {
    sampler: {
      objectPath: samplingObject(),
      sweepPath: join(native, "wait.bpf.o"),
      event: options.event,
      ...(options.events ? { events: options.events } : {}),
      ...(options.period === undefined ? {} : { period: options.period }),
      // The number of a main thread is that of its process.
      ...(options.prepared ? { prepared: options.prepared } : {}),
      ...(options.followsOwn ? { followed: process.pid } : {}),
      frequency: options.frequency,
      drainSeconds: 1,
      targets: options.pids,
      byFunction: options.byFunction ?? false,
      cacheFolder: options.cacheFolder,
    },
    delaySeconds: options.delaySeconds,
    firstDelaySeconds: options.firstDelaySeconds ?? options.delaySeconds,
    ...(options.budgetPercent === undefined ? {} : { budgetPercent: options.budgetPercent }),
  };
  const source = new CollectedSource(collecting);
  collecting.postMessage(setup);
  await source.ready;
  return source;
}

class CollectedSource implements LiveSource {
  readonly counters: readonly CounterDefinition[] = counterFile.counters;
  readonly ready: Promise<void>;
  /** Rejects where sampling ends by itself. */
  readonly ended: Promise<void>;
  readonly #collecting: Collecting;
  readonly #addon = loadAddon();
  readonly #start = Promise.withResolvers<void>();
  readonly #end = Promise.withResolvers<void>();
  readonly #assembler = new TickAssembler();
  readonly #listeners = new Set<(event: SourceEvent) => void>();
  readonly #answers = new Map<number, (error: string | undefined) => void>();
  /** What was looked up of one function's frames, by their numbers in the store of the latest tick. */
  readonly #facts = new Map<number, FrameFacts>();
  #factsOf: number | undefined;
  #nextRequest = 1;
  #closed = false;
  #failure: UserError | undefined;
  /** The thread is there no more. */
  #exited = false;

  constructor(collecting: Collecting) {
    this.#collecting = collecting;
    this.ended = this.#end.promise;
    this.ready = this.#start.promise;
    this.ended.catch(this.#start.reject);
    collecting.on("message", (reply) => this.#receive(reply));
    collecting.on("error", (error) => this.#fail(whyEnded(error), error.stack));
    collecting.once("exit", (code) => {
      this.#exited = true;
      this.#fail(`its thread ended with status ${code}`);
    });
  }

  /** Nothing more will come, for the first reason that is told: whoever waits must know. */
  #fail(why: string, stack?: string): void {
    if (this.#closed || this.#failure) return;
    this.#failure = new UserError(`sampling has ended: ${why.split("\n")[0] ?? ""}`, EXIT_FAILED);
    if (stack !== undefined) this.#failure.stack = stack;
    for (const id of this.#answers.keys()) this.#answer(id, this.#failure.message);
    this.#end.reject(this.#failure);
  }

  subscribe(listener: (event: SourceEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async setPids(pids: readonly number[]): Promise<string | undefined> {
    const missing = pids.filter((pid) => startOfProcess(pid) === undefined);
    if (missing.length > 0) return `no process has pid ${missing.join(", ")}`;
    return this.#ask((id) => ({ kind: "pids", id, pids }));
  }

  async flush(): Promise<void> {
    if (!this.#closed) await this.#ask((id) => ({ kind: "flush", id }));
  }

  lookUp(functionId: number | undefined): Promise<string | undefined> {
    if (functionId !== this.#factsOf) this.#facts.clear();
    this.#factsOf = functionId;
    const { functions } = this.#assembler.store;
    const sent = functionId === undefined ? undefined : functions.sentId(functionId);
    return this.#ask((id) => ({ kind: "frames", id, function: sent }));
  }

  readonly factsOf = (store: Store, frame: number): FrameFacts | undefined =>
    store === this.#assembler.store ? this.#facts.get(frame) : undefined;

  #learn({ files, lines, bodies }: LookedUp): void {
    for (let at = 0; at + 2 < lines.length; at += 3) {
      const file = files[lines[at + 1] ?? 0];
      const line = lines[at + 2] ?? 0;
      if (file) this.#facts.set(lines[at] ?? 0, { source: { file, line } });
    }
    for (const [frame, body] of bodies) this.#facts.set(frame, { body });
  }

  /** Sends a request; resolves to the answer. */
  #ask(request: (id: number) => CollectingRequest): Promise<string | undefined> {
    if (this.#failure) return Promise.resolve(this.#failure.message);
    const id = this.#nextRequest++;
    const answer = new Promise<string | undefined>((resolve) => this.#answers.set(id, resolve));
    this.#send(request(id));
    return answer;
  }

  watchWaits(): Promise<string | undefined> {
    return this.#ask((id) => ({ kind: "waits", id }));
  }

  setEvents(events: readonly ResolvedEvent[]): Promise<string | undefined> {
    return this.#ask((id) => ({ kind: "events", id, events }));
  }

  setInterval(seconds: number): void {
    this.#send({ kind: "interval", seconds });
  }

  close(): Promise<void> {
    if (this.#closed) return Promise.resolve();
    this.#closed = true;
    if (this.#exited) return Promise.resolve();
    // Among very many threads the end of each takes its time, and all are waited for.
    this.#addon.endFirst();
    return new Promise((resolve) => {
      this.#collecting.once("exit", () => resolve());
      this.#send({ kind: "close" });
    });
  }

  #send(request: CollectingRequest): void {
    this.#collecting.postMessage(request);
  }

  #receive(reply: CollectingReply): void {
    if (reply.kind === "tick") {
      // It is drawn now, and keys are waited for behind it.
      this.#addon.comeBeforeHelpers();
      if (reply.delta.renewed) this.#facts.clear();
      this.#publish({ tick: this.#assembler.assemble(reply.delta) });
      // The store before is held by nobody, or by few, and functions go with theirs.
      if (reply.delta.forgotten) compactSoon();
    }
    if (reply.kind === "ready") this.#start.resolve();
    if (reply.kind === "failed") {
      this.#start.reject(startError(reply));
      this.#fail(reply.message, reply.stack);
    }
    if (reply.kind === "answer") this.#answer(reply.id, reply.error);
    if (reply.kind === "frames") {
      this.#learn(reply.found);
      this.#answer(reply.id, reply.found.why || undefined);
    }
  }

  #answer(id: number, error: string | undefined): void {
    this.#answers.get(id)?.(error);
    this.#answers.delete(id);
  }

  #publish(event: SourceEvent): void {
    for (const listener of this.#listeners) listener(event);
  }
}

/** What ended the thread, in words for a user. */
function whyEnded(error: Error & { readonly code?: unknown }): string {
  return error.code === "ERR_WORKER_OUT_OF_MEMORY"
    ? `its thread needs more than ${HEAP_LIMITS.maxOldGenerationSizeMb} MB: sample fewer processes (-p)`
    : error.message;
}

/** Why sampling could not start, with what to do about it. */
function startError(failed: CollectingReply & { kind: "failed" }): UserError {
  if (failed.exitCode !== undefined) return new UserError(failed.message, failed.exitCode);
  const [what = "sampling cannot start", ...log] = failed.message.split("\n");
  const isDenied = failed.errno === EPERM || failed.errno === EACCES;
  const hint = isDenied
    ? "Run it as root; `polytop doctor` says what else would do."
    : "`polytop doctor` says what this machine lacks.";
  const error = new UserError(`${what}\n${hint}`, failed.errno ? EXIT_CANNOT : EXIT_FAILED);
  error.stack = [failed.stack ?? "", ...log].join("\n");
  return error;
}
