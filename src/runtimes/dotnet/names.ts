/** Names of .NET frames. What the kernel side tells of a method at its first sight is resolved at once. */
import { statSync } from "node:fs";
import type { SampledFile, Sampler, SeenMethod } from "../../collector/sampler.ts";
import type { NamedFunction } from "../frames.ts";
import type { PeImage } from "./image.ts";
import { ImageNames } from "./images.ts";
import { ProcessMemory, Unreadable } from "./memory.ts";
import type { Metadata } from "./metadata.ts";
import type { ImageCache, MethodName } from "./method.ts";
import { DotnetProcess, type RuntimeFile } from "./process.ts";
import { ReadyToRunImage } from "./ready-to-run.ts";

/** Kinds of stubs, as the runtime numbers them; from 16 on as bpf/abi.h does. */
const STUBS = new Map([
  [1, "jump stub"],
  [2, "precode"],
  [3, "dynamic helper"],
  [4, "stub precode"],
  [5, "fixup precode"],
  [6, "virtual dispatch stub"],
  [7, "virtual resolve stub"],
  [8, "virtual lookup stub"],
  [9, "virtual table stub"],
  [16, "runtime stub"],
  [17, "call thunk"],
]);

const STUB_LIMIT = 4096n;
const VALUE_MASK = (1n << 56n) - 1n;
const START_MASK = (1n << 47n) - 1n;
/** What stands for the assembly of a method that has none. */
const DYNAMIC_MODULE = "[dynamic]";
const MAX_PROCESSES = 512;
const MAX_METADATA_BYTES = 8 << 20;

interface KnownProcess {
  /** Of the address space: another one after exec or where the pid was given to another process. */
  readonly space: bigint;
  readonly process: DotnetProcess;
}

export class DotnetNames {
  readonly #sampler: Pick<Sampler, "readMemory" | "takeMethods" | "readFile" | "fileId">;
  readonly #processes = new Map<number, KnownProcess>();
  readonly #shared = new SharedImages();
  readonly #images: ImageNames;

  constructor(sampler: Pick<Sampler, "readMemory" | "takeMethods" | "readFile" | "fileId">) {
    this.#sampler = sampler;
    this.#images = new ImageNames(sampler);
  }

  /** Takes in what became known of files. */
  learn(files: readonly SampledFile[]): void {
    this.#images.learn(files);
  }

  /** Whether an offset of a file is precompiled managed code. */
  holds(file: number, offset: number): boolean {
    return this.#images.holds(file, offset);
  }

  /** The precompiled method at an offset of a file. */
  image(file: number, offset: number): NamedFunction {
    return attempt(() => this.#images.method(file, offset));
  }

  /** Resolves the methods met since the last call, while their processes live. */
  resolveSeen(): void {
    for (const seen of this.#sampler.takeMethods()) this.#resolve(seen);
  }

  /** The function of a frame word of FRAME_DOTNET. */
  name(word: bigint, pid: number): NamedFunction {
    const value = word & VALUE_MASK;
    if (value < STUB_LIMIT) return stub(Number(value));
    const known = this.#processes.get(pid);
    if (!known) return unnamed("its process was not known when it was met");
    const name = known.process.known(word);
    if (name) return name;
    const awaited = known.process.awaited(word);
    const byFile = awaited ? this.#nameByFile(known.process, awaited) : undefined;
    return byFile ?? this.#byAddress(known.process, word);
  }

  #byAddress(process: DotnetProcess, word: bigint): NamedFunction {
    return process.keep(
      word,
      attempt(() => process.methodAt(Number(word & START_MASK))),
    );
  }

  #resolve(seen: SeenMethod): void {
    const process = this.#process(seen);
    if (!process) return;
    const start = Number(seen.word & START_MASK);
    if (seen.name.length > 0) {
      const name = Buffer.from(seen.name).toString("utf8");
      process.keep(seen.word, { runtime: "dotnet", name, module: DYNAMIC_MODULE });
    } else if (seen.row > 0 && seen.imageFile.some((it) => it > 0n)) {
      // Named by the file, when it is known: whether the process lives does not matter.
      process.await(seen.word, seen);
      this.#nameByFile(process, seen);
    } else {
      process.keep(
        seen.word,
        attempt(() =>
          seen.methodDesc > 0n
            ? process.method(start, Number(seen.methodDesc))
            : process.imageMethod(start, Number(seen.image)),
        ),
      );
    }
  }

  #nameByFile(process: DotnetProcess, seen: SeenMethod): NamedFunction | undefined {
    const file = this.#sampler.fileId(seen.imageFile);
    if (file === 0) return undefined;
    return process.keep(
      seen.word,
      attempt(() => this.#images.methodOfRow(file, seen.imageOffset, seen.row)),
    );
  }

  #process({ pid, space, major, descriptor, bias }: SeenMethod): DotnetProcess | undefined {
    const known = this.#processes.get(pid);
    if (known?.space === space) return known.process;
    if (major === 0) return undefined;
    const runtime: RuntimeFile = { major, descriptor: Number(descriptor) };
    if (this.#processes.size >= MAX_PROCESSES) this.#forgetOldest();
    const memory = new ProcessMemory(
      (id, address, size) => this.#sampler.readMemory(id, address, size),
      pid,
    );
    const process = new DotnetProcess(memory, runtime, Number(bias), this.#shared.of(ownerOf(pid)));
    this.#processes.delete(pid);
    this.#processes.set(pid, { space, process });
    return process;
  }

  #forgetOldest(): void {
    for (const pid of this.#processes.keys()) {
      this.#processes.delete(pid);
      if (this.#processes.size < MAX_PROCESSES / 2) return;
    }
  }
}

/** What is read of images is kept for all processes of a user; another user's could be made to lend wrong names. */
class SharedImages {
  readonly #known = new Map<string, Metadata | ReadyToRunImage>();
  #bytes = 0;

  of(owner: number): ImageCache {
    return {
      metadata: (image) =>
        this.#find(`${owner}:${image.metadataKey}`, image, () => image.metadata()),
      tables: (image) =>
        this.#find(`${owner}:${image.imageKey}`, image, () => new ReadyToRunImage(image)),
    };
  }

  #find<T extends Metadata | ReadyToRunImage>(key: string, image: PeImage, read: () => T): T {
    const known = this.#known.get(key);
    // The two kinds of keys differ in their first word.
    if (known) return known as T;
    if (this.#bytes > MAX_METADATA_BYTES) {
      this.#known.clear();
      this.#bytes = 0;
    }
    const found = read();
    this.#bytes += image.metadataSize;
    this.#known.set(key, found);
    return found;
  }
}

/** The user that a process runs as; -1 if it is gone. */
function ownerOf(pid: number): number {
  return statSync(`/proc/${pid}`, { throwIfNoEntry: false })?.uid ?? -1;
}

function attempt(resolve: () => MethodName): NamedFunction {
  try {
    return { runtime: "dotnet", ...resolve() };
  } catch (error) {
    if (error instanceof Unreadable) return unnamed(error.message);
    // Reading behind the end of what corrupt metadata says.
    if (error instanceof RangeError) return unnamed("its metadata is damaged");
    throw error;
  }
}

function unnamed(reason: string): NamedFunction {
  return { runtime: "dotnet", name: `[unnamed method: ${reason}]`, module: "", whyUnnamed: reason };
}

function stub(kind: number): NamedFunction {
  return { runtime: "dotnet", name: `[${STUBS.get(kind) ?? `stub of kind ${kind}`}]`, module: "" };
}
