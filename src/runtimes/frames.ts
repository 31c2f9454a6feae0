/** Names frames: from a frame word of the kernel side to a function that a reader knows. */

import type { AbiConstants } from "../collector/sampler.ts";
import type { CounterDefinition } from "../collector/source.ts";
import { type FunctionInfo, RUNTIMES, type Runtime } from "../collector/tick.ts";
import type { WireFrame } from "../collector/wire.ts";
import { cleanName } from "./clean-name.ts";
import type { KernelName } from "./kernel.ts";
import type { NamedPerlFrame } from "./perl.ts";

/** A name before it is interned. */
export interface NamedFunction {
  readonly runtime: Runtime;
  readonly name: string;
  readonly module: string;
  readonly whyUnnamed?: string;
}

/** Knows the functions of one kind of frames. */
export interface FrameNamers {
  /** `start`: where the function starts in the file, 0 if that is not known. */
  native(file: number, offset: number, start: number): NamedFunction;
  kernel(address: bigint): NamedFunction;
  /** A method of .NET in the process `pid`. */
  dotnet(word: bigint, pid: number): NamedFunction;
  /** Code outside of any file, in the process `pid`. */
  anonymous(pid: number, address: bigint): NamedFunction;
  perl(name: bigint, meta: number, line: number): NamedPerlFrame;
}

/** What the symbols of the kernel say of an address. */
export function kernelFunction(found: KernelName): NamedFunction {
  const runtime = "kernel";
  const { whyUnnamed } = found;
  if (whyUnnamed === undefined) return { runtime, name: found.name, module: found.module };
  return { runtime, name: "[kernel: unknown function]", module: "kernel", whyUnnamed };
}

function runtimeOf(reason: CounterDefinition | undefined): Runtime {
  return RUNTIMES.find((it) => it === reason?.runtime) ?? "native";
}

/** Gives each different function one id. */
export class FunctionTable {
  readonly #ids = new Map<string, number>();
  #added: FunctionInfo[] = [];

  /** The id of a function; its names are cleaned here, once. */
  intern(named: NamedFunction): number {
    const name = cleanName(named.name);
    const module = cleanName(named.module);
    const key = `${named.runtime}\0${name}\0${module}`;
    const known = this.#ids.get(key);
    if (known !== undefined) return known;
    const id = this.#ids.size;
    this.#ids.set(key, id);
    this.#added.push({
      id,
      runtime: named.runtime,
      name,
      module,
      ...(named.whyUnnamed === undefined ? {} : { whyUnnamed: named.whyUnnamed }),
    });
    return id;
  }

  /** Functions that are new since the last call. */
  takeAdded(): FunctionInfo[] {
    const added = this.#added;
    this.#added = [];
    return added;
  }
}

const LOW_HALF = 0xffff_ffffn;

/** Reads frame words (bpf/abi.h) and names what they stand for. */
export class FrameReader {
  readonly #kindShift: bigint;
  readonly #fileShift: bigint;
  readonly #offsetMask: bigint;
  readonly #valueMask: bigint;
  readonly #abi: AbiConstants;
  readonly #stops: ReadonlyMap<number, CounterDefinition>;
  readonly #namers: FrameNamers;
  readonly #functions: FunctionTable;
  /** Function ids by file id and start in the file. */
  readonly #byStart = new Map<number, Map<number, number>>();

  constructor(
    abi: AbiConstants,
    counters: readonly CounterDefinition[],
    namers: FrameNamers,
    functions: FunctionTable,
  ) {
    this.#abi = abi;
    this.#kindShift = BigInt(abi.frameKindShift);
    this.#fileShift = BigInt(abi.frameFileShift);
    this.#offsetMask = (1n << this.#fileShift) - 1n;
    this.#valueMask = (1n << this.#kindShift) - 1n;
    this.#stops = new Map(counters.map((it) => [it.id, it]));
    this.#namers = namers;
    this.#functions = functions;
  }

  /**
   * The frame of a word. `start` is where its function starts, for code of a file; `owner` is the
   * process that the word belongs to, where it belongs to one. `extra` is the second word of a Perl
   * frame, or a mark of a native one beside such; else 0.
   */
  read(word: bigint, start: number, owner: number, extra = 0n): WireFrame {
    if (extra !== 0n) return this.#readPerl(word, start, extra);
    const kind = Number(word >> this.#kindShift);
    if (kind === this.#abi.kindNative) return { function: this.#native(word, start) };
    return { function: this.#functions.intern(this.#name(kind, word, owner)) };
  }

  #readPerl(word: bigint, start: number, extra: bigint): WireFrame {
    const { kindMask, stop, folded, native } = this.#abi.perl;
    const meta = Number(extra >> 32n);
    const kind = meta & kindMask;
    if (kind === native) return { function: this.#native(word, start) };
    if (kind === folded) return { function: this.#native(word, start), folded: true };
    if (kind === stop) return { function: this.#functions.intern(this.#stop(Number(word))) };
    const { named, ...rest } = this.#namers.perl(word, meta, Number(extra & LOW_HALF));
    return { function: this.#functions.intern(named), ...rest };
  }

  /** Forgets the functions of files whose numbers are given to other files now. */
  forgetFiles(ids: Iterable<number>): void {
    for (const id of ids) this.#byStart.delete(id);
  }

  /** Code of one function is named once: hot loops bring many addresses of few functions. */
  #native(word: bigint, start: number): number {
    const file = Number(word >> this.#fileShift);
    const offset = Number(word & this.#offsetMask);
    let starts = this.#byStart.get(file);
    if (!starts) {
      starts = new Map();
      this.#byStart.set(file, starts);
    }
    const known = start > 0 ? starts.get(start) : undefined;
    if (known !== undefined) return known;
    const id = this.#functions.intern(this.#namers.native(file, offset, start));
    starts.set(start, id);
    return id;
  }

  #name(kind: number, word: bigint, owner: number): NamedFunction {
    if (kind === this.#abi.kindKernel) return this.#namers.kernel(word);
    if (kind === this.#abi.kindDotnet) return this.#namers.dotnet(word, owner);
    const value = word & this.#valueMask;
    if (kind === this.#abi.kindAnonymous) return this.#namers.anonymous(owner, value);
    return this.#stop(Number(value));
  }

  #stop(counter: number): NamedFunction {
    const reason = this.#stops.get(counter);
    return {
      runtime: runtimeOf(reason),
      name: `[${reason?.label ?? `walk ended for reason ${counter}`}]`,
      module: "",
      whyUnnamed: reason ? [reason.meaning, reason.hint].filter(Boolean).join(": ") : "unknown",
    };
  }
}
