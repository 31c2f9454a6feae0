/** Ticks as the bytes of ./format.ts: what is new is listed once and referred to from then on. */

import { Interner } from "../tick/interner.ts";
import { PrefixTree, ROOT } from "../tick/prefix-tree.ts";
import { RUNTIME_ROWS } from "../tick/runtimes.ts";
import type { FactsOf } from "../tick/source.ts";
import type { Store } from "../tick/store.ts";
import type { AwaitRole, Counts, FunctionInfo, ProcessFacts, Task, Tick } from "../tick/tick.ts";
import { ByteWriter } from "./bytes.ts";
import { writeEvents } from "./events.ts";
import {
  FRAME_ALWAYS,
  FRAME_AWAITS,
  FRAME_BODY,
  FRAME_FOLDED,
  FRAME_SCHEDULES,
  WAIT_FACTOR,
} from "./format.ts";
import { writeWaiting } from "./waiting.ts";

/** Numbering begins anew beyond these: what is kept here, and by a reader, stays below some 30 MB. */
const RENEW_AT = {
  nodes: 400_000,
  stacks: 100_000,
  frames: 200_000,
  strings: 200_000,
  tasks: 50_000,
};

/** The flags of each role. */
const AWAIT_FLAGS: Readonly<Record<AwaitRole, number>> = {
  awaits: FRAME_AWAITS,
  mark: FRAME_AWAITS | FRAME_SCHEDULES,
  schedules: FRAME_SCHEDULES,
};

interface FrameRow {
  readonly function: number;
  readonly line: number | undefined;
  readonly note: number | undefined;
  readonly body: number | undefined;
  readonly folded: boolean;
  readonly awaits: AwaitRole | undefined;
}

interface StackRow {
  /** Its outcome and how its thread waits. */
  readonly how: number;
  readonly branch: number;
  readonly frames: readonly number[];
}

/** Numbers in the file by numbers of a store; what is not listed yet is missing. */
class StoreNumbers {
  readonly frames: number[] = [];
  readonly nodes: number[] = [ROOT];
  readonly stacks: number[] = [];
  readonly tasks: number[] = [];
}

/** What is kept of a process: its arguments may be secrets, and are not. */
const recordedFacts = (facts: ProcessFacts | undefined): string[] =>
  facts ? [facts.user, facts.container, facts.unit, facts.group, facts.command] : [];

/** Everything that has a number. */
class Dictionary {
  readonly strings = new Interner<string, string>();
  readonly functions = new Interner<string, FunctionInfo>();
  readonly frames = new Interner<string, FrameRow>();
  readonly tasks = new Interner<string, Task>();
  readonly stacks = new Interner<string, StackRow>();
  readonly shapes = new Map<string, number>();
  readonly #tree = new PrefixTree();
  readonly #stores = new WeakMap<Store, StoreNumbers>();

  get isFull(): boolean {
    return (
      this.#tree.size > RENEW_AT.nodes ||
      this.stacks.size > RENEW_AT.stacks ||
      this.frames.size > RENEW_AT.frames ||
      this.strings.size > RENEW_AT.strings ||
      this.tasks.size > RENEW_AT.tasks
    );
  }

  numbersOf(store: Store): StoreNumbers {
    let numbers = this.#stores.get(store);
    if (!numbers) {
      numbers = new StoreNumbers();
      this.#stores.set(store, numbers);
    }
    return numbers;
  }

  string(text: string): number {
    return this.strings.number(text, text);
  }

  function(info: FunctionInfo): number {
    const { runtime, name, module, whyUnnamed } = info;
    return this.functions.number(JSON.stringify([runtime, name, module, whyUnnamed]), info);
  }

  task(task: Task): number {
    const { pid, tid, comm, thread, parentPid, uid, cgroup, startTime, facts } = task;
    const numbers = [pid, tid, parentPid, uid, startTime];
    const key = [...numbers, cgroup, comm, thread, ...recordedFacts(facts)].join("\0");
    return this.tasks.number(key, task);
  }

  /** Numbers a frame: frames of a store that say the same are one. */
  frame(store: Store, frame: number, factsOf: FactsOf | undefined): number {
    const text = (value: string | undefined): number | undefined =>
      value === undefined ? undefined : this.string(value);
    const { source, body = store.bodyOf(frame) } = factsOf?.(store, frame) ?? {};
    const row: FrameRow = {
      function: this.function(store.functionOf(frame)),
      line: source?.line ?? store.lineOf(frame),
      note: text(store.noteOf(frame)),
      body: text(body),
      folded: store.isFolded(frame),
      awaits: store.awaitRoleOf(frame),
    };
    const key = `${row.function} ${row.line} ${row.note} ${row.body} ${row.folded} ${row.awaits}`;
    return this.frames.number(key, row);
  }

  /** Numbers the stack of some frames, outermost first. */
  stack(frames: readonly number[], how: number): number {
    const before = this.#tree.size;
    let [node, branch, known] = [ROOT, ROOT, 0];
    for (const frame of frames) {
      node = this.#tree.child(node, frame);
      if (node >= before) break;
      branch = node;
      known++;
    }
    for (const frame of frames.slice(known + 1)) node = this.#tree.child(node, frame);
    return this.stacks.number(`${node} ${how}`, {
      how,
      branch: branch === ROOT ? 0 : before - branch,
      frames: frames.slice(known),
    });
  }
}

