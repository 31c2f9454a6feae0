/** The sampler of the addon. */

import type { EventSource } from "../tick/events.ts";
import type { Drained, SeenMethod } from "./drained.ts";
import type { NumberedEvent } from "./events.ts";

/** Source lines of some code of a file. */
export interface FoundLines {
  /** Paths as the debug information spells them; index 0 stands for none. */
  readonly files: readonly string[];
  /** Two words for each offset that was asked for: index in `files`, line (0: unknown). */
  readonly lines: Uint32Array;
  /** Why there are no lines at all; empty if there are some. */
  readonly why: string;
}

export interface SamplerOptions {
  readonly objectPath: string;
  /** The first that can be had is sampled. */
  readonly sources: readonly EventSource[];
  /** Samples a second on each CPU. */
  readonly frequency: number;
  /** Longest time between two drains, in seconds. */
  readonly drainSeconds: number;
  readonly targets: readonly number[];
  /** The CPU's time is not sampled once the start is over. */
  readonly withoutClock?: boolean;
  /** Other events. */
  readonly events?: readonly NumberedEvent[];
  /** The BPF object that visits waiting threads, where sweep() comes next: it is loaded beside the rest of the start. */
  readonly sweepPath?: string;
  /** Stacks of the same functions are one, wherever in these they are; nothing tells addresses apart then. */
  readonly byFunction?: boolean;
  /** In which folder what was made of files is kept from run to run; nowhere where it is left out. */
  readonly cacheFolder?: string;
}

/** A function of a file that has no name. */
export interface UnnamedFunction {
  /** Where it begins, as an address of the file's headers; 0: not known. */
  readonly address: number;
  /** Not 0: the code up to this address may be several functions, of which neither a symbol nor an unwind entry tells. */
  readonly end: number;
  /** Why it has no name though there may be a symbol for it; empty: there is none. */
  readonly why: string;
}

/** A running sampler; samples from its construction to close(). */
export interface Sampler {
  /**
   * Takes what was sampled since the last call. That takes some 10 ms on another thread, as it waits for runs of the BPF
   * programs to end, and longer where it waits for the symbols of a large file. Any other call waits for it.
   */
  drain(): Promise<Drained>;
  /**
   * Visits waiting threads too from now on, by the BPF object at a path; an empty one ends that. With
   * `isPrepared`, files of what waits are read before anything is counted, which takes up to a second.
   */
  sweep(objectPath: string, isPrepared: boolean): void;
  /** Reads files that are about to be run, so that their first sample is as good as others; takes up to three seconds. */
  prepare(paths: readonly string[]): void;
  /** Samples only what a thread of this process starts from now on, and what that starts, from its first instruction. */
  follow(tid: number): void;
  /** Counts these events from now on, and no others; the CPU's time too, or not. Throws an error with `errno`. */
  setEvents(events: readonly NumberedEvent[], withClock: boolean): void;
  /** Narrows sampling to these processes; none: all. */
  setTargets(pids: readonly number[]): void;
  /** Sets the samples a second on each CPU, at most those of the start. */
  setFrequency(frequency: number): void;
  /**
   * Numbers frames anew with the next drain; those that are met no more are forgotten with the renewal behind it. The
   * functions of all numbers but these were forgotten already.
   */
  renewFrames(functions: Uint32Array): void;
  /** Names the function at a file offset, or says what is known of it without a name. */
  name(file: number, offset: number): string | UnnamedFunction;
  /**
   * Names addresses of the kernel's code as it does in its own messages: `name+0x1a/0x50 [module]`, and an address where
   * it knows no function. Empty texts before Linux 5.13, which does not tell.
   */
  nameKernel(addresses: BigUint64Array): readonly string[];
  /** Reads bytes of another process's memory; shorter than `size` where a page is missing, at most 64 MB. */
  readMemory(pid: number, address: bigint, size: number): Buffer;
  /** Calls back soon after .NET methods were met for the first time. */
  onMethods(callback: () => void): void;
  /** Reads bytes of a sampled file, shorter where it ends; with a name: of the file of that name in its folder. */
  readFile(file: number, offset: number, size: number, name?: string): Buffer;
  /** The user that a sampled file belongs to; root where the file is not known any more. */
  fileOwner(file: number): number;
  /**
   * What was kept of the part of a sampled file that begins at an offset, in this run or an earlier one, by the same
   * maker: a text that tells the code that makes and reads it from others. Empty where nothing is kept, and where the
   * file was written to since.
   */
  kept(file: number, offset: number, maker: string): Buffer;
  /** Keeps bytes for kept(), beside; not where `cacheFolder` was left out, or nothing tells when the file changes. */
  keep(file: number, offset: number, maker: string, bytes: Buffer): void;
  /** Finds the id of the file that a method is in; 0 while the file is not known. */
  fileId(key: BigUint64Array): number;
  /** Finds the number of a frame of a process by its word; 0 if it has none. */
  frameNumber(word: bigint, pid: number): number;
  /** Takes the methods that were met since the last call. */
  takeMethods(): readonly SeenMethod[];
  /**
   * Tells what the walk must know to find who awaits, in rows of words: MethodTable, pid, space, name, machine, link,
   * flags, next, second, task flags, state, machine at of types (struct dotnet_type); place, pid (0: of a file), shift,
   * space, role of methods (struct dotnet_role_key and enum dotnet_role).
   */
  tellDotnet(types: BigUint64Array, roles: BigUint64Array): void;
  /** Looks up source lines at offsets of a file by its DWARF line table, beside; file 0 frees what was read. */
  lines(file: number, offsets: Float64Array): Promise<FoundLines>;
  describe(): {
    readonly event: string;
    readonly cpus: number;
    readonly frequency: number;
    /** What a tick costs the code that it interrupts, without the BPF program; 0: not known. */
    readonly tickNanoseconds: number;
    /** For how long it was sampled since the last drain, or since sampling began. */
    readonly sampledSeconds: number;
    /** CPU time of the child processes of polytop until now, less that of commands. */
    readonly childNanoseconds: number;
  };
  close(): void;
}
