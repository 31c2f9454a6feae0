/** Turns what the kernel side counted into ticks: drain, name, add up. */
import { availableParallelism, hostname } from "node:os";
import counterFile from "../../bpf/counters.json" with { type: "json" };
import { COUNTER_IDS } from "../../build/abi.ts";
import { loadAddon } from "../addon/binding.ts";
import type { Drained } from "../addon/drained.ts";
import type { ResolvedEvent } from "../addon/events.ts";
import type { Sampler, SamplerOptions } from "../addon/sampler.ts";
import { samplingObject, waitObject } from "../machine/native-folder.ts";
import { inTurns } from "../machine/steps.ts";
import { FrameReader } from "../runtimes/frame-reader.ts";
import { FunctionTable } from "../runtimes/function-table.ts";
import { NewFrames } from "../runtimes/new-frames.ts";
import type { RuntimeReader } from "../runtimes/reader.ts";
import { runtimeReaders } from "../runtimes/registry.ts";
import { cleanName } from "../tick/clean-name.ts";
import { CPU_TIME, EVENTS, type EventName, type EventRow } from "../tick/events.ts";
import { type CounterDefinition, zerosOf } from "../tick/source.ts";
import type { EventInfo, OwnCost, Tick } from "../tick/tick.ts";
import { TickWriter } from "../tick/tick-writer.ts";
import type { Activity } from "../tick/waits.ts";
import { Ancestors } from "./ancestors.ts";
import { DrainedStacks } from "./drained-stacks.ts";
import { DrainedTasks } from "./drained-tasks.ts";
import { CountedEvents, isProbe } from "./events.ts";
import { FrameLookup, type LookedUp } from "./frame-lookup.ts";
import { emptyGathered, type Gathered, gather } from "./gathered.ts";
import { ProcessReader } from "./process-facts.ts";
import { TargetWatch } from "./target-watch.ts";
import { DrainedWaits } from "./waits.ts";

export const COUNTERS: readonly CounterDefinition[] = counterFile.counters;

const { SamplesTaken: SAMPLES_TAKEN } = COUNTER_IDS;

const TOO_MANY_FUNCTIONS = "more new functions ran than are told apart";

/** The count maps are sized for drains that are no further apart. */
export const MAX_DRAIN_SECONDS = 1;

/** What is sampled, and how. */
export interface CollectorOptions
  extends Pick<SamplerOptions, "frequency" | "byFunction" | "cacheFolder"> {
  /** Whose time is counted, where any is. */
  readonly event: EventName;
  /** What is counted, in the order of the columns; missing: the time alone. */
  readonly events?: readonly ResolvedEvent[];
  /** Every so-many-th hit of an event is looked at; missing: as many as the frequency says. */
  readonly period?: number;
  /** Only these processes are sampled; none: all. */
  readonly pids: readonly number[];
  /** Only what this thread of polytop's own starts from now on is sampled. */
  readonly followed?: number;
  /** Files that are about to be run. */
  readonly prepared?: readonly string[];
  /** Command lines are told with their arguments, unless this is false. */
  readonly arguments?: boolean;
}

export class Collector {
  readonly #event: EventRow;
  readonly #sampler: Sampler;
  readonly #functions = new FunctionTable();
  readonly #readers: readonly RuntimeReader[];
  readonly #frames: FrameReader;
  readonly #lookup: FrameLookup;
  readonly #host = cleanName(hostname());
  readonly #targets: TargetWatch;
  /** Nobody asks for lines then. */
  readonly #mergesStacks: boolean;
  readonly #writer = new TickWriter();
  readonly #stacks: DrainedStacks;
  readonly #tasks: DrainedTasks;
  readonly #waits: DrainedWaits;
  readonly #events: CountedEvents;
  readonly #ancestors: Ancestors;
  #activity: Activity;
  #gathered: Gathered | undefined;
  #isDraining = false;
  /** Methods were met while something was drained. */
  #isResolvingAsked = false;
  #closed = false;
  #sweeps = false;
  /** Stacks of events a second on each CPU at most. */
  #frequency: number;
  /** What the process and its children took until the latest tick. */
  #cpu = process.cpuUsage();
  #childNanoseconds: number;

