/** Names the frames of .NET. What the kernel side tells of a method at its first sight is resolved at once. */
import { statSync } from "node:fs";
import {
  DOTNET_GENERATION_SHIFT,
  DOTNET_STUBS,
  FRAME_DOTNET,
  FRAME_KIND_SHIFT,
  FRAME_VALUE_MASK,
  INTERPRETER_DOTNET,
} from "../../../build/abi.ts";
import type { Drained, SeenMethod } from "../../addon/drained.ts";
import type { MethodFinder } from "../../addon/method-finder.ts";
import type { Sampler } from "../../addon/sampler.ts";
import { startOfProcess } from "../../machine/process-start.ts";
import { atOnce } from "../../machine/steps.ts";
import { cleanName } from "../../tick/clean-name.ts";
import { markOfAwaits } from "../awaits.ts";
import type { NewFrames } from "../new-frames.ts";
import type { NamedFrame, NamedFunction, RuntimeReader } from "../reader.ts";
import { Awaits } from "./awaits/awaits.ts";
import { PageBudget } from "./bytes.ts";
import { ImageNames } from "./images.ts";
import type { ImageMethod } from "./instance-name.ts";
import { ProcessMemory, type ReadMemory, readOr, Unreadable } from "./memory.ts";
import type { MethodBody } from "./method.ts";
import { DotnetProcess, type RuntimeFile } from "./process.ts";
import { RecentPages } from "./recent-pages.ts";
import { SharedTables } from "./shared-tables.ts";
import type { Tier } from "./tier.ts";
import { attempt, stub, unnamed } from "./unnamed.ts";

const KIND_SHIFT = BigInt(FRAME_KIND_SHIFT);
const STUB_LIMIT = BigInt(DOTNET_STUBS);
const START_MASK = (1n << BigInt(DOTNET_GENERATION_SHIFT)) - 1n;
/** The name that stands for the assembly of a method that has none. */
const DYNAMIC_MODULE = "[dynamic]";
const MAX_PROCESSES = 512;
/** With each process that comes, so many of those that are known are looked at: whether they have ended. */
const LOOKS = 4;
/** So many drains after anything of a process was met or named last, what it ran before its end is named. */
const DRAINS_KEPT = 5;
/** Names of methods of files are kept on the disk in the second drain and each so-many-th: a run that is killed has kept some. */
const NAMES_KEPT_EVERY = 32;
/** The limit for pids of processes that were forgotten. */
const MAX_PIDS = 65_536;
/** The screen has no room for more notices. */
const MAX_NOTICES = 3;
/** The limit for pages of metadata of all images together. */
const MAX_PAGE_BYTES = 4 << 20;
/** The limit for names by number: there all are forgotten, and files tell them again. */
const MAX_NUMBERED = 16_384;

/** What the reader needs of the sampler. */
type DotnetSampler = Pick<
  Sampler,
  | "readMemory"
  | "takeMethods"
  | "tellDotnet"
  | "readFile"
  | "fileOwner"
  | "kept"
  | "keep"
  | "fileId"
  | "frameNumber"
>;

interface KnownProcess {
  /** Identifies the address space: exec makes another, and another process may get the pid. */
  readonly space: bigint;
  /** Tells the process from another one that gets the pid. */
  readonly startTime: string | undefined;
  /** Whether another process had the pid before, whose frame words may come again. */
  readonly isNext: boolean;
  readonly process: DotnetProcess;
  /** The number of the drain before which something of it was met or named last. */
  usedIn: number;
}

/** A word that was met before, and what it was named then in the same process. */
interface MetAgain {
  readonly word: bigint;
  readonly pid: number;
  readonly before: NamedFunction | undefined;
}

