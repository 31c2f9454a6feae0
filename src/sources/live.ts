/** Ticks of this machine, live. */
import { constants } from "node:os";
import { join } from "node:path";
import counterFile from "../../bpf/counters.json" with { type: "json" };
import { loadAddon } from "../addon/binding.ts";
import type { ResolvedEvent } from "../addon/events.ts";
import type { LookedUp } from "../collector/frame-lookup.ts";
import { compactSoon } from "../machine/engine.ts";
import { nativeFolder, samplingObject } from "../machine/native-folder.ts";
import { startOfProcess } from "../machine/process-start.ts";
import { TickAssembler, type TickDelta } from "../tick/delta.ts";
import { EXIT_CANNOT, EXIT_FAILED, UserError } from "../tick/errors.ts";
import type { EventName } from "../tick/events.ts";
import type { CounterDefinition, FrameFacts, SourceEvent, TickSource } from "../tick/source.ts";
import type { Store } from "../tick/store.ts";
import { Collecting, type CollectingSetup } from "./collecting.ts";

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
  /** Only what this thread of polytop's own starts from now on is sampled. */
  readonly followed?: number;
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

const { EPERM, EACCES } = constants.errno;

/** Starts sampling. Throws a UserError that says what this machine or user lacks. */
export function openLiveSource(options: LiveOptions): LiveSource {
  try {
    return new CollectedSource(setupOf(options));
  } catch (error) {
    throw startError(error as Error);
  }
}

function setupOf(options: LiveOptions): CollectingSetup {
  const { delaySeconds, firstDelaySeconds = delaySeconds, budgetPercent } = options;
  return {
    sampler: {
      objectPath: samplingObject(),
      sweepPath: join(nativeFolder(), "wait.bpf.o"),
      event: options.event,
      ...(options.events ? { events: options.events } : {}),
      ...(options.period === undefined ? {} : { period: options.period }),
      ...(options.prepared ? { prepared: options.prepared } : {}),
      ...(options.followed === undefined ? {} : { followed: options.followed }),
      frequency: options.frequency,
      targets: options.pids,
      byFunction: options.byFunction ?? false,
      cacheFolder: options.cacheFolder,
    },
    delaySeconds,
    firstDelaySeconds,
    ...(budgetPercent === undefined ? {} : { budgetPercent }),
  };
}

class CollectedSource implements LiveSource {
  readonly counters: readonly CounterDefinition[] = counterFile.counters;
  /** Rejects where sampling ends by itself. */
  readonly ended: Promise<void>;
  readonly #collecting: Collecting;
  readonly #addon = loadAddon();
  readonly #end = Promise.withResolvers<void>();
  readonly #assembler = new TickAssembler();
  readonly #listeners = new Set<(event: SourceEvent) => void>();
  /** What was looked up of one function's frames, by their numbers in the store of the latest tick. */
  readonly #facts = new Map<number, FrameFacts>();
  #factsOf: number | undefined;
  #closed: Promise<void> | undefined;
  #failure: UserError | undefined;

  constructor(setup: CollectingSetup) {
    this.ended = this.#end.promise;
    // Whoever waits for it hears of it.
    this.ended.catch(() => {});
    this.#collecting = new Collecting(setup, {
      tick: (delta) => this.#receive(delta),
      failed: (error) => this.#fail(error as Error),
    });
  }

  /** Nothing more will come, for the first reason that is told: whoever waits must know. */
  #fail({ message, stack }: Error): void {
    if (this.#closed || this.#failure) return;
    this.#failure = new UserError(`sampling has ended: ${firstLine(message)}`, EXIT_FAILED);
    if (stack !== undefined) this.#failure.stack = stack;
    this.#end.reject(this.#failure);
  }

  subscribe(listener: (event: SourceEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async setPids(pids: readonly number[]): Promise<string | undefined> {
    const missing = pids.filter((pid) => startOfProcess(pid) === undefined);
    if (missing.length > 0) return `no process has pid ${missing.join(", ")}`;
    return this.#ask(this.#collecting.setTargets(pids));
  }

  async flush(): Promise<void> {
    if (!this.#closed) await this.#ask(this.#collecting.flush());
  }

  async lookUp(functionId: number | undefined): Promise<string | undefined> {
    if (functionId !== this.#factsOf) this.#facts.clear();
    this.#factsOf = functionId;
    return this.#ask(this.#learnOf(functionId));
  }

  /** Resolves to why some lines are not known, or to nothing. */
  async #learnOf(functionId: number | undefined): Promise<string | undefined> {
    const found = await this.#collecting.lookUp(functionId);
    this.#learn(found);
    return found.why || undefined;
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

  watchWaits(): Promise<string | undefined> {
    return this.#ask(this.#collecting.watchWaits());
  }

  setEvents(events: readonly ResolvedEvent[]): Promise<string | undefined> {
    return this.#ask(this.#collecting.setEvents(events));
  }

  setInterval(seconds: number): void {
    this.#collecting.setSeconds(seconds);
  }

  close(): Promise<void> {
    // Among very many threads the end of each takes its time, and all are waited for.
    if (!this.#closed) this.#addon.endFirst();
    this.#closed ??= this.#collecting.close();
    return this.#closed;
  }

  #receive(delta: TickDelta): void {
    if (delta.renewed) this.#facts.clear();
    const tick = this.#assembler.assemble(delta);
    for (const listener of this.#listeners) listener({ tick });
    // The store before is held by nobody, or by few, and functions go with theirs.
    if (delta.forgotten) compactSoon();
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
  const told = new UserError(`${what}\n${hint}`, error.errno ? EXIT_CANNOT : EXIT_FAILED);
  told.stack = [error.stack ?? "", ...log].join("\n");
  return told;
}
