/** Turns what the kernel side counted into tick deltas: drain, name, add up. */
import { hostname } from "node:os";
import counterFile from "../../bpf/counters.json" with { type: "json" };
import { COUNTER_IDS } from "../../build/abi.ts";
import { loadAddon } from "../addon/binding.ts";
import type { Drained, SampledTask } from "../addon/drained.ts";
import type { Sampler, SamplerOptions } from "../addon/sampler.ts";
import { FrameReader } from "../runtimes/frame-reader.ts";
import { FunctionTable } from "../runtimes/function-table.ts";
import { NewFrames } from "../runtimes/new-frames.ts";
import type { RuntimeReader } from "../runtimes/reader.ts";
import { runtimeReaders } from "../runtimes/registry.ts";
import { cleanName } from "../tick/clean-name.ts";
import type { CounterDefinition } from "../tick/source.ts";
import type { OwnCost, Task } from "../tick/tick.ts";
import type { FrameDetail, TickDelta, WireFrames } from "../tick/wire.ts";
import { type FrameLines, NativeLines } from "./native-lines.ts";
import { TargetWatch } from "./target-watch.ts";

export const COUNTERS: readonly CounterDefinition[] = counterFile.counters;

const { SamplesTaken: SAMPLES_TAKEN } = COUNTER_IDS;

/** What was drained since the last tick: a long refresh is drained several times. */
interface Gathered {
  seconds: number;
  samples: number;
  missed: number;
  bpfNanoseconds: number;
  readonly counters: Float64Array;
  readonly functions: Uint32Array<ArrayBuffer>[];
  readonly details: Map<number, FrameDetail>;
  readonly stacks: Uint32Array<ArrayBuffer>[];
  readonly counts: Uint32Array<ArrayBuffer>[];
  readonly tasks: Task[];
  firstFrame: number;
}

export class Collector {
  readonly #sampler: Sampler;
  readonly #functions = new FunctionTable();
  readonly #readers: readonly RuntimeReader[];
  readonly #frames: FrameReader;
  readonly #lines: NativeLines;
  readonly #host = cleanName(hostname());
  readonly #targets: TargetWatch;
  /** Nobody asks for lines then. */
  readonly #mergesStacks: boolean;
  #gathered: Gathered | undefined;
  #closed = false;
  #cpu = process.cpuUsage();
  #forgotten = { stacks: 0, frames: 0 };

  /** Loads the BPF programs and starts sampling; throws an Error with `errno` where that fails. */
  constructor(options: SamplerOptions) {
    const addon = loadAddon();
    this.#sampler = new addon.Sampler(options);
    this.#lines = new NativeLines(this.#sampler);
    this.#readers = runtimeReaders(addon, this.#sampler);
    this.#sampler.onMethods(() => this.#resolveSeen());
    this.#targets = new TargetWatch(options.targets);
    this.#mergesStacks = options.byFunction ?? false;
    this.#frames = new FrameReader(this.#readers, COUNTERS, this.#functions);
    // What the start cost is no part of the first refresh.
    this.#cpu = process.cpuUsage();
  }

  setTargets(pids: readonly number[]): void {
    this.#sampler.setTargets(pids);
    this.#targets.set(pids);
  }

  setFrequency(frequency: number): void {
    this.#sampler.setFrequency(frequency);
  }

  /** Source lines of the frames of a native function; see NativeLines. */
  lines(functionId: number | undefined): Promise<FrameLines> {
    return this.#lines.find(functionId);
  }

  close(): void {
    this.#closed = true;
    this.#sampler.close();
  }