const howOf = ({ columns }: Store, stack: number): number =>
  columns.stackOutcomes.at(stack) + WAIT_FACTOR * columns.stackWaits.at(stack);

/** Encodes ticks in their order. */
export class TickEncoder {
  #dictionary = new Dictionary();
  #isRenewed = true;
  readonly #out = new ByteWriter();

  /** Bytes that wait to be taken. */
  get length(): number {
    return this.#out.length;
  }

  /** Encodes a tick; `factsOf` knows of frames what its store does not. */
  add(tick: Tick, factsOf?: FactsOf): void {
    const { store } = tick;
    const everyCounts = [tick.counts, ...(tick.others ?? [])];
    const dictionary = this.#dictionary;
    const numbers = dictionary.numbersOf(store);
    const stacks = new Set(everyCounts.flatMap((counts) => [...counts.stacks]));
    const news = [...stacks].filter((stack) => numbers.stacks[stack] === undefined);
    // Functions get numbers in the order of their ids: a replay then orders equal rows as they were.
    const met = new Set(news.flatMap((stack) => store.framesOf(stack)));
    const functions = new Set(Array.from(met, (frame) => store.functionOf(frame)));
    for (const info of [...functions].sort((a, b) => a.id - b.id)) dictionary.function(info);
    for (const stack of news) {
      const frames = store.framesOf(stack).reverse();
      const listed = frames.map((frame) => {
        numbers.frames[frame] ??= dictionary.frame(store, frame, factsOf);
        return numbers.frames[frame];
      });
      numbers.stacks[stack] = dictionary.stack(listed, howOf(store, stack));
    }
    // Processes that were never sampled are listed too: they tell of families.
    for (const task of store.tasks.slice(numbers.tasks.length)) {
      numbers.tasks.push(dictionary.task(task));
    }
    const body = facts(tick, dictionary);
    this.#news();
    body(this.#out);
    writeWaiting(this.#out, tick, numbers);
    this.#counts(tick.counts, numbers);
    writeEvents(this.#out, tick);
    for (const counts of tick.others ?? []) this.#counts(counts, numbers);
  }

  /** The ticks since the last call, and whether numbering began anew with them. */
  take(): { readonly bytes: Buffer; readonly isRenewed: boolean } {
    const isRenewed = this.#isRenewed;
    this.#isRenewed = this.#dictionary.isFull;
    if (this.#isRenewed) this.#dictionary = new Dictionary();
    return { bytes: this.#out.take(), isRenewed };
  }

  /** Writes what was not listed yet. Strings come first, so the others' are numbered before these are written. */
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
      facts: recordedFacts(task.facts).map(string),
    }));
    const strings = dictionary.strings.takeNews();
    out.uint(strings.length);
    for (const text of strings) out.text(text);
    out.uint(functions.length);
    for (const numbers of functions) for (const number of numbers) out.uint(number);
    const frames = dictionary.frames.takeNews();
    out.uint(frames.length);
    for (const { function: owner, line, note, body, folded, awaits } of frames) {
      out.uint(owner);
      out.maybe(line);
      out.maybe(note);
      const flags = (folded ? FRAME_FOLDED : 0) | (body === undefined ? 0 : FRAME_BODY);
      out.uint(FRAME_ALWAYS | flags | (awaits === undefined ? 0 : AWAIT_FLAGS[awaits]));
      if (body !== undefined) out.uint(body);
    }
    this.#stacks();
    out.uint(tasks.length);
    for (const { numbers, startTime, facts } of tasks) {
      for (const number of numbers) out.uint(number);
      out.number(startTime);
      out.uint(facts.length > 0 ? 1 : 0);
      for (const number of facts) out.uint(number);
    }
  }

  /** Writes stacks in columns: what is alike lies together and packs better. */
  #stacks(): void {
    const out = this.#out;
    const rows = this.#dictionary.stacks.takeNews();
    out.uint(rows.length);
    for (const { how } of rows) out.uint(how);
    for (const { branch } of rows) out.uint(branch);
    for (const { frames } of rows) out.uint(frames.length);
    for (const { frames } of rows) for (const frame of frames) out.uint(frame);
  }

  #counts(counts: Counts, numbers: StoreNumbers): void {
    const out = this.#out;
    out.uint(counts.length);
    for (const [column, listed] of [
      [counts.stacks, numbers.stacks],
      [counts.tasks, numbers.tasks],
    ] as const) {
      let before = 0;
      for (const place of column) {
        const number = listed[place] ?? 0;
        out.signed(number - before);
        before = number;
      }
    }
    for (const weight of counts.weights) out.uint(weight);
  }
}

/** Numbers the strings of a tick's facts now; what it returns writes the facts. */
function facts(tick: Tick, dictionary: Dictionary): (out: ByteWriter) => void {
  const [event, unit] = [dictionary.string(tick.event), dictionary.string(tick.unit)];
  const host = dictionary.string(tick.host);
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
    out.uint(unit);
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
