/**
 * The addon as TypeScript sees it. The only importer of it: everything that the kernel side
 * counted enters here.
 */
import { createRequire } from "node:module";

/** A file that samples hit, once it was looked at. */
export interface SampledFile {
  readonly id: number;
  readonly path: string;
  readonly state: "pending" | "ready" | "no-table" | "no-elf" | "unreadable" | "no-room";
  /** What is wrong with it, empty if nothing is. */
  readonly why: string;
  /** The Perl interpreter in it, if it holds one. */
  readonly perl?: PerlInterpreter;
  /** What it holds: an interpreter, a .NET runtime, a precompiled .NET assembly. */
  readonly runtime: "" | "perl" | "dotnet" | "dotnet-image";
  /** Why the runtime in it is not understood, where it holds one that is not. */
  readonly refused?: string;
  /** .NET assemblies in it, by ascending offset; for each: offset, size. */
  readonly assemblies: Float64Array;
}

/** File offsets: the first, and the one behind the last. */
export type CodeRange = readonly [start: number, end: number];

/** A Perl interpreter in a file. */
export interface PerlInterpreter {
  /** Of the map of interpreters; given to another one when the file is forgotten. */
  readonly index: number;
  readonly version: string;
  /** What its reader must know of the version, empty if nothing. */
  readonly warning: string;
  /** Its subs are not shown. */
  readonly refused: boolean;
  /** By op number. */
  readonly opNames: readonly string[];
  readonly code: {
    readonly runLoops: readonly CodeRange[];
    readonly run: CodeRange;
    readonly parse: CodeRange;
    readonly destruct: CodeRange;
    readonly callSub: CodeRange;
    readonly callList: CodeRange;
  };
}

/** A string of a Perl process. */
export interface PerlString {
  /** `AbiConstants.perl.latin1`, `.utf8`, or another: bytes. */
  readonly encoding: number;
  /** In bytes; `bytes` are less where it was cut. */
  readonly length: number;
  readonly bytes: Uint8Array;
}

/** The strings behind a Perl frame. */
export interface PerlName {
  readonly name: bigint;
  readonly kind: number;
  readonly flags: number;
  readonly sub: PerlString;
  readonly package: PerlString;
  readonly file: PerlString;
}

/** A .NET method at its first sight in a process. */
export interface SeenMethod {
  readonly word: bigint;
  /** 0: precompiled, in the image at `image`. */
  readonly methodDesc: bigint;
  /** Address of its image, 0 if it is not known. */
  readonly image: bigint;
  /** Its row in the metadata of the image, 0 if it is not known. */
  readonly row: number;
  /** The file that holds the image, for fileId(), all 0 if none does; and where in it the image is. */
  readonly imageFile: BigUint64Array;
  readonly imageOffset: number;
  /** Address of the runtime less that in its file's headers. */
  readonly bias: bigint;
  /** Identifies the address space: exec makes another. */
  readonly space: bigint;
  readonly pid: number;
  /** Of the runtime: its version, and the address of its contract descriptor in the file's headers (0: none). */
  readonly major: number;
  readonly descriptor: bigint;
  /** Of a dynamic method. */
  readonly name: Uint8Array;
}

/** A thread that was sampled, its names as the process chose them. */
export interface SampledTask {
  readonly pid: number;
  readonly tid: number;
  readonly parentPid: number;
  readonly uid: number;
  readonly cgroup: string;
  /** Milliseconds since boot. */
  readonly startTime: number;
  readonly comm: string;
  readonly thread: string;
}

/** What was sampled since the last drain. Numbers of stacks and frames only grow. */
export interface Drained {
  readonly seconds: number;
  readonly samples: number;
  readonly missed: number;
  readonly bpfNanoseconds: number;
  /** Increments by counter id. */
  readonly counters: Float64Array;
  /** For each: stack number, index in `tasks`, count. */
  readonly counts: Uint32Array<ArrayBuffer>;
  readonly tasks: readonly SampledTask[];
  /**
   * New stacks; for each: number, outcome | Perl frame count << 8, count of all frames, numbers of the
   * frames (leaf first), numbers of the Perl frames (innermost first).
   */
  readonly stacks: Uint32Array<ArrayBuffer>;
  /** Number of the first of `frames`. */
  readonly firstFrame: number;
  /** New frames, as bpf/abi.h defines a frame word. */
  readonly frames: BigUint64Array;
  /**
   * For each of `frames`: the number of its function, from 1 on as functions are met; 0 if its start is not known or
   * it is no file's. A number is never given to another function.
   */
  readonly functions: Uint32Array;
  /** For each of `frames`: meta << 32 | line of a Perl frame, or a mark of user space; else 0. */
  readonly extras: BigUint64Array;
  readonly perlNames: readonly PerlName[];
  /** The kernel side names everything anew from here on. */
  readonly renewed: boolean;
  /** For each of `frames`: the process that it means something in, 0 for all. */
  readonly owners: Uint32Array;
  /** Stacks and frames with lower numbers will not be referred to again. */
  readonly forgottenStacks: number;
  readonly forgottenFrames: number;
  readonly files: readonly SampledFile[];
}

