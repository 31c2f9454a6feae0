/** Loads the addon; no other file does. */
import { createRequire } from "node:module";
import { join } from "node:path";
import { nativeFolder } from "../machine/native-folder.ts";
import { EXIT_CANNOT, UserError } from "../tick/errors.ts";
import type { MethodFinder } from "./method-finder.ts";
import type { Sampler, SamplerOptions } from "./sampler.ts";

/** The functions of the kernel by address, as native/kernel/kernel_symbols.h describes them. */
export interface KernelSymbolColumns {
  /** Lower halves of the addresses, ascending, each once. */
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

/** Functions of a file by their symbols, in columns. */
export interface FunctionColumns {
  /** As the symbol table has them, without their versions. */
  readonly names: readonly string[];
  /** As people write them, without their parameters; none where that was not asked for. */
  readonly written: readonly string[];
  /** What stands behind each of these: `(int) const`, or nothing. */
  readonly parameters: readonly string[];
  /** Empty where a symbol has none. */
  readonly versions: readonly string[];
  /** In the file. */
  readonly offsets: Float64Array;
  /** 1: programs that are linked now get another version. */
  readonly olds: Uint8Array;
  /** 1: it runs once, and chooses which function is meant by its name (ifunc). */
  readonly choosers: Uint8Array;
  /** For each chooser in turn where what it chose is in the file; -1: not known, -2: not in this file. */
  readonly chosen: Float64Array;
}

/** Where a line of a source file begins in a program; native/lines/line_places.h. */
export interface LinePlaces {
  /** In the file. */
  readonly offsets: Float64Array;
  /** The source files that were meant. */
  readonly sources: readonly string[];
  /** The next line of these that has code; 0: none. */
  readonly next: number;
  /** Why the file says nothing of lines; empty if it does. */
  readonly why: string;
}

/** What a program or library says that it needs. */
export interface NeededFiles {
  /** The loader; empty: none. */
  readonly interpreter: string;
  /** Names or paths. */
  readonly libraries: readonly string[];
  /** In which they are looked for first; `$ORIGIN` stands for the folder of the file. */
  readonly folders: readonly string[];
}

/** A probe of <sys/sdt.h>; file offsets. */
export interface StaticProbe {
  readonly provider: string;
  readonly name: string;
  readonly offset: number;
  /** Where the counter is that tells the program of a probe; 0: none. */
  readonly semaphore: number;
}

/** A command as it is to be started. */
export interface CommandSetup {
  readonly words: readonly string[];
  /** `NAME=value` */
  readonly environment: readonly string[];
  /** Its input, output and error output; -1: nothing. */
  readonly descriptors: readonly [number, number, number];
  /** Whose rights it gets; those of this process where it is left out. */
  readonly user?: string;
  readonly uid?: number;
  readonly gid?: number;
}

/** What the addon exports (native/js/addon.cpp). */
export interface Addon {
  readonly Sampler: new (options: SamplerOptions) => Sampler;
  readonly MethodFinder: new () => MethodFinder;
  /**
   * Begins what takes longest at the start, on a thread of its own: the kernel verifies the sampling programs, then its
   * symbols are read where it does not tell its names itself (Sampler.nameKernel). A Sampler of the same object path takes it over; nobody need.
   */
  begin(objectPath: string): void;
  /**
   * Has the kernel take the objects that sample and that visit waiting threads, and gives them up again. Why it refuses
   * either, on several lines; empty where it takes it. The latter is untried where it refuses the former.
   */
  tryToLoad(
    objectPath: string,
    sweepPath: string,
  ): { readonly sampling: string; readonly waits: string };
  /** Reads /proc/kallsyms; undefined where all addresses are hidden. Throws an error with `errno`. */
  readKernelSymbols(path: string): KernelSymbolColumns | undefined;
  /** The folder of the kernel's file system for tracing, mounted for this process if need be. Throws an error with `errno`. */
  openTracing(): string;
  /** Whether the kernel probes many functions with one link, as it does from 6.6 on. */
  hasMultiProbes(): boolean;
  /** Functions of a file by their symbols. Throws an error with `errno`, as the next three do. */
  listFunctions(path: string, isWritten: boolean): FunctionColumns;
  /** Where a line begins; `source` is the end of the path of a source file. */
  listLinePlaces(path: string, source: string, line: number): LinePlaces;
  listNeededFiles(path: string): NeededFiles;
  /** Probes that a program's author put into it (USDT). */
  listStaticProbes(path: string): readonly StaticProbe[];
  /** The number of the thread that starts commands, and nothing else. */
  commandThread(): number;
  /** Starts a command as a child of that thread; its pid. Throws an error with `errno`. */
  startCommand(command: CommandSetup): number;
  /** Calls back once when it has ended: with its exit status, and the signal that ended it (0: none). */
  waitForCommand(pid: number, callback: (status: number, signal: number) => void): void;
  /** Gives unused memory of this process back to the system; takes some milliseconds. */
  releaseUnusedMemory(): void;
  /**
   * Lets the calling thread run before all others without a real-time priority until it has run for a third of a
   * second; native/turns/first_turn.h.
   */
  comeFirst(): void;
  /** Does that before the threads that come first too: for the one that draws and collects, which the others work for. */
  comeBeforeHelpers(): void;
  /** Lets all threads of the process come first until it ends, which is to be soon. */
  endFirst(): void;
}

type LoaderWords = readonly [pattern: RegExp, what: string, mend: string];

/** What the dynamic loader says, by a part of it, and what a user can do about it. */
const LOADER_WORDS: readonly LoaderWords[] = [
  [
    /version `(GLIBC\w*_[0-9.]+)' not found/,
    "this system's C library is too old",
    "The tar.xz of a release brings one along.",
  ],
  [
    /failed to map segment|Operation not permitted/,
    "its file system is mounted noexec",
    "Put polytop where programs may be executed, or: mount -o remount,exec",
  ],
  [
    /Error relocating|ld-linux|shared library|cannot open shared object file/,
    "this system lacks glibc or a library that Node needs too",
    "The tar.xz of a release brings them along.",
  ],
  [
    /invalid ELF header|file too short|ELF load command/,
    "the file is damaged or for another processor",
    "Install polytop anew; `polytop doctor` says how.",
  ],
  [/^/, "it does not load", "`polytop doctor` says how to mend it."],
];

/** Why the addon could not be loaded, for a user. */
export function loadError(error: unknown): UserError {
  const [said = ""] = (error instanceof Error ? error.message : String(error)).split("\n");
  const [, what, mend] = LOADER_WORDS.find(([pattern]) => pattern.test(said)) as LoaderWords;
  return new UserError(`polytop's addon: ${what} (${said})\n${mend}`, EXIT_CANNOT);
}

/** Loads the addon; throws a UserError where this machine cannot. */
export function loadAddon(): Addon {
  const path = join(nativeFolder(), "polytop.node");
  try {
    return createRequire(import.meta.url)(path) as Addon;
  } catch (error) {
    throw loadError(error);
  }
}
