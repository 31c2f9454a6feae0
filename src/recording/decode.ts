/** The bytes of ./format.ts as deltas. They may come from anybody: everything is checked. */

import { cleanName } from "../tick/clean-name.ts";
import { FIRST_FUNCTION, STAND_INS } from "../tick/functions.ts";
import { ROOT } from "../tick/prefix-tree.ts";
import { RUNTIME_NUMBERS, runtimeOfNumber } from "../tick/runtimes.ts";
import {
  FRAME_AWAITS as AWAITS,
  FRAME_FOLDED as FOLDED,
  FRAME_SCHEDULES as SCHEDULES,
} from "../tick/store.ts";
import {
  type FunctionInfo,
  OUTCOMES,
  type ProcessFacts,
  type Task,
  type TickHeader,
} from "../tick/tick.ts";
import { WAITS } from "../tick/waits.ts";
import { ByteReader } from "./bytes.ts";
import type { TickDelta } from "./delta.ts";
import { readEvents } from "./events.ts";
import {
  FormatError,
  FRAME_ALWAYS,
  FRAME_AWAITS,
  FRAME_BODY,
  FRAME_FLAGS,
  FRAME_FOLDED,
  FRAME_SCHEDULES,
  LAST_WITHOUT_AWAITS,
  LAST_WITHOUT_EVENTS,
  LAST_WITHOUT_FACTS,
  LAST_WITHOUT_UNIT,
  LAST_WITHOUT_WAITS,
  LIMITS,
  OLD_FRAME_FLAGS,
  WAIT_FACTOR,
} from "./format.ts";
import { readWaiting } from "./waiting.ts";

/** Milliseconds that a Date can hold, ECMA-262 "Time Values and Time Range". */
const MAX_TIME = 8.64e15;

const LONGEST_INTERVAL_SECONDS = 1e6;

/** Numbers of the system: pids, CPUs, users. */
const UINT32 = 2 ** 32;

/** Roughly what things take in memory beside their texts. */
const FUNCTION_BYTES = 250;
const FRAME_BYTES = 20;
const STACK_BYTES = 40;
const NODE_BYTES = 32;
const TASK_BYTES = 200;
const TEXT_BYTES = 50;

/** What tables may take: a small file can stand for much. */
class Memory {
  #left: number;
  readonly #what: string;

  constructor(bytes: number, what: string) {
    this.#left = bytes;
    this.#what = what;
  }

  take(bytes: number): void {
    this.#left -= bytes;
    if (this.#left < 0) throw new FormatError(`its ${this.#what} take too much memory`);
  }
}

/** What has a number, until numbering begins anew. */
class Tables {
  readonly memory = new Memory(LIMITS.tableBytes, "stacks and texts");
  readonly strings: string[] = [];
  /** Ids by the numbers of the file. */
  readonly functions: number[] = [];
  /** How many frames, stacks, threads and nodes there are; node 0 is the root. */
  frames = 0;
  stacks = 0;
  tasks = 0;
  readonly nodeDepths: number[] = [0];
  readonly shapes: (readonly string[])[] = [];
}

/** Decodes chunks in their order. Throws a FormatError where a chunk is not what it should be. */
export class TickDecoder {
  readonly #version: number;
  #tables: Tables | undefined;
  /** Functions keep their ids when numbering begins anew. */
  readonly #functions = new Map<string, number>();
  readonly #memory = new Memory(LIMITS.functionBytes, "functions");

  /** `version`: that of the file. */
  constructor(version: number) {
    this.#version = version;
  }

