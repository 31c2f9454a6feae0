/** The bytes of ./format.ts as ticks. They may come from anybody: everything is checked. */

import { cleanName } from "../tick/clean-name.ts";
import { RUNTIME_NUMBERS, runtimeOfNumber } from "../tick/runtimes.ts";
import type { Frame, FunctionInfo, Stack, StackCount, Task, Tick } from "../tick/tick.ts";
import { ByteReader } from "./bytes.ts";
import {
  FormatError,
  FRAME_BODY,
  FRAME_FLAGS,
  FRAME_FOLDED,
  LIMITS,
  OUTCOME_NUMBERS,
} from "./format.ts";

/** Milliseconds that a Date can hold, ECMA-262 "Time Values and Time Range". */
const MAX_TIME = 8.64e15;

const LONGEST_INTERVAL_SECONDS = 1e6;

/** Numbers of the system: pids, CPUs, users. */
const UINT32 = 2 ** 32;

/** What has a number, until numbering begins anew. */
class Tables {
  readonly strings: string[] = [];
  readonly functions: FunctionInfo[] = [];
  readonly frames: Frame[] = [];
  /** Node 0, the root, has no frame. */
  readonly nodeParents: number[] = [0];
  readonly nodeFrames: number[] = [0];
  readonly nodeDepths: number[] = [0];
  readonly stacks: Stack[] = [];
  readonly tasks: Task[] = [];
  readonly shapes: (readonly string[])[] = [];
  stackFrames = 0;
}

/** Decodes chunks in their order. Throws a FormatError where a chunk is not what it should be. */
export class TickDecoder {
  #tables: Tables | undefined;
  /** Functions keep their identity when numbering begins anew. */
  readonly #functions = new Map<string, FunctionInfo>();
  #nextStackId = 0;

  /** The ticks of a chunk, each when it is asked for. */
  *chunk(bytes: Buffer, isRenewed: boolean): Generator<Tick> {
    if (isRenewed) this.#tables = new Tables();
    const tables = this.#tables;
    if (!tables) throw new FormatError("the first ticks refer to others");
    const reader = new ByteReader(bytes);
    while (!reader.isAtEnd) {
      readStrings(reader, tables);
      this.#readFunctions(reader, tables);
      readFrames(reader, tables);
      this.#readStacks(reader, tables);
      readTasks(reader, tables);
      const facts = readFacts(reader, tables);
      yield { ...facts, counts: readCounts(reader, tables) };
    }
  }

