/** What the kernel side counted, as the addon hands it over: the shapes of one drain. */

/** A file that samples hit, once it was looked at. */
export interface SampledFile {
  readonly id: number;
  readonly path: string;
  /** What is wrong with the file, empty if nothing is. */
  readonly why: string;
  /** What was refused to the file because it takes too much, and whose it is; empty if nothing. */
  readonly refusal: string;
  /** The Perl interpreter in the file, if it holds one. */
  readonly perl?: PerlInterpreter;
  /** Another interpreter in the file, if it holds one. */
  readonly interpreter?: InterpreterFile;
  /** Why a runtime in the file is not understood, where it holds such a one. */
  readonly refused?: string;
  /** .NET assemblies in the file by ascending offset: offset and size of each. */
  readonly assemblies: Float64Array;
}

/** A Perl interpreter in a file. */
export interface PerlInterpreter {
  /** Its index in the map of interpreters; another one may get it when the file is forgotten. */
  readonly index: number;
  readonly version: string;
  /** What the user must know of the version, empty if nothing. */
  readonly warning: string;
  /** No layout of the version is known: its subs are not shown. */
  readonly refused: boolean;
  /** Names of ops by op number. */
  readonly opNames: readonly string[];
}

/** An interpreter in a file. */
export interface InterpreterFile {
  /** One of enum interpreter_kind (bpf/abi.h). */
  readonly kind: number;
  /** Why its frames stay native, empty if they do not. */
  readonly warning: string;
}

/** A string of an interpreter. */
export interface NamePart {
  /** One of enum name_encoding (bpf/abi.h). */
  readonly encoding: number;
  /** In bytes; `bytes` are fewer where the string was cut. */
  readonly length: number;
  readonly bytes: Uint8Array;
}

/** The strings behind an interpreted frame: struct name_record (bpf/abi.h). */
export interface InterpretedName {
  /** One of enum interpreter_kind. It says what kinds, flags and parts there are. */
  readonly interpreter: number;
  readonly name: bigint;
  readonly kind: number;
  readonly flags: number;
  readonly parts: readonly NamePart[];
}

/**
 * A .NET method at its first sight in a process, or a type that the walk asks for: then `methodDesc` is its MethodTable.
 * Addresses of programs are below 2^47: numbers hold them.
 */
export interface SeenMethod {
  readonly word: bigint;
  readonly isType: boolean;
  /** Address of its MethodDesc; 0: it is precompiled, in the image at `image`. */
  readonly methodDesc: number;
  /** Address of its image, 0 if it is not known. */
  readonly image: number;
  /** Its row in the metadata of the image, 0 if it is not known or the method is precompiled. */
  readonly row: number;
  /** The number of a method that a file tells by its row or the place of its code, the same in all processes; 0: none. */
  readonly number: number;
  /** The id of the file that holds the image and tells the method's name; 0: none does, or its id is not known yet. */
  readonly imageFileId: number;
  /** That file, for fileId(), where there is one whose id is not known yet. */
  readonly imageFile: BigUint64Array | undefined;
  /** Where the image is in its file. */
  readonly imageOffset: number;
  /** Address of the runtime less that in its file's headers. */
  readonly bias: number;
  /** Identifies the address space: exec makes another. */
  readonly space: bigint;
  readonly pid: number;
  /** The runtime's version, and the address of its contract descriptor in the file's headers (0: none). */
  readonly major: number;
  readonly descriptor: number;
  /** What its memory was allocated by, if that may be collected: the address of its number (0: not), and that number. */
  readonly allocator: number;
  readonly allocatorNumber: bigint;
  /** The name of a dynamic method. */
  readonly name: Uint8Array | undefined;
}

/** Threads that were met for the first time, in columns. */
export interface NewTasks {
  /** Threads are numbered anew, from 0 on, beginning with the first of these; else these go on from those before. */
  readonly renewed: boolean;
  /** Six words for each: pid, tid, pid of the parent, user, and where in `names` that of its process is and its own. */
  readonly words: Uint32Array;
  /** Starts of their processes, milliseconds since boot. */
  readonly startTimes: Float64Array;
  readonly cgroups: BigUint64Array;
  /** As processes chose them. */
  readonly names: readonly string[];
}

/** How much stacks weighed in threads, in columns. */
export interface DrainedCounts {
  readonly stacks: Uint32Array;
  readonly tasks: Uint32Array;
  /** Numbers of events. */
  readonly events: Uint32Array;
  readonly weights: Float64Array;
}

/** Where threads waited, in columns. */
export interface DrainedWaitCounts {
  readonly stacks: Uint32Array;
  readonly tasks: Uint32Array;
  readonly nanoseconds: Float64Array;
  /** Nanoseconds that the thread's latest wait there has lasted; negative: it is in another one now. */
  readonly ages: Float64Array;
  /** Three words for each: struct wait_owners (bpf/wait/abi.h). */
  readonly owners: Uint32Array;
}

/** What was sampled since the last drain. Numbers of stacks and frames only grow. */
export interface Drained {
  readonly seconds: number;
  /** Milliseconds since 1970, by the clock as it was at the start. */
  readonly time: number;
  readonly samples: number;
  readonly missed: number;
  readonly bpfNanoseconds: number;
  /** Ticks of the sampling event on all CPUs, idle ones too. */
  readonly ticks: number;
  /** Increments by counter id. */
  readonly counters: Float64Array;
  readonly counts: DrainedCounts;
  /** Four numbers for each event beside the CPU's time: its number, hits, stacks that were walked, hits that were missed. */
  readonly events: Float64Array;
  readonly tasks: NewTasks;
  /** Sweeps over all threads since the last drain. */
  readonly sweeps: number;
  readonly waits: DrainedWaitCounts;
  /** Six numbers for each process: pid, start, threads, nanoseconds running, runnable, blocked; see ProcessTimes. */
  readonly waitTimes: Float64Array;
  /** Two words for each new stack of a thread that waits: its number, and how (enum wait_reason and its bits). */
  readonly stackWaits: Uint32Array;
  /**
   * New stacks; the words of each: number, outcome, how many of its outermost frames are those of the one before it,
   * count of frames, numbers of the frames (leaf first).
   */
  readonly stacks: Uint32Array<ArrayBuffer>;
  /** Number of the first of `frames`. */
  readonly firstFrame: number;
  /** New frames, as bpf/abi.h defines a frame word. */
  readonly frames: BigUint64Array;
  /**
   * The number of the function of each of `frames`, from 1 on as functions are met; 0 if its start is not known or
   * it is no file's. A method of .NET that a file names has one too, with the highest bit set, which is the same in
   * all processes. A number is never given to another function.
   */
  readonly functions: Uint32Array;
  /** One word for each of `frames`: meta << 32 | line of an interpreted frame, or a mark of user space; else 0. */
  readonly extras: BigUint64Array;
  readonly names: readonly InterpretedName[];
  /** The kernel side names everything anew from here on. */
  readonly renewed: boolean;
  /** The process that each of `frames` means something in, 0 for all. */
  readonly owners: Uint32Array;
  /** Stacks and frames with lower numbers will not be referred to again. */
  readonly forgottenStacks: number;
  readonly forgottenFrames: number;
  readonly files: readonly SampledFile[];
  /** Ids of files of which nothing can be read any more; other files may get the ids later. */
  readonly closedFiles: Uint32Array;
  /** What users must know of reading memory of processes. */
  readonly notices: readonly string[];
}
