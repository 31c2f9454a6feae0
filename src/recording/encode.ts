/** Ticks as the bytes of ./format.ts: what is new is listed once and referred to from then on. */
import { RUNTIME_ROWS } from "../tick/runtimes.ts";
import type { Frame, FunctionInfo, Stack, Task, Tick } from "../tick/tick.ts";
import { ByteWriter } from "./bytes.ts";
import { FRAME_BODY, FRAME_FOLDED, OUTCOME_NUMBERS } from "./format.ts";
import { StackTree } from "./stack-tree.ts";

/** Numbering begins anew beyond these: what is kept here, and by a reader, stays below some 30 MB. */
const RENEW_AT = {
  nodes: 400_000,
  stacks: 100_000,
  frames: 200_000,
  strings: 200_000,
  tasks: 50_000,
};

/** Numbers things upwards, by a key; new ones are listed with `write`. */
class Table<Key, Item> {
  readonly #numbers = new Map<Key, number>();
  #news: Item[] = [];

  get size(): number {
    return this.#numbers.size;
  }

  number(key: Key, item: Item): number {
    let number = this.#numbers.get(key);
    if (number === undefined) {
      number = this.#numbers.size;
      this.#numbers.set(key, number);
      this.#news.push(item);
    }
    return number;
  }

  takeNews(): Item[] {
    const news = this.#news;
    this.#news = [];
    return news;
  }
}

interface FrameRow {
  readonly function: number;
  readonly line: number | undefined;
  readonly note: number | undefined;
  readonly body: number | undefined;
  readonly folded: boolean;
}

interface StackRow {
  readonly outcome: number;
  readonly branch: number;
  readonly frames: readonly number[];
}

/** Everything that has a number. */
class Dictionary {
  readonly strings = new Table<string, string>();
  readonly functions = new Table<string, FunctionInfo>();
  readonly frames = new Table<string, FrameRow>();
  readonly tasks = new Table<string, Task>();
  readonly shapes = new Map<string, number>();
  readonly tree = new StackTree();
  /** Functions and frames by identity: most are met again as the same object. */
  readonly functionNumbers = new Map<FunctionInfo, number>();
  readonly frameNumbers = new Map<Frame, number>();
  readonly #stacks = new Map<number, { stack: Stack; number: number }>();
  #stackCount = 0;
  newStacks: StackRow[] = [];

  get isFull(): boolean {
    return (
      this.tree.size > RENEW_AT.nodes ||
      this.#stackCount > RENEW_AT.stacks ||
      this.frameNumbers.size > RENEW_AT.frames ||
      this.strings.size > RENEW_AT.strings ||
      this.tasks.size > RENEW_AT.tasks
    );
  }

  string(text: string): number {
    return this.strings.number(text, text);
  }

  stack(stack: Stack): number {
    const known = this.#stacks.get(stack.id);
    if (known && isSameStack(known.stack, stack)) return known.number;
    const number = this.#stackCount++;
    this.#stacks.set(stack.id, { stack, number });
    this.newStacks.push(this.#row(stack));
    return number;
  }

  #row({ frames, outcome }: Stack): StackRow {
    let node = StackTree.ROOT;
    let at = frames.length - 1;
    for (; at >= 0; at--) {
      const child = this.tree.find(node, this.#frame(frames[at] as Frame));
      if (child === 0) break;
      node = child;
    }
    const branch = node === StackTree.ROOT ? 0 : this.tree.size - node;
    const added: number[] = [];
    for (; at >= 0; at--) {
      const frame = this.#frame(frames[at] as Frame);
      node = this.tree.add(node, frame);
      added.push(frame);
    }
    return { outcome: OUTCOME_NUMBERS.indexOf(outcome), branch, frames: added };
  }

  #frame(frame: Frame): number {
    const known = this.frameNumbers.get(frame);
    if (known !== undefined) return known;
    const row: FrameRow = {
      function: this.#function(frame.function),
      line: isLine(frame.line) ? frame.line : undefined,
      note: frame.note === undefined ? undefined : this.string(frame.note),
      body: frame.body === undefined ? undefined : this.string(frame.body),
      folded: frame.folded === true,
    };
    const key = `${row.function} ${row.line} ${row.note} ${row.body} ${row.folded}`;
    const number = this.frames.number(key, row);
    this.frameNumbers.set(frame, number);
    return number;
  }

  #function(info: FunctionInfo): number {
    const known = this.functionNumbers.get(info);
    if (known !== undefined) return known;
    const { runtime, name, module, whyUnnamed } = info;
    const key = JSON.stringify([runtime, name, module, whyUnnamed]);
    const number = this.functions.number(key, info);
    this.functionNumbers.set(info, number);
    return number;
  }
}

const isLine = (line: number | undefined): line is number =>
  line !== undefined && Number.isSafeInteger(line) && line >= 0;

/** A source may make its stacks anew each time: those are the same too. */
function isSameStack(a: Stack, b: Stack): boolean {
  return (
    a === b ||
    (a.outcome === b.outcome &&
      a.frames.length === b.frames.length &&
      a.frames.every((frame, i) => frame === b.frames[i]))
  );
}

/** Encodes ticks in their order. */
export class TickEncoder {
  #dictionary = new Dictionary();
  #isRenewed = true;
  readonly #out = new ByteWriter();

  /** Bytes that wait to be taken. */
  get length(): number {
    return this.#out.length;
  }