  #readFunctions(reader: ByteReader, { functions, strings }: Tables): void {
    const count = reader.count(LIMITS.functions - functions.length, "functions");
    for (let i = 0; i < count; i++) {
      const runtime = runtimeOfNumber(reader.below(RUNTIME_NUMBERS, "runtime"));
      const name = readString(reader, strings);
      const module = readString(reader, strings);
      const why = reader.maybe(strings.length, "string");
      const whyUnnamed = why === undefined ? undefined : strings[why];
      functions.push(
        this.#intern({ runtime, name, module, ...(whyUnnamed ? { whyUnnamed } : {}) }),
      );
    }
  }

  #intern(info: Omit<FunctionInfo, "id">): FunctionInfo {
    const key = JSON.stringify([info.runtime, info.name, info.module, info.whyUnnamed]);
    let known = this.#functions.get(key);
    if (!known) {
      if (this.#functions.size >= LIMITS.allFunctions) throw new FormatError("too many functions");
      known = { id: this.#functions.size, ...info };
      this.#functions.set(key, known);
    }
    return known;
  }

  #readStacks(reader: ByteReader, tables: Tables): void {
    const count = reader.count(LIMITS.stacks - tables.stacks.length, "stacks");
    const column = (): number[] => Array.from({ length: count }, () => reader.uint());
    const [outcomes, branches, lengths] = [column(), column(), column()];
    for (let i = 0; i < count; i++) {
      const outcome = OUTCOME_NUMBERS[outcomes[i] ?? 0];
      if (outcome === undefined) throw new FormatError("a stack ends in no known way");
      const leaf = readBranch(reader, tables, branches[i] ?? 0, lengths[i] ?? 0);
      const frames = framesOf(leaf, tables);
      tables.stacks.push({ id: this.#nextStackId++, frames, outcome });
    }
  }
}

function readStrings(reader: ByteReader, { strings }: Tables): void {
  const count = reader.count(LIMITS.strings - strings.length, "texts");
  for (let i = 0; i < count; i++) strings.push(cleanName(reader.bytes(LIMITS.stringBytes)));
}

const readString = (reader: ByteReader, strings: readonly string[]): string =>
  strings[reader.below(strings.length, "string")] ?? "";

function readFrames(reader: ByteReader, { frames, functions, strings }: Tables): void {
  const count = reader.count(LIMITS.frames - frames.length, "frames");
  for (let i = 0; i < count; i++) {
    const owner = functions[reader.below(functions.length, "function")] as FunctionInfo;
    const line = reader.maybe(Number.MAX_SAFE_INTEGER - 1, "line");
    const note = reader.maybe(strings.length, "string");
    const flags = reader.below(FRAME_FLAGS, "kind of frame");
    const body = flags & FRAME_BODY ? readString(reader, strings) : undefined;
    frames.push({
      function: owner,
      ...(line === undefined ? {} : { line }),
      ...(note === undefined ? {} : { note: strings[note] ?? "" }),
      ...(body === undefined ? {} : { body }),
      ...(flags & FRAME_FOLDED ? { folded: true } : {}),
    });
  }
}

/** Adds the new nodes of a stack; returns the node of its leaf. */
function readBranch(reader: ByteReader, tables: Tables, back: number, length: number): number {
  const { nodeParents, nodeFrames, nodeDepths, frames } = tables;
  if (back >= nodeParents.length) throw new FormatError("a stack continues one that is not there");
  let node = back === 0 ? 0 : nodeParents.length - back;
  const depth = (nodeDepths[node] ?? 0) + length;
  if (depth > LIMITS.depth) throw new FormatError("a stack is too deep");
  if (nodeParents.length + length > LIMITS.nodes) throw new FormatError("too many stacks");
  for (let i = 0; i < length; i++) {
    nodeFrames.push(reader.below(frames.length, "frame"));
    nodeDepths.push((nodeDepths[node] ?? 0) + 1);
    nodeParents.push(node);
    node = nodeParents.length - 1;
  }
  return node;
}

/** Leaf first. */
function framesOf(leaf: number, tables: Tables): Frame[] {
  const { nodeParents, nodeFrames, nodeDepths, frames } = tables;
  const depth = nodeDepths[leaf] ?? 0;
  tables.stackFrames += depth;
  if (tables.stackFrames > LIMITS.stackFrames) throw new FormatError("too many stacks");
  const list: Frame[] = [];
  for (let node = leaf; node !== 0; node = nodeParents[node] ?? 0) {
    list.push(frames[nodeFrames[node] ?? 0] as Frame);
  }
  return list;
}

function readTasks(reader: ByteReader, { tasks, strings }: Tables): void {
  const count = reader.count(LIMITS.tasks - tasks.length, "threads");
  for (let i = 0; i < count; i++) {
    tasks.push({
      pid: reader.below(UINT32, "process"),
      tid: reader.below(UINT32, "thread"),
      comm: readString(reader, strings),
      thread: readString(reader, strings),
      parentPid: reader.below(UINT32, "process"),
      uid: reader.below(UINT32, "user"),
      cgroup: readString(reader, strings),
      startTime: reader.amount(),
    });
  }
}

function readFacts(reader: ByteReader, tables: Tables): Omit<Tick, "counts"> {
  const { strings } = tables;
  const time = reader.number();
  if (Math.abs(time) > MAX_TIME) throw new FormatError("a time that cannot be");
  const intervalSeconds = reader.amount();
  if (intervalSeconds > LONGEST_INTERVAL_SECONDS) throw new FormatError("a refresh is too long");
  const event = readString(reader, strings);
  const frequency = reader.amount();
  const cpus = reader.below(UINT32, "CPU");
  const host = readString(reader, strings);
  const pidCount = reader.count(LIMITS.pids, "processes");
  const pids = Array.from({ length: pidCount }, () => reader.below(UINT32, "process"));
  const [samples, missed] = [reader.amount(), reader.amount()];
  const self = {
    cpuPercent: reader.amount(),
    bpfCpuPercent: reader.amount(),
    rssBytes: reader.amount(),
    bpfNanosecondsPerSample: reader.amount(),
  };
  const noticeCount = reader.count(LIMITS.notices, "notices");
  const notices = Array.from({ length: noticeCount }, () => readString(reader, strings));
  const metrics = readMetrics(reader, tables);
  const what = { time, intervalSeconds, event, frequency, cpus, host, pids };
  return { ...what, samples, missed, metrics, self, notices };
}

function readMetrics(reader: ByteReader, { shapes, strings }: Tables): Record<string, number> {
  const known = reader.maybe(shapes.length, "list of counters");
  let names = known === undefined ? undefined : shapes[known];
  if (!names) {
    if (shapes.length >= LIMITS.shapes) throw new FormatError("too many lists of counters");
    const count = reader.count(LIMITS.counters, "counters");
    names = Array.from({ length: count }, () => readString(reader, strings));
    shapes.push(names);
  }
  // No prototype of an object is to be written to, whatever a counter is called.
  return Object.fromEntries(names.map((name) => [name, reader.amount()]));
}

function readCounts(reader: ByteReader, { stacks, tasks }: Tables): StackCount[] {
  const count = reader.count(LIMITS.counts, "counts");
  const column = <Item>(items: readonly Item[], what: string): Item[] => {
    let number = 0;
    return Array.from({ length: count }, () => {
      number += reader.signed();
      const item = items[number];
      if (item === undefined) throw new FormatError(`there is no ${what} ${number}`);
      return item;
    });
  };
  const stackColumn = column(stacks, "stack");
  const taskColumn = column(tasks, "thread");
  return stackColumn.map((stack, i) => ({
    stack,
    task: taskColumn[i] as Task,
    count: reader.below(UINT32, "count"),
  }));
}