export class DotnetReader implements RuntimeReader {
  readonly #sampler: DotnetSampler;
  readonly #tellsBodies: boolean;
  readonly #processes = new Map<number, KnownProcess>();
  /** Pids of processes that were forgotten: their frame words may come again. */
  readonly #forgotten = new Set<number>();
  #drains = 0;
  readonly #readNow: ReadMemory;
  readonly #recent: RecentPages;
  readonly #pages = new PageBudget(MAX_PAGE_BYTES);
  readonly #shared: SharedTables;
  readonly #images: ImageNames;
  /** Names of methods of files by their numbers: most that a process of a build runs, one before it ran too. */
  readonly #numbered = new Map<number, NamedFunction>();
  readonly #awaits = new Awaits();
  /** Words that came again for another method: of 512 that get an address one after the other, two have one word. */
  #changed: MetAgain[] = [];
  /** Notices about files, by their id. */
  readonly #refused = new Map<number, string>();

  /** `tellsBodies`: names say which body of a method they are of, where its file or its first sight tells that. */
  constructor(sampler: DotnetSampler, finder: MethodFinder, { tellsBodies = true } = {}) {
    this.#sampler = sampler;
    this.#tellsBodies = tellsBodies;
    this.#readNow = (pid, address, size) => sampler.readMemory(pid, address, size);
    this.#recent = new RecentPages(this.#readNow);
    this.#shared = new SharedTables(finder, this.#pages);
    this.#images = new ImageNames(sampler, finder, this.#pages);
  }

  ingest({ files, closedFiles }: Pick<Drained, "files" | "closedFiles">): void {
    this.#images.forgetFiles(closedFiles);
    this.#images.placeFiles(files);
    for (const { id, path, refused } of files) {
      if (refused === undefined) this.#refused.delete(id);
      else this.#refused.set(id, `${refused}: its methods are not shown (${cleanName(path)})`);
    }
  }

  readAhead(): Iterator<void> {
    return this.#resolving();
  }

