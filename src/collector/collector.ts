/** Turns what the kernel side counted into tick deltas: drain, name, add up. */
import { hostname } from "node:os";
import counterFile from "../../bpf/counters.json" with { type: "json" };
import type {
  AbiConstants,
  Drained,
  SampledTask,
  Sampler,
  SamplerOptions,
} from "../addon/sampler.ts";
import { loadAddon } from "../addon/sampler.ts";
import { DotnetNames } from "../runtimes/dotnet/names.ts";
import { FrameReader, FunctionTable, kernelFunction } from "../runtimes/frames.ts";
import { GeneratedCodeNames } from "../runtimes/generated-code.ts";
import { KernelSymbols } from "../runtimes/kernel.ts";
import { NativeNames } from "../runtimes/native.ts";
import { NewFrames } from "../runtimes/new-frames.ts";
import { PerlNames } from "../runtimes/perl.ts";
import { PerlStacks } from "../runtimes/perl-stacks.ts";
import { cleanName } from "../tick/clean-name.ts";
import { DeltaWriter, type TickDelta } from "../tick/delta.ts";
import type { CounterDefinition } from "../tick/source.ts";
import type { OwnCost, Task } from "../tick/tick.ts";
import { DrainedStacks } from "./drained-stacks.ts";
import { type FrameLines, NativeLines } from "./native-lines.ts";
import { TargetWatch } from "./target-watch.ts";

export const COUNTERS: readonly CounterDefinition[] = counterFile.counters;

const idOf = (name: string): number => COUNTERS.find((it) => it.name === name)?.id ?? 0;
const SAMPLES_TAKEN = idOf("SamplesTaken");
const UNPAIRED = idOf("UnwindPerlUnpaired");

/** What was drained since the last tick: a long refresh is drained several times. */
interface Gathered {
  seconds: number;
  samples: number;
  missed: number;
  bpfNanoseconds: number;
  readonly counters: Float64Array;
}

export class Collector {
  readonly #sampler: Sampler;
  readonly #abi: AbiConstants;
  readonly #native: NativeNames;
  readonly #perl: PerlNames;
  readonly #perlStacks: PerlStacks;
  readonly #dotnet: DotnetNames;
  readonly #generated = new GeneratedCodeNames();
  readonly #functions = new FunctionTable();
  readonly #reader: FrameReader;
  readonly #lines: NativeLines;
  readonly #host = cleanName(hostname());
  readonly #targets: TargetWatch;
  /** Nobody asks for lines then. */
  readonly #mergesStacks: boolean;
  readonly #writer = new DeltaWriter();
  readonly #stacks: DrainedStacks;
  #gathered: Gathered | undefined;
  #closed = false;
  #cpu = process.cpuUsage();

  /** Loads the BPF programs and starts sampling; throws an Error with `errno` where that fails. */
  constructor(options: SamplerOptions) {
    const addon = loadAddon();
    this.#abi = addon.constants;
    this.#sampler = new addon.Sampler(options);
    this.#native = new NativeNames(this.#sampler);
    this.#lines = new NativeLines(this.#sampler, addon.constants);
    this.#perl = new PerlNames(addon.constants.perl);
    this.#perlStacks = new PerlStacks(addon.constants);
    this.#dotnet = new DotnetNames(this.#sampler);
    this.#sampler.onMethods(() => this.#resolveMethods());
    this.#targets = new TargetWatch(options.targets);
    this.#mergesStacks = options.byFunction ?? false;
    this.#stacks = new DrainedStacks(this.#writer, this.#mergesStacks);
    const kernel = new KernelSymbols(addon);
    const namers = {
      native: (file: number, offset: number) =>
        this.#dotnet.holds(file, offset)
          ? this.#dotnet.image(file, offset)
          : this.#native.name(file, offset),
      kernel: (address: bigint) => kernelFunction(kernel.resolve(address)),
      dotnet: (word: bigint, pid: number) => this.#dotnet.name(word, pid),
      anonymous: (pid: number, address: bigint) => this.#generated.name(pid, address),
      perl: (name: bigint, meta: number, line: number) => this.#perl.read(name, meta, line),
    };
    this.#reader = new FrameReader(addon.constants, COUNTERS, namers, this.#functions);
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
    return this.#lines.find(functionId, this.#stacks);
  }

  close(): void {
    this.#closed = true;
    this.#sampler.close();
  }

  /** Takes what was counted since the last call, without making a tick of it. */
  drain(): void {
    const drained = this.#sampler.drain();
    this.#native.learn(drained.files);
    const files = drained.files.map((it) => it.id);
    this.#lines.forget(drained.forgottenFrames, files);
    this.#perl.learn(drained);
    const frames = new NewFrames(drained, this.#abi);
    this.#perlStacks.learn(drained.files, frames, drained.forgottenFrames);
    this.#dotnet.learn(drained.files);
    this.#dotnet.resolveSeen();
    const named = this.#reader.read(frames);
    if (!this.#mergesStacks) this.#lines.learn(frames, named.functions);
    if (this.#generated.hasNewNames()) this.#sampler.renew();
    this.#stacks.registerFrames(drained.firstFrame, named);
    this.#stacks.registerStacks(this.#perlStacks.merge(drained.stacks));
    this.#count(drained);
    this.#stacks.forgetBelow(drained.forgottenStacks, drained.forgottenFrames);
    this.#gathered ??= emptyGathered(drained);
    gather(this.#gathered, drained);
    const counters = this.#gathered.counters;
    counters[UNPAIRED] = (counters[UNPAIRED] ?? 0) + this.#perlStacks.takeUnpaired();
  }

  #count({ counts, tasks }: Drained): void {
    const numbers = tasks.map((task) => this.#writer.task(cleanTask(task)));
    for (let at = 0; at + 2 < counts.length; at += 3) {
      const stack = this.#stacks.stack(counts[at] ?? 0);
      const task = numbers[counts[at + 1] ?? 0];
      if (stack === undefined || task === undefined) continue;
      this.#writer.count(stack, task, counts[at + 2] ?? 0);
    }
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
    return this.#writer.take(
      {
        time: Date.now(),
        intervalSeconds: gathered.seconds,
        event,
        unit: "samples",
        frequency,
        cpus,
        host: this.#host,
        pids: this.#targets.wanted(),
        samples: gathered.samples,
        missed: gathered.missed,
        metrics,
        self: this.#ownCost(gathered),
        notices: [...gone.notices, ...this.#dotnet.notices(), ...this.#perl.notices(metrics)],
      },
      this.#functions.takeAdded(),
    );
  }

  #resolveMethods(): void {
    if (!this.#closed) this.#dotnet.resolveSeen();
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

const emptyGathered = ({ counters }: Drained): Gathered => ({
  seconds: 0,
  samples: 0,
  missed: 0,
  bpfNanoseconds: 0,
  counters: new Float64Array(counters.length),
});

function gather(into: Gathered, drained: Drained): void {
  into.seconds += drained.seconds;
  into.samples += drained.samples;
  into.missed += drained.missed;
  into.bpfNanoseconds += drained.bpfNanoseconds;
  drained.counters.forEach((value, id) => {
    into.counters[id] = (into.counters[id] ?? 0) + value;
  });
}

function cleanTask(task: SampledTask): Task {
  return { ...task, comm: cleanName(task.comm), thread: cleanName(task.thread) };
}