  /** Loads the BPF programs and starts sampling; throws an Error with `errno` where that fails. */
  constructor(options: CollectorOptions) {
    const { event, frequency, period = 0, pids, byFunction = false, cacheFolder } = options;
    const addon = loadAddon();
    this.#event = EVENTS[event];
    this.#activity = this.#event.activity;
    this.#frequency = frequency;
    const time: ResolvedEvent = { name: event, unit: this.#event.unit };
    this.#events = new CountedEvents(options.events ?? [time], { period, frequency });
    this.#sampler = new addon.Sampler({
      objectPath: samplingObject(),
      frequency,
      drainSeconds: MAX_DRAIN_SECONDS,
      targets: pids,
      byFunction,
      ...(cacheFolder === undefined ? {} : { cacheFolder }),
      // A screen may look at what runs the next moment.
      withoutClock: (this.#activity === "waiting" && byFunction) || !this.#events.hasClock,
      events: this.#events.numbered(),
      ...(this.#activity === "running" ? {} : { sweepPath: waitObject() }),
      sources: this.#event.sources,
    });
    this.#readers = runtimeReaders(addon, this.#sampler, !byFunction);
    this.#lookup = new FrameLookup(this.#sampler, (word, owner) => this.#bodyOf(word, owner));
    this.#sampler.onMethods(() => this.#resolveSeen());
    this.#targets = new TargetWatch(pids);
    this.#mergesStacks = byFunction;
    this.#frames = new FrameReader(this.#readers, COUNTERS, this.#functions);
    this.#stacks = new DrainedStacks(
      this.#writer,
      this.#mergesStacks,
      (id) => this.#events.areOthers && isProbe(this.#functions.info(id)),
    );
    this.#tasks = new DrainedTasks(this.#writer, new ProcessReader(options.arguments ?? true));
    this.#waits = new DrainedWaits(this.#writer, this.#stacks, this.#tasks, this.#functions.info);
    this.#ancestors = new Ancestors(this.#writer);
    if (this.#activity !== "running") this.#sweep(true);
    if (options.prepared) this.#sampler.prepare(options.prepared);
    if (options.followed !== undefined) this.#sampler.follow(options.followed);
    // What the start cost is no part of the first refresh.
    this.#cpu = process.cpuUsage();
    this.#childNanoseconds = this.#sampler.describe().childNanoseconds;
  }

  /** Samples these alone from now on, though ticks still say what was asked for before: setTargets() comes next. */
  narrow(pids: readonly number[]): void {
    this.#sampler.setTargets(pids);
  }

  setTargets(pids: readonly number[]): void {
    this.#sampler.setTargets(pids);
    this.#targets.set(pids);
  }

  /** Looks at threads that wait too, from now on. Throws an Error with `errno` where this machine cannot. */
  watchWaits(): void {
    if (!this.#sweeps) this.#sweep(false);
  }

  /** Counts these from now on, and nothing else. Throws an Error where one cannot be had; nothing has changed then. */
  setEvents(events: readonly ResolvedEvent[]): void {
    const before = this.#events.asked;
    this.#events.set(events);
    try {
      this.#sampler.setEvents(this.#events.numbered(), this.#events.hasClock);
    } catch (error) {
      this.#events.set(before);
      throw error;
    }
  }

  #sweep(isPrepared: boolean): void {
    this.#sampler.sweep(waitObject(), isPrepared);
    this.#sweeps = true;
  }

  setFrequency(frequency: number): void {
    this.#frequency = frequency;
    this.#sampler.setFrequency(frequency);
  }

  /** Looks up the frames of a function; see FrameLookup. */
  lookUp(functionId: number | undefined): Promise<LookedUp> {
    return this.#lookup.find(functionId, this.#stacks);
  }

  #bodyOf(word: bigint, owner: number): string | undefined {
    for (const reader of this.#readers) {
      const body = reader.bodyOf?.(word, owner);
      if (body !== undefined) return cleanName(body);
    }
    return undefined;
  }