  /** Tells of runtimes that are not understood, or that nobody has tried. */
  notices(): string[] {
    const misfits: string[] = [];
    for (const [pid, { process }] of this.#processes) {
      const reason = process.misfit;
      // Nothing can be read of a process that has ended, however its runtime is laid out.
      if (reason === undefined || ownerOf(pid) < 0) continue;
      misfits.push(`no method of pid ${pid} could be named: ${reason}`);
    }
    const news = new Set(
      [...this.#processes.values()].flatMap(({ process }) => process.news ?? []),
    );
    return [...this.#refused.values(), ...misfits, ...news].slice(0, MAX_NOTICES);
  }

  /** Names the precompiled method at an offset of a file. */
  symbolizeCode(file: number, offset: number): NamedFunction | undefined {
    if (!this.#images.holds(file, offset)) return undefined;
    const named = this.#precompiled(() => this.#images.method(file, offset));
    this.#awaits.noteCode(named, file, () => this.#images.codeAt(file, offset));
    return named;
  }

  symbolize(frames: NewFrames, index: number): NamedFrame | undefined {
    if (frames.interpreter(index) === INTERPRETER_DOTNET) {
      const name = (): NamedFrame => ({ function: this.#awaits.name(Number(frames.word(index))) });
      return markOfAwaits(frames, index, "dotnet") ?? name();
    }
    if (frames.kind(index) !== FRAME_DOTNET) return undefined;
    return { function: this.name(frames.word(index), frames.owner(index)) };
  }

  /** Names frames anew whose words were given to other methods. */
  *renamed(): Iterable<readonly [number, NamedFrame]> {
    const changed = this.#changed;
    this.#changed = [];
    this.#drains++;
    for (const { word, pid, before } of changed) {
      const number = this.#sampler.frameNumber(word, pid);
      if (number === 0) continue;
      const named = this.name(word, pid);
      // The kernel side forgets whom it told of, and tells of the same method again.
      if (named.name !== before?.name || named.module !== before.module)
        yield [number, { function: named }];
    }
    if (this.#drains % NAMES_KEPT_EVERY === 2) this.#images.keepNames();
    this.#awaits.tell(this.#sampler);
    // This drain names nothing more, and the next one begins a round of its own.
    this.#recent.forget();
  }

  /** Resolves the methods met since the last call, while their processes live. */
  resolveSeen(): void {
    atOnce(this.#resolving());
    this.#awaits.tell(this.#sampler);
  }

  *#resolving(): Generator<void, void> {
    const methods = this.#sampler.takeMethods();
    // They were met, as was what a drain tells of, before what is read from here on.
    this.#recent.forget();
    for (const seen of methods) {
      this.#resolve(seen);
      yield;
    }
  }

  /** Names a frame word of FRAME_DOTNET. */
  name(word: bigint, pid: number): NamedFunction {
    const value = word & FRAME_VALUE_MASK;
    if (value < STUB_LIMIT) return stub(Number(value));
    const known = this.#processes.get(pid);
    if (!known) return unnamed("its process was not known when it was met");
    known.usedIn = this.#drains;
    const named = known.process.known(word) ?? this.#awaited(known.process, word);
    return this.#tellsBodies || named.body === undefined ? named : withoutBody(named);
  }

  /**
   * Reads the body of compiled code out of the memory of its process: not before somebody looks at the method, as that
   * takes many reads, and a build has hundreds of methods in each of its processes.
   */
  bodyOf(word: bigint, pid: number): string | undefined {
    if (Number(word >> KIND_SHIFT) !== FRAME_DOTNET) return undefined;
    const known = this.#processes.get(pid);
    if (!known || known.startTime !== startOfProcess(pid)) return undefined;
    const { name, whyUnnamed } = this.name(word, pid);
    if (whyUnnamed !== undefined) return undefined;
    // It is there now, whatever was read of the process before.
    this.#recent.forget();
    const body = readOr(() => bodyText(bodyOf(known.process, startOf(word), name)), "");
    this.#recent.forget();
    return body === "" ? undefined : body;
  }

  #awaited(process: DotnetProcess, word: bigint): NamedFunction {
    const awaited = process.awaited(word);
    if (!awaited) return this.#byAddress(process, word);
    return this.#nameByFile(process, awaited) ?? this.#nameByProcess(process, awaited);
  }

  #byAddress(process: DotnetProcess, word: bigint): NamedFunction {
    return process.keep(
      word,
      attempt(() => process.methodAt(startOf(word))),
    );
  }

  #resolve(seen: SeenMethod): void {
    const known = this.#process(seen);
    if (!known) return;
    const { process, isNext } = known;
    if (seen.isType) {
      this.#awaits.noteType(seen, process);
      return;
    }
    const { word, pid } = seen;
    const before = process.known(word);
    if (isNext || before || process.awaited(word)) this.#changed.push({ word, pid, before });
    if (seen.name !== undefined) {
      const name = Buffer.from(seen.name).toString("utf8");
      const body: Tier = "compiled once";
      process.keep(seen.word, { runtime: "dotnet", name, module: DYNAMIC_MODULE, body });
    } else if (isOfFile(seen) && (process.untried === 0 || isPrecompiled(seen))) {
      // The file names it, as soon as it is known, whether the process lives or not.
      if (!this.#nameByFile(process, seen)) process.await(seen.word, seen);
    } else {
      this.#nameByProcess(process, seen);
    }
  }

  #nameByFile(process: DotnetProcess, seen: SeenMethod): NamedFunction | undefined {
    const { word, number, imageFileId, imageFile, imageOffset, row } = seen;
    const numbered = this.#numbered.get(number);
    if (numbered) return this.#keep(process, seen, numbered);
    const file = imageFile ? this.#sampler.fileId(imageFile) : imageFileId;
    if (file === 0) return undefined;
    const rva = startOf(word) - seen.image;
    const told = isPrecompiled(seen)
      ? this.#precompiled(() => this.#images.methodOfRva(file, imageOffset, rva))
      : attempt(() => this.#images.methodOfRow(file, imageOffset, row));
    const named = { ...told, isOfFile: true };
    if (number > 0 && named.whyUnnamed === undefined) this.#keepNumbered(number, named);
    return this.#keep(process, seen, named);
  }

  /** Keeps the name of a method, and notes what it is to who looks for those that await. */
  #keep(process: DotnetProcess, seen: SeenMethod, named: NamedFunction): NamedFunction {
    this.#awaits.noteMethod(
      named,
      seen,
      isPrecompiled(seen) ? startOf(seen.word) : seen.methodDesc,
    );
    return process.keep(seen.word, named);
  }

  #keepNumbered(number: number, named: NamedFunction): void {
    if (this.#numbered.size >= MAX_NUMBERED) this.#numbered.clear();
    this.#numbered.set(number, named);
  }

  #nameByProcess(process: DotnetProcess, seen: SeenMethod): NamedFunction {
    const { word, methodDesc, image } = seen;
    const named = isPrecompiled(seen)
      ? this.#precompiled(() => process.imageMethod(startOf(word), image))
      : attempt(() => process.method(startOf(word), methodDesc, seen));
    return this.#keep(process, seen, named);
  }

  #precompiled(resolve: () => ImageMethod): NamedFunction {
    return attempt(() => {
      const { name, module, genericArguments = [] } = resolve();
      if (!this.#tellsBodies) return { name, module };
      return { name, module, body: bodyText({ tier: "precompiled", genericArguments }) };
    });
  }

  #process({ pid, space, major, descriptor, bias }: SeenMethod): KnownProcess | undefined {
    const known = this.#processes.get(pid);
    if (known?.space === space) {
      known.usedIn = this.#drains;
      return known;
    }
    if (major === 0) return undefined;
    const runtime: RuntimeFile = { major, descriptor };
    this.#forgetEnded();
    if (this.#processes.size >= MAX_PROCESSES) this.#forgetOldest();
    const memory = new ProcessMemory(
      (id, address, size) => this.#recent.read(id, address, size),
      pid,
      this.#readNow,
    );
    const process = new DotnetProcess(memory, runtime, bias, this.#shared.of(ownerOf(pid)));
    const next: KnownProcess = {
      space,
      startTime: startOfProcess(pid),
      process,
      isNext: known !== undefined || this.#forgotten.has(pid),
      usedIn: this.#drains,
    };
    this.#processes.delete(pid);
    this.#processes.set(pid, next);
    return next;
  }

  /** A build starts some processes a second, and keeps names of each: those that have ended go, a few at a time. */
  #forgetEnded(): void {
    let left = LOOKS;
    for (const [pid, known] of this.#processes) {
      if (left-- === 0) return;
      const isUsed = this.#drains - known.usedIn <= DRAINS_KEPT;
      if (!isUsed && known.startTime !== startOfProcess(pid)) {
        this.#forget(pid);
        continue;
      }
      // It is looked at again behind all others.
      this.#processes.delete(pid);
      this.#processes.set(pid, known);
    }
  }

  #forgetOldest(): void {
    for (const pid of this.#processes.keys()) {
      this.#forget(pid);
      if (this.#processes.size < MAX_PROCESSES / 2) return;
    }
  }

  #forget(pid: number): void {
    this.#processes.delete(pid);
    this.#forgotten.delete(pid);
    this.#forgotten.add(pid);
    for (const oldest of this.#forgotten) {
      if (this.#forgotten.size <= MAX_PIDS) return;
      this.#forgotten.delete(oldest);
    }
  }
}

/** The address that the code of a frame word starts at. */
const startOf = (word: bigint): number => Number(word & START_MASK);

const isPrecompiled = ({ methodDesc }: SeenMethod): boolean => methodDesc === 0;

/** Whether the file of its image tells the name of a method. */
const isOfFile = ({ imageFileId, imageFile }: SeenMethod): boolean =>
  imageFileId !== 0 || imageFile !== undefined;

const withoutBody = ({ body: _body, ...rest }: NamedFunction): NamedFunction => rest;

/** The user that a process runs as; -1 if the process is gone. */
function ownerOf(pid: number): number {
  return statSync(`/proc/${pid}`, { throwIfNoEntry: false })?.uid ?? -1;
}

/** Throws Unreadable where the address was given to another method since the one of that name was met there. */
function bodyOf(process: DotnetProcess, start: number, name: string): MethodBody {
  if (process.methodAt(start).name !== name) throw new Unreadable("its code was collected");
  return process.body(start);
}

/** Spells a body: `tier 1  TKey=System.Int32  TValue=System.__Canon` */
export function bodyText({ tier, genericArguments }: MethodBody): string {
  const given = genericArguments.map(({ parameter, type }) => `${parameter}=${type}`);
  return [...(tier === undefined ? [] : [tier]), ...given].join("  ");
}