/** Source lines of some code of a file. */
export interface FoundLines {
  /** As the debug information spells them; index 0 stands for none. */
  readonly files: readonly string[];
  /** For each offset that was asked for: index in `files`, line (0: unknown). */
  readonly lines: Uint32Array;
  /** Why there are no lines at all; empty if there are some. */
  readonly why: string;
}

export interface SamplerOptions {
  readonly objectPath: string;
  readonly frequency: number;
  /** Longest time between two drains, in seconds. */
  readonly drainSeconds: number;
  readonly targets: readonly number[];
  /** Stacks of the same functions are one, wherever in these they are; nothing tells addresses apart then. */
  readonly byFunction?: boolean;
}

/** A running sampler; samples from its construction to close(). */
export interface Sampler {
  /** Blocks for some 10 ms: waits for the kernel's runs that are under way. */
  drain(): Drained;
  /** Makes all stacks and frames new from the next drain on: what is known of them has changed. */
  renew(): void;
  setTargets(pids: readonly number[]): void;
  /** Samples a second on each CPU from now on, at most those of the start. */
  setFrequency(frequency: number): void;
  /** Function at a file offset: its name (empty: no symbol) and its address in the file's headers (0: unknown). */
  name(file: number, offset: number): readonly [name: string, address: number];
  /** Bytes of another process's memory; shorter than `size` where a page is missing, at most 64 MB. */
  readMemory(pid: number, address: bigint, size: number): Buffer;
  /** Calls back soon after .NET methods were met for the first time. */
  onMethods(callback: () => void): void;
  /** Bytes of a sampled file, shorter where it ends; with a name: of the file of that name in its folder. */
  readFile(file: number, offset: number, size: number, name?: string): Buffer;
  /** The id of a file that a method is in; 0 while the file is not known. */
  fileId(key: BigUint64Array): number;
  takeMethods(): readonly SeenMethod[];
  /** Source lines at offsets of a file, by its DWARF line table, read beside; file 0 frees what was read. */
  lines(file: number, offsets: Float64Array): Promise<FoundLines>;
  describe(): {
    readonly event: string;
    readonly cpus: number;
    readonly frequency: number;
    readonly rows: number;
    readonly filesPending: number;
  };
  close(): void;
}

/** The constants of bpf/abi.h that are needed to read frames. */
export interface AbiConstants {
  readonly frameKindShift: number;
  readonly frameFileShift: number;
  readonly kindNative: number;
  readonly kindAnonymous: number;
  readonly kindStop: number;
  readonly kindDotnet: number;
  readonly kindKernel: number;
  readonly outcomeComplete: number;
  readonly outcomeTruncated: number;
  readonly outcomeBroken: number;
  readonly perl: PerlConstants;
}

/** The constants of bpf/perl/abi.h. */
export interface PerlConstants {
  readonly sub: number;
  readonly format: number;
  readonly eval: number;
  readonly main: number;
  readonly xsub: number;
  readonly xsubCode: number;
  readonly cut: number;
  readonly stop: number;
  readonly folded: number;
  readonly native: number;
  readonly kindMask: number;
  readonly stackShift: number;
  readonly stackMask: number;
  readonly opShift: number;
  readonly opMask: number;
  readonly fileShift: number;
  readonly nameLexical: number;
  readonly nameNone: number;
  readonly nameNoStash: number;
  readonly utf8: number;
  readonly latin1: number;
}

/** The functions of the kernel by address, as native/kernel_symbols.h describes them. */
export interface KernelSymbolColumns {
  /** Ascending, each once: the lower half. */
  readonly addresses: Uint32Array;
  /** Where in `text` the name begins; it ends before a line feed. */
  readonly names: Uint32Array;
  /** Index in `modules`; 0: no function begins here, the code before it ends. */
  readonly owners: Uint16Array;
  /** 1: the padding in front of the function of that name. */
  readonly paddings: Uint8Array;
  readonly modules: readonly string[];
  readonly text: Buffer;
}

export interface Addon {
  readonly Sampler: new (options: SamplerOptions) => Sampler;
  readonly constants: AbiConstants;
  /** Reads /proc/kallsyms; undefined where all addresses are hidden. Throws an error with `code`. */
  readKernelSymbols(path: string): KernelSymbolColumns | undefined;
  /** Gives back what is not in use of this process's memory; takes some milliseconds. */
  releaseUnusedMemory(): void;
}

/** Loads the addon that lies beside the bundle. */
export function loadAddon(): Addon {
  return createRequire(import.meta.url)("./polytop.node") as Addon;
}