  add(tick: Tick): void {
    const dictionary = this.#dictionary;
    // Functions get numbers in the order of their ids: a replay then orders equal rows as they were.
    this.#numberFunctions(tick);
    const stacks = Array.from(tick.counts, ({ stack }) => dictionary.stack(stack));
    const tasks = this.#tasks(tick);
    const body = facts(tick, dictionary);
    this.#news();
    body(this.#out);
    this.#counts(tick, stacks, tasks);
  }

  /** The ticks since the last call, and whether numbering began anew with them. */
  take(): { readonly bytes: Buffer; readonly isRenewed: boolean } {
    const isRenewed = this.#isRenewed;
    this.#isRenewed = this.#dictionary.isFull;
    if (this.#isRenewed) this.#dictionary = new Dictionary();
    return { bytes: this.#out.take(), isRenewed };
  }

  #numberFunctions({ counts }: Tick): void {
    const { functionNumbers, functions, frameNumbers } = this.#dictionary;
    const met = new Set<FunctionInfo>();
    for (const { stack } of counts) {
      for (const frame of stack.frames) {
        if (!frameNumbers.has(frame) && !functionNumbers.has(frame.function)) {
          met.add(frame.function);
        }
      }
    }
    for (const info of [...met].sort((a, b) => a.id - b.id)) {
      const { runtime, name, module, whyUnnamed } = info;
      const key = JSON.stringify([runtime, name, module, whyUnnamed]);
      functionNumbers.set(info, functions.number(key, info));
    }
  }

  #tasks({ counts }: Tick): number[] {
    const dictionary = this.#dictionary;
    const met = new Map<Task, number>();
    return Array.from(counts, ({ task }) => {
      let number = met.get(task);
      if (number === undefined) {
        const { pid, tid, comm, thread, parentPid, uid, cgroup, startTime } = task;
        const key = [pid, tid, parentPid, uid, startTime, cgroup, comm, thread].join("\0");
        number = dictionary.tasks.number(key, task);
        met.set(task, number);
      }
      return number;
    });
  }

  /** What was not listed yet. Strings come first, so the others' are numbered before these are written. */
  #news(): void {
    const out = this.#out;
    const dictionary = this.#dictionary;
    const string = (text: string): number => dictionary.string(text);
    const functions = dictionary.functions
      .takeNews()
      .map(({ runtime, name, module, whyUnnamed }) => [
        RUNTIME_ROWS[runtime].number,
        string(name),
        string(module),
        whyUnnamed === undefined ? 0 : string(whyUnnamed) + 1,
      ]);
    const tasks = dictionary.tasks.takeNews().map((task) => ({
      numbers: [
        task.pid,
        task.tid,
        string(task.comm),
        string(task.thread),
        task.parentPid,
        task.uid,
        string(task.cgroup),
      ],
      startTime: task.startTime,
    }));
    const strings = dictionary.strings.takeNews();
    out.uint(strings.length);
    for (const text of strings) out.text(text);
    out.uint(functions.length);
    for (const numbers of functions) for (const number of numbers) out.uint(number);
    const frames = dictionary.frames.takeNews();
    out.uint(frames.length);
    for (const { function: owner, line, note, body, folded } of frames) {
      out.uint(owner);
      out.maybe(line);
      out.maybe(note);
      out.uint((folded ? FRAME_FOLDED : 0) | (body === undefined ? 0 : FRAME_BODY));
      if (body !== undefined) out.uint(body);
    }
    this.#stacks();
    out.uint(tasks.length);
    for (const { numbers, startTime } of tasks) {
      for (const number of numbers) out.uint(number);
      out.number(startTime);
    }
  }

  /** In columns: what is alike lies together and packs better. */
  #stacks(): void {
    const out = this.#out;
    const rows = this.#dictionary.newStacks;
    this.#dictionary.newStacks = [];
    out.uint(rows.length);
    for (const { outcome } of rows) out.uint(outcome);
    for (const { branch } of rows) out.uint(branch);
    for (const { frames } of rows) out.uint(frames.length);
    for (const { frames } of rows) for (const frame of frames) out.uint(frame);
  }

  #counts({ counts }: Tick, stacks: readonly number[], tasks: readonly number[]): void {
    const out = this.#out;
    out.uint(counts.length);
    for (const column of [stacks, tasks]) {
      let before = 0;
      for (const number of column) {
        out.signed(number - before);
        before = number;
      }
    }
    for (const { count } of counts) out.uint(count);
  }
}

/** Numbers the strings of a tick's facts now; what it returns writes the facts. */
function facts(tick: Tick, dictionary: Dictionary): (out: ByteWriter) => void {
  const [event, host] = [dictionary.string(tick.event), dictionary.string(tick.host)];
  const notices = tick.notices.map((text) => dictionary.string(text));
  const names = Object.keys(tick.metrics);
  const key = names.join("\n");
  const shape = dictionary.shapes.get(key);
  if (shape === undefined) dictionary.shapes.set(key, dictionary.shapes.size);
  const newShape = shape === undefined ? names.map((name) => dictionary.string(name)) : undefined;
  const { cpuPercent, bpfCpuPercent, rssBytes, bpfNanosecondsPerSample } = tick.self;
  return (out) => {
    out.number(tick.time);
    out.number(tick.intervalSeconds);
    out.uint(event);
    out.number(tick.frequency);
    out.uint(tick.cpus);
    out.uint(host);
    out.uint(tick.pids.length);
    for (const pid of tick.pids) out.uint(pid);
    const { samples, missed } = tick;
    for (const it of [samples, missed, cpuPercent, bpfCpuPercent]) out.number(it);
    for (const it of [rssBytes, bpfNanosecondsPerSample]) out.number(it);
    out.uint(notices.length);
    for (const notice of notices) out.uint(notice);
    out.maybe(shape);
    if (newShape) {
      out.uint(newShape.length);
      for (const name of newShape) out.uint(name);
    }
    for (const name of names) out.number(tick.metrics[name] ?? 0);
  };
}
