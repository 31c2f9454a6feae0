/** Names frames: from a frame word of the kernel side to a function that a reader knows. */

import type { AbiConstants } from "../addon/sampler.ts";
import { cleanName } from "../tick/clean-name.ts";
import { RUNTIMES, type Runtime } from "../tick/runtimes.ts";
import type { CounterDefinition } from "../tick/source.ts";
import type { FunctionInfo } from "../tick/tick.ts";
import type { FrameDetail, WireFrames } from "../tick/wire.ts";
import type { KernelName } from "./kernel.ts";
import type { NewFrames } from "./new-frames.ts";
import type { NamedPerlFrame } from "./perl.ts";

/** A name before it is interned. */
export interface NamedFunction {
  readonly runtime: Runtime;
  readonly name: string;
  readonly module: string;
  readonly whyUnnamed?: string;
  /** See Frame.body. */
  readonly body?: string;
}

/** A frame whose function has a number. */
interface NumberedFrame {
  readonly id: number;
  readonly detail?: FrameDetail;
}

/** Knows the functions of one kind of frames. */
export interface FrameNamers {
  native(file: number, offset: number): NamedFunction;
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

/** The functions of a module. */
interface ModuleFunctions {
  /** Clean. */
  readonly module: string;
  readonly ids: Map<string, number>;
}

/** Gives each different function one id. */
export class FunctionTable {
  /** By module as it was named, for each runtime. */
  readonly #modules = new Map<Runtime, Map<string, ModuleFunctions>>();
  /** The same by module's clean name. */
  readonly #cleanModules = new Map<Runtime, Map<string, ModuleFunctions>>();
  #count = 0;
  #added: FunctionInfo[] = [];

  /** The id of a function; its names are cleaned here, once. */
  intern(named: NamedFunction): number {
    const { runtime, whyUnnamed } = named;
    const { module, ids } = this.#module(runtime, named.module);
    const name = cleanName(named.name);
    const known = ids.get(name);
    if (known !== undefined) return known;
    const id = this.#count++;
    ids.set(name, id);
    const unnamed = whyUnnamed === undefined ? {} : { whyUnnamed };
    this.#added.push({ id, runtime, name, module, ...unnamed });
    return id;
  }

  #module(runtime: Runtime, named: string): ModuleFunctions {
    const modules = inner(this.#modules, runtime);
    const known = modules.get(named);
    if (known) return known;
    const module = cleanName(named);
    const clean = inner(this.#cleanModules, runtime);
    const functions = clean.get(module) ?? { module, ids: new Map<string, number>() };
    clean.set(module, functions);
    modules.set(named, functions);
    return functions;
  }

  /** Functions that are new since the last call. */
  takeAdded(): FunctionInfo[] {
    const added = this.#added;
    this.#added = [];
    return added;
  }
}

/** The map at a key, made where there is none yet. */
function inner<Key, K, V>(maps: Map<Key, Map<K, V>>, key: Key): Map<K, V> {
  const known = maps.get(key);
  if (known) return known;
  const made = new Map<K, V>();
  maps.set(key, made);
  return made;
}

/** Texts of bodies that are kept: most are a tier, and generic arguments of few methods. */
const MAX_BODIES = 20_000;

/** Reads frame words (bpf/abi.h) and names what they stand for. */
export class FrameReader {
  readonly #valueMask: bigint;
  readonly #abi: AbiConstants;
  readonly #stops: ReadonlyMap<number, CounterDefinition>;
  readonly #namers: FrameNamers;
  readonly #functions: FunctionTable;
  /** By number of the function, where it is native and was met. */
  readonly #native: (NumberedFrame | undefined)[] = [];
  /** By its text: one object for all frames, which crosses to the other thread once. */
  readonly #bodies = new Map<string, FrameDetail>();

  constructor(
    abi: AbiConstants,
    counters: readonly CounterDefinition[],
    namers: FrameNamers,
    functions: FunctionTable,
  ) {
    this.#abi = abi;
    this.#valueMask = (1n << BigInt(abi.frameKindShift)) - 1n;
    this.#stops = new Map(counters.map((it) => [it.id, it]));
    this.#namers = namers;
    this.#functions = functions;
  }

  /** What the frames stand for. */
  read(frames: NewFrames): WireFrames {
    const functions = new Uint32Array(frames.length);
    const details = new Map<number, FrameDetail>();
    for (let index = 0; index < frames.length; index++) {
      const { id, detail } = this.#frame(frames, index);
      functions[index] = id;
      if (detail) details.set(index, detail);
    }
    return { functions, details };
  }

  #frame(frames: NewFrames, index: number): NumberedFrame {
    if (frames.perlMeta(index) !== 0) return this.#perl(frames, index);
    if (frames.kind(index) === this.#abi.kindNative) return this.#codeOfFile(frames, index);
    return this.#numbered(this.#name(frames, index));
  }

  #numbered(named: NamedFunction): NumberedFrame {
    const id = this.#functions.intern(named);
    return named.body === undefined ? { id } : { id, detail: this.#body(named.body) };
  }

  #body(text: string): FrameDetail {
    const known = this.#bodies.get(text);
    if (known) return known;
    if (this.#bodies.size >= MAX_BODIES) this.#bodies.clear();
    const body = { body: cleanName(text) };
    this.#bodies.set(text, body);
    return body;
  }

  /** A frame of a stack that has Perl frames. */
  #perl(frames: NewFrames, index: number): NumberedFrame {
    const meta = frames.perlMeta(index);
    const { kindMask, stop, folded, native } = this.#abi.perl;
    const kind = meta & kindMask;
    if (kind === native) return this.#codeOfFile(frames, index);
    if (kind === folded)
      return { id: this.#codeOfFile(frames, index).id, detail: { folded: true } };
    const word = frames.word(index);
    if (kind === stop) return this.#numbered(this.#stop(Number(word)));
    const { named, ...detail } = this.#namers.perl(word, meta, frames.perlLine(index));
    return { id: this.#functions.intern(named), detail };
  }

  /** Code of one function is named once: hot loops bring many addresses of few functions. */
  #codeOfFile(frames: NewFrames, index: number): NumberedFrame {
    const number = frames.functionNumber(index);
    const known = this.#native[number];
    if (known) return known;
    const named = this.#namers.native(frames.file(index), frames.offset(index));
    const frame = this.#numbered(named);
    if (number === 0) return frame;
    while (this.#native.length < number) this.#native.push(undefined);
    this.#native[number] = frame;
    return frame;
  }

  #name(frames: NewFrames, index: number): NamedFunction {
    const kind = frames.kind(index);
    const word = frames.word(index);
    if (kind === this.#abi.kindKernel) return this.#namers.kernel(word);
    if (kind === this.#abi.kindDotnet) return this.#namers.dotnet(word, frames.owner(index));
    const value = word & this.#valueMask;
    if (kind === this.#abi.kindAnonymous) {
      return this.#namers.anonymous(frames.owner(index), value);
    }
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