  /** The deltas of a chunk, each when it is asked for. */
  *chunk(bytes: Buffer, isRenewed: boolean): Generator<TickDelta> {
    if (isRenewed) this.#tables = new Tables();
    const tables = this.#tables;
    if (!tables) throw new FormatError("the first ticks refer to others");
    const reader = new ByteReader(bytes);
    for (let renewed = isRenewed; !reader.isAtEnd; renewed = false) {
      const texts = readStrings(reader, tables);
      const functions = this.#readFunctions(reader, tables);
      const columns = {
        ...readFrames(reader, tables, this.#version),
        ...readStacks(reader, tables),
      };
      const tasks = readTasks(reader, tables, this.#version);
      const header = readFacts(reader, tables, this.#version);
      const counts = readCounts(reader, tables);
      const events = this.#version > LAST_WITHOUT_EVENTS ? readEvents(reader) : undefined;
      const others = events?.slice(1).map(() => readCounts(reader, tables)) ?? [];
      yield {
        header: events ? { ...header, events } : header,
        renewed,
        functions,
        texts,
        columns,
        tasks,
        counts,
        ...(others.length > 0 ? { others } : {}),
      };
    }
  }

  /** Functions that were not met before, also not under another number. */
  #readFunctions(reader: ByteReader, { functions, strings }: Tables): FunctionInfo[] {
    const news: FunctionInfo[] = [];
    const count = reader.count(LIMITS.functions - functions.length, "functions");
    for (let i = 0; i < count; i++) {
      const runtime = runtimeOfNumber(reader.below(RUNTIME_NUMBERS, "runtime"));
      const name = readString(reader, strings);
      const module = readString(reader, strings);
      const why = reader.maybe(strings.length, "string");
      const whyUnnamed = why === undefined ? undefined : strings[why];
      const key = JSON.stringify([runtime, name, module, whyUnnamed]);
      let id = this.#functions.get(key);
      if (id === undefined) {
        if (this.#functions.size >= LIMITS.allFunctions)
          throw new FormatError("too many functions");
        this.#memory.take(FUNCTION_BYTES + 2 * key.length);
        id = FIRST_FUNCTION + this.#functions.size;
        this.#functions.set(key, id);
        news.push({ id, runtime, name, module, ...(whyUnnamed ? { whyUnnamed } : {}) });
      }
      functions.push(id);
    }
    return news;
  }
}

function readStrings(reader: ByteReader, { strings, memory }: Tables): string[] {
  const count = reader.count(LIMITS.strings - strings.length, "texts");
  const news = Array.from({ length: count }, () => {
    const text = cleanName(reader.bytes(LIMITS.stringBytes));
    memory.take(TEXT_BYTES + 2 * text.length);
    return text;
  });
  for (const text of news) strings.push(text);
  return news;
}

const readString = (reader: ByteReader, strings: readonly string[]): string =>
  strings[reader.below(strings.length, "string")] ?? "";

function readFrames(reader: ByteReader, tables: Tables, version: number) {
  const isOld = version <= LAST_WITHOUT_AWAITS;
  const { functions, strings } = tables;
  const count = reader.count(LIMITS.frames - tables.frames, "frames");
  tables.memory.take(FRAME_BYTES * count);
  const column = (): Uint32Array<ArrayBuffer> => new Uint32Array(count);
  const frames = {
    frameFunctions: column(),
    frameLines: column(),
    frameNotes: column(),
    frameBodies: column(),
    frameFlags: column(),
  };
  for (let i = 0; i < count; i++) {
    frames.frameFunctions[i] = functions[reader.below(functions.length, "function")] ?? 0;
    // A line that no file has is none.
    const line = (reader.maybe(Number.MAX_SAFE_INTEGER - 1, "line") ?? -1) + 1;
    frames.frameLines[i] = line < UINT32 ? line : 0;
    frames.frameNotes[i] = (reader.maybe(strings.length, "string") ?? -1) + 1;
    const flags = reader.below(isOld ? OLD_FRAME_FLAGS : FRAME_FLAGS, "kind of frame");
    if (!isOld && !(flags & FRAME_ALWAYS)) throw new FormatError("a frame is of another version");
    frames.frameFlags[i] =
      (flags & FRAME_FOLDED ? FOLDED : 0) |
      (flags & FRAME_AWAITS ? AWAITS : 0) |
      (flags & FRAME_SCHEDULES ? SCHEDULES : 0);
    if (flags & FRAME_BODY) frames.frameBodies[i] = reader.below(strings.length, "string") + 1;
  }
  tables.frames += count;
  return frames;
}

/** The frames of a file come after those that every store begins with. */
const FIRST_FRAME = STAND_INS.length;

function readStacks(reader: ByteReader, tables: Tables) {
  const { nodeDepths } = tables;
  const count = reader.count(LIMITS.stacks - tables.stacks, "stacks");
  tables.memory.take(STACK_BYTES * count);
  const column = (): number[] => Array.from({ length: count }, () => reader.uint());
  const [hows, branches, lengths] = [column(), column(), column()];
  const outcomes = hows.map((how) => how % WAIT_FACTOR);
  const waits = hows.map((how) => Math.floor(how / WAIT_FACTOR));
  if (waits.some((wait) => wait >= WAITS)) throw new FormatError("a thread waits in no known way");
  const backs: number[] = [];
  const frames: number[] = [];
  const leaves = outcomes.map((outcome, i) => {
    if (outcome >= OUTCOMES.length) throw new FormatError("a stack ends in no known way");
    const [back = 0, length = 0] = [branches[i], lengths[i]];
    const size = nodeDepths.length;
    if (back >= size) throw new FormatError("a stack continues one that is not there");
    let node = back === 0 ? ROOT : size - back;
    const depth = nodeDepths[node] ?? 0;
    if (depth + length > LIMITS.depth) throw new FormatError("a stack is too deep");
    if (size + length > LIMITS.nodes) throw new FormatError("too many stacks");
    tables.memory.take(NODE_BYTES * length);
    for (let added = 1; added <= length; added++) {
      frames.push(FIRST_FRAME + reader.below(tables.frames, "frame"));
      const child = nodeDepths.push(depth + added) - 1;
      backs.push(child - node);
      node = child;
    }
    return node;
  });
  tables.stacks += count;
  return {
    nodeBacks: Uint32Array.from(backs),
    nodeFrames: Uint32Array.from(frames),
    stackLeaves: Uint32Array.from(leaves),
    stackOutcomes: Uint32Array.from(outcomes),
    stackWaits: Uint32Array.from(waits),
  };
}

function readTasks(reader: ByteReader, tables: Tables, version: number): Task[] {
  const { strings } = tables;
  const count = reader.count(LIMITS.tasks - tables.tasks, "threads");
  tables.tasks += count;
  tables.memory.take(TASK_BYTES * count);
  return Array.from({ length: count }, () => ({
    pid: reader.below(UINT32, "process"),
    tid: reader.below(UINT32, "thread"),
    comm: readString(reader, strings),
    thread: readString(reader, strings),
    parentPid: reader.below(UINT32, "process"),
    uid: reader.below(UINT32, "user"),
    cgroup: readString(reader, strings),
    startTime: reader.amount(),
    ...(version > LAST_WITHOUT_FACTS ? readProcessFacts(reader, strings) : {}),
  }));
}

function readProcessFacts(
  reader: ByteReader,
  strings: readonly string[],
): { readonly facts?: ProcessFacts } {
  if (reader.below(2, "kind of process") === 0) return {};
  const text = (): string => readString(reader, strings);
  return {
    facts: { user: text(), container: text(), unit: text(), group: text(), command: text() },
  };
}

function readFacts(reader: ByteReader, tables: Tables, version: number): TickHeader {
  const { strings } = tables;
  const time = reader.number();
  if (Math.abs(time) > MAX_TIME) throw new FormatError("a time that cannot be");
  const intervalSeconds = reader.amount();
  if (intervalSeconds > LONGEST_INTERVAL_SECONDS) throw new FormatError("a refresh is too long");
  const event = readString(reader, strings);
  const unit = version > LAST_WITHOUT_UNIT ? readString(reader, strings) : "samples";
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
  const what = { time, intervalSeconds, event, unit, frequency, cpus, host, pids };
  const waiting = version > LAST_WITHOUT_WAITS ? readWaiting(reader, tables) : {};
  return { ...what, samples, missed, metrics, self, notices, ...waiting };
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

function readCounts(reader: ByteReader, { stacks, tasks }: Tables): TickDelta["counts"] {
  const count = reader.count(LIMITS.counts, "counts");
  const column = (end: number, what: string): Uint32Array<ArrayBuffer> => {
    const numbers = new Uint32Array(count);
    let number = 0;
    for (let i = 0; i < count; i++) {
      number += reader.signed();
      if (number < 0 || number >= end) throw new FormatError(`there is no ${what} ${number}`);
      numbers[i] = number;
    }
    return numbers;
  };
  const counts = { stacks: column(stacks, "stack"), tasks: column(tasks, "thread") };
  const weights = new Float64Array(count);
  for (let i = 0; i < count; i++) weights[i] = reader.uint();
  return { length: count, ...counts, weights };
}