  close(): void {
    this.#closed = true;
    this.#sampler.close();
  }

  /** For how long it was sampled since the last drain, or since sampling began. */
  sampledSeconds(): number {
    return this.#sampler.describe().sampledSeconds;
  }

  /**
   * Takes what was counted since the last call, without making a tick of it. Nothing else may be asked for until that is
   * done.
   */
  async drain(): Promise<void> {
    this.#isDraining = true;
    try {
      await this.#ingest(await this.#sampler.drain());
    } finally {
      this.#isDraining = false;
    }
    // What was met while frames were named may be gone at the next drain.
    if (this.#isResolvingAsked) this.#resolveSeen();
  }

  async #ingest(drained: Drained): Promise<void> {
    const frames = new NewFrames(drained);
    this.#lookup.forget(
      drained.forgottenFrames,
      drained.files.map(({ id }) => id),
    );
    for (const reader of this.#readers) reader.ingest?.(drained, frames);
    for (const reader of this.#readers) {
      if (reader.readAhead) await inTurns(reader.readAhead(frames));
    }
    const named = await inTurns(this.#frames.read(frames));
    if (!this.#mergesStacks) this.#lookup.registerFrames(frames, named.functions);
    this.#stacks.registerFrames(drained.firstFrame, named);
    this.#stacks.registerStacks(drained.stacks);
    this.#tasks.register(drained.tasks);
    this.#stacks.rename(this.#frames.renamed(this.#tasks.pidsOf(drained.counts, drained.waits)));
    this.#writer.addFunctions(this.#functions.takeAdded());
    this.#waits.register(drained);
    this.#count(drained);
    this.#stacks.forgetBelow(drained.forgottenStacks, drained.forgottenFrames);
    for (const reader of this.#readers) reader.forgetBelow?.(drained.forgottenFrames);
    this.#gathered ??= emptyGathered(drained);
    gather(this.#gathered, drained);
  }

  #count(drained: Drained): void {
    const { stacks, tasks, events, weights } = drained.counts;
    this.#waits.count(drained);
    const { length } = weights;
    for (let i = 0; i < length; i++) {
      const stack = this.#stacks.stack(stacks[i] ?? 0);
      const task = this.#tasks.number(tasks[i] ?? 0);
      const event = this.#events.placeOf(events[i] ?? 0);
      if (stack === undefined || task === undefined || event === undefined) continue;
      this.#writer.count(stack, task, weights[i] ?? 0, event);
      this.#events.add(event, weights[i] ?? 0);
    }
    this.#ancestors.enterAbove(this.#tasks.takeEntered());
    this.#events.gather(drained);
  }

  /**
   * Whether what was drained since the last tick makes one. Where waits alone are looked at, threads must have been
   * visited: visits of very many are further apart than refreshes, and a refresh between two would say that none waits.
   */
  isReady(): boolean {
    return this.#activity !== "waiting" || this.#waits.hasSweeps;
  }

  /** Makes a tick of what was drained since the last one; something was. */
  take(): Tick {
    const gathered = this.#gathered as Gathered;
    this.#gathered = undefined;
    this.#tasks.beginRefresh();
    const running = this.#sampler.describe();
    const { event, cpus: sampled, frequency } = running;
    // Where nothing that runs is sampled, no event says how many there are.
    const cpus = sampled || availableParallelism();
    const metrics = metricsOf(gathered.counters);
    const lost = gathered.counters[COUNTER_IDS.WaitLostNanoseconds] ?? 0;
    const { events, notices } = this.#events.take();
    const gone = this.#targets.check();
    if (gone.changed) this.#sampler.setTargets(this.#targets.sampled());
    return this.#writer.take({
      time: gathered.time,
      intervalSeconds: gathered.seconds,
      ...this.#ofFirst(events, event, gathered),
      frequency: this.#events.hasClock || this.#sweeps ? frequency : this.#frequency,
      cpus,
      host: this.#host,
      pids: this.#targets.wanted(),
      metrics,
      self: this.#ownCost(gathered, running),
      ...(this.#activity === "running" ? {} : { activity: this.#activity }),
      ...(this.#sweeps ? { waiting: this.#waits.take(lost) } : {}),
      notices: [
        ...gone.notices,
        ...notices,
        ...gathered.notices,
        ...(this.#functions.isFull ? [TOO_MANY_FUNCTIONS] : []),
        ...this.#readers.flatMap((reader) => reader.notices?.(metrics) ?? []),
      ],
    });
  }

  /**
   * Forgets the functions of which no frame is left, where there are many; says whether there were. A new store begins,
   * which knows none yet. Frames are met anew, so that the next time none is left of functions that came before this one.
   */
  forgetFunctions(): boolean {
    const now = performance.now();
    if (!this.#functions.isLarge(now)) return false;
    const forgotten = this.#functions.forget(this.#stacks.functions(), now);
    this.#sampler.renewFrames(this.#frames.forget());
    this.#writer.renew(forgotten);
    return forgotten.length > 0;
  }

  /** What a tick says of its first event; `clock` is what the CPU's time is sampled by. */
  #ofFirst(events: readonly EventInfo[], clock: string, { samples, missed }: Gathered) {
    const [first] = events;
    if (!this.#events.areOthers || !first) {
      return { event: clock, unit: this.#event.unit, samples, missed };
    }
    return {
      event: first.name === CPU_TIME ? clock : first.name,
      unit: first.unit,
      samples: first.samples,
      missed: first.missed,
      events,
    };
  }

  #resolveSeen(): void {
    this.#isResolvingAsked = this.#isDraining;
    if (this.#closed || this.#isDraining) return;
    for (const reader of this.#readers) reader.resolveSeen?.();
  }

  /** What readers asked of children behind the drain is a part of it, as is their own time. */
  #ownCost(
    gathered: Gathered,
    { tickNanoseconds, childNanoseconds }: ReturnType<Sampler["describe"]>,
  ): OwnCost {
    const { seconds, bpfNanoseconds, ticks, counters } = gathered;
    const { user, system } = process.cpuUsage(this.#cpu);
    this.#cpu = process.cpuUsage();
    // A child that ended meanwhile may be told to have taken a little less than it said of itself.
    const ofChildren = Math.max(0, childNanoseconds - this.#childNanoseconds);
    this.#childNanoseconds = childNanoseconds;
    const percent = (nanoseconds: number): number => nanoseconds / 1e7 / seconds;
    const parts = {
      processPercent: percent((user + system) * 1000),
      childrenPercent: percent(ofChildren),
      ticksPercent: percent(ticks * tickNanoseconds),
      tickNanoseconds,
    };
    const bpfCpuPercent = percent(bpfNanoseconds);
    const taken = counters[SAMPLES_TAKEN] ?? 0;
    return {
      cpuPercent: parts.processPercent + parts.childrenPercent + bpfCpuPercent + parts.ticksPercent,
      bpfCpuPercent,
      rssBytes: process.memoryUsage.rss(),
      bpfNanosecondsPerSample: taken > 0 ? Math.round(bpfNanoseconds / taken) : 0,
      parts,
    };
  }
}

const NO_METRICS = zerosOf(COUNTERS);

/** Increments of counters by their names; most stand still. */
function metricsOf(counters: Float64Array): Record<string, number> {
  const metrics = { ...NO_METRICS };
  for (const { id, name } of COUNTERS) {
    const value = counters[id] ?? 0;
    if (value !== 0) metrics[name] = value;
  }
  return metrics;
}