  /** Takes what was counted since the last call, without making a tick of it. */
  drain(): void {
    const drained = this.#sampler.drain();
    const frames = new NewFrames(drained);
    this.#lines.forget(
      drained.forgottenFrames,
      drained.files.map(({ id }) => id),
    );
    for (const reader of this.#readers) reader.ingest?.(drained, frames);
    const named = this.#frames.read(frames);
    if (!this.#mergesStacks) this.#lines.learn(frames, named.functions);
    if (this.#readers.some((reader) => reader.hasNewNames?.())) this.#sampler.renew();
    let { stacks } = drained;
    for (const reader of this.#readers) {
      stacks = reader.mergeStacks?.(stacks) ?? stacks;
      reader.addCounts?.(drained.counters);
    }
    this.#gathered ??= emptyGathered(drained);
    gather(this.#gathered, drained, named, stacks);
    this.#forgotten = { stacks: drained.forgottenStacks, frames: drained.forgottenFrames };
  }

  /** Everything since the last tick. */
  tick(): TickDelta {
    this.drain();
    const gathered = this.#gathered as Gathered;
    this.#gathered = undefined;
    const { event, cpus, frequency } = this.#sampler.describe();
    const metrics: Record<string, number> = {};
    for (const { id, name } of COUNTERS) metrics[name] = gathered.counters[id] ?? 0;
    const gone = this.#targets.check();
    if (gone.changed) this.#sampler.setTargets(this.#targets.sampled());
    return {
      header: {
        time: Date.now(),
        intervalSeconds: gathered.seconds,
        event,
        frequency,
        cpus,
        host: this.#host,
        pids: this.#targets.wanted(),
        samples: gathered.samples,
        missed: gathered.missed,
        metrics,
        self: this.#ownCost(gathered),
        notices: [
          ...gone.notices,
          ...this.#readers.flatMap((reader) => reader.notices?.(metrics) ?? []),
        ],
      },
      functions: this.#functions.takeAdded(),
      firstFrame: gathered.firstFrame,
      frames: { functions: joined(gathered.functions), details: gathered.details },
      stacks: joined(gathered.stacks),
      counts: joined(gathered.counts),
      tasks: gathered.tasks,
      forgottenStacks: this.#forgotten.stacks,
      forgottenFrames: this.#forgotten.frames,
    };
  }

  #resolveSeen(): void {
    if (this.#closed) return;
    for (const reader of this.#readers) reader.resolveSeen?.();
  }

  #ownCost({ seconds, bpfNanoseconds, counters }: Gathered): OwnCost {
    const { user, system } = process.cpuUsage(this.#cpu);
    this.#cpu = process.cpuUsage();
    const bpfCpuPercent = bpfNanoseconds / 1e7 / seconds;
    const taken = counters[SAMPLES_TAKEN] ?? 0;
    return {
      cpuPercent: (user + system) / 1e4 / seconds + bpfCpuPercent,
      bpfCpuPercent,
      rssBytes: process.memoryUsage.rss(),
      bpfNanosecondsPerSample: taken > 0 ? Math.round(bpfNanoseconds / taken) : 0,
    };
  }
}

function emptyGathered({ counters, firstFrame }: Drained): Gathered {
  return {
    seconds: 0,
    samples: 0,
    missed: 0,
    bpfNanoseconds: 0,
    counters: new Float64Array(counters.length),
    functions: [],
    details: new Map(),
    stacks: [],
    counts: [],
    tasks: [],
    firstFrame,
  };
}

function gather(
  into: Gathered,
  drained: Drained,
  frames: WireFrames,
  stacks: Uint32Array<ArrayBuffer>,
): void {
  into.seconds += drained.seconds;
  into.samples += drained.samples;
  into.missed += drained.missed;
  into.bpfNanoseconds += drained.bpfNanoseconds;
  drained.counters.forEach((value, id) => {
    into.counters[id] = (into.counters[id] ?? 0) + value;
  });
  const firstTask = into.tasks.length;
  const before = into.functions.reduce((sum, part) => sum + part.length, 0);
  for (const [index, detail] of frames.details) into.details.set(before + index, detail);
  into.functions.push(frames.functions);
  into.stacks.push(stacks);
  // Tasks are numbered on from those gathered before.
  for (let at = 1; at < drained.counts.length; at += 3) {
    drained.counts[at] = (drained.counts[at] ?? 0) + firstTask;
  }
  into.counts.push(drained.counts);
  for (const task of drained.tasks) into.tasks.push(cleanTask(task));
}

function joined(parts: readonly Uint32Array<ArrayBuffer>[]): Uint32Array<ArrayBuffer> {
  const [only] = parts;
  if (only && parts.length === 1) return only;
  const whole = new Uint32Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

function cleanTask(task: SampledTask): Task {
  return { ...task, comm: cleanName(task.comm), thread: cleanName(task.thread) };
}
