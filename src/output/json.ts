/**
 * `--json`: one object a refresh, one a line. Programs rely on its shape: `polytop.snapshot/1`, or `/2` where weights
 * are no samples.
 */

import type { FunctionRow, ProcessRow } from "../model/aggregate.ts";
import { type EventSums, otherSums, withOthers } from "../model/events.ts";
import { busyShare } from "../model/health.ts";
import { hottestStacks, type WeighedStack } from "../model/hottest-stacks.ts";
import { isWaiting } from "../model/waits/activity.ts";
import { type Holder, holderIn } from "../model/waits/holders.ts";
import {
  type StatesByProcess,
  type ThreadStates,
  threadStates,
  waitAges,
} from "../model/waits/states.ts";
import { deadlocks, processesAlone } from "../model/waits/stuck.ts";
import { cleanName } from "../tick/clean-name.ts";
import { listed } from "../tick/runtimes.ts";
import { zerosOf } from "../tick/source.ts";
import type { OwnCost, ProcessFacts, Tick } from "../tick/tick.ts";
import { areSamples } from "../tick/units.ts";
import { isUninterruptible, REASON_LABELS, reasonOf } from "../tick/waits.ts";
import { firstRows, percentage, type Sink, type SinkOptions, sumsOf, tenth } from "./sink.ts";

/** So many holders of locks are told of, each with so many functions. */
const MAX_HOLDERS = 100;
const HOLDER_FRAMES = 40;

/** A sink that writes each refresh as one line of JSON. */
export function jsonSink(options: SinkOptions): Sink {
  const zeros = zerosOf(options.counters);
  return {
    tick: (tick) => `${JSON.stringify(snapshot(tick, options, zeros))}\n`,
    end: () => "",
  };
}

/**
 * One refresh in the form that is promised. It tells every counter, those at 0 too: a reader need not know which exist.
 */
function snapshot(
  tick: Tick,
  options: SinkOptions,
  zeros: Readonly<Record<string, number>>,
): object {
  const sums = sumsOf(tick, options);
  const { samples } = sums;
  const others = otherSums(tick, options);
  const isFirst = areSamples(tick.unit) && !tick.events;
  const ages = waitAges(tick, options);
  const states = isWaiting(tick) ? threadStates(tick) : undefined;
  const stacks = hottestStacks(tick, options, options.stacks ?? 0);
  const samplesPerCpu = tick.frequency * tick.intervalSeconds;
  return {
    schema: isFirst ? "polytop.snapshot/1" : "polytop.snapshot/2",
    host: cleanName(tick.host),
    version: options.version,
    kernel: options.kernelRelease,
    time: new Date(tick.time).toISOString(),
    intervalSeconds: Math.round(tick.intervalSeconds * 1000) / 1000,
    event: tick.event,
    ...(isFirst ? {} : { events: eventList(tick) }),
    frequency: tick.frequency,
    cpus: tick.cpus,
    ...(areSamples(tick.unit) && tick.pids.length === 0
      ? { busyPercent: percentage(busyShare(tick), 1) }
      : {}),
    ...(options.filter ? { filter: options.filter.text } : {}),
    notices: tick.notices.map(cleanName),
    samples,
    missed: tick.missed,
    stacks: { unique: sums.uniqueStacks, ...sums.outcomes },
    runtimes: Object.fromEntries(listed(sums.runtimes).map((it) => [it, sums.runtimes[it]])),
    ...(others.length > 0 ? { by: totalsBy(tick, others) } : {}),
    functions: rowsOf(sums.functions, others, options).map((row) => ({
      ...functionObject(row, samples, ages.get(row.function.id)),
      ...(options.stacks ? { stacks: stackObjects(stacks.get(row.function.id)) } : {}),
      ...(others.length > 0 ? { by: functionBy(row, others) } : {}),
    })),
    processes: sums.processes
      .toSorted((a, b) => b.samples - a.samples || a.pid - b.pid)
      .map((row) => ({
        ...processObject(row, samples, states),
        ...(isFirst ? { cpuPercent: percentage(row.samples, samplesPerCpu) } : {}),
      })),
    ...(isWaiting(tick) ? { waiting: waitingObject(tick) } : {}),
    metrics: { ...zeros, ...tick.metrics },
    self: ownCost(tick.self),
  };
}

const eventList = ({ event, unit, events }: Tick): object[] =>
  (events ?? [{ name: event, unit, period: 1 }]).map(({ name, unit: own, period }) => ({
    name,
    unit: own,
    period,
  }));

/** The rows that were asked for; where there is room, also those that only other events have. */
function rowsOf(
  functions: readonly FunctionRow[],
  others: readonly EventSums[],
  options: SinkOptions,
): readonly FunctionRow[] {
  const rows = firstRows(functions, options);
  const all = withOthers(rows.length < functions.length ? functions : rows, others);
  return options.rows === 0
    ? all
    : [...rows, ...all.slice(functions.length)].slice(0, options.rows);
}

/** What the events behind the first amount to, by their names. */
const totalsBy = ({ events }: Tick, others: readonly EventSums[]): object =>
  Object.fromEntries(
    others.map(({ name, sums }, at) => [
      name,
      { samples: sums.samples, missed: events?.[at + 1]?.missed ?? 0 },
    ]),
  );

const functionBy = (row: FunctionRow, others: readonly EventSums[]): object =>
  Object.fromEntries(
    others.map(({ name, rows }) => {
      const { self = 0, total = 0 } = rows.get(row.function.id) ?? {};
      return [name, { self, total }];
    }),
  );

function ownCost({ parts, ...self }: OwnCost): object {
  return {
    cpuPercent: tenth(self.cpuPercent),
    ...(parts && {
      processCpuPercent: percentHundredth(parts.processPercent),
      childrenCpuPercent: percentHundredth(parts.childrenPercent),
      bpfCpuPercent: percentHundredth(self.bpfCpuPercent),
      ticksCpuPercent: percentHundredth(parts.ticksPercent),
    }),
    rssBytes: self.rssBytes,
    bpfNanosecondsPerSample: Math.round(self.bpfNanosecondsPerSample),
    ...(parts && { tickNanoseconds: parts.tickNanoseconds }),
  };
}

/** Parts are small: a tenth would show nothing of them. */
const percentHundredth = (percent: number): number => Math.round(percent * 100) / 100;

function functionObject(row: FunctionRow, samples: number, age: number | undefined): object {
  return {
    runtime: row.function.runtime,
    name: cleanName(row.function.name),
    module: cleanName(row.function.module),
    ...(row.line === undefined ? {} : { line: row.line }),
    self: row.self,
    total: row.total,
    selfPercent: percentage(row.self, samples),
    totalPercent: percentage(row.total, samples),
    ...(row.why === undefined ? {} : { why: REASON_LABELS[row.why] }),
    ...(age === undefined ? {} : { ageSeconds: thousandth(age) }),
    pids: row.pids.map(({ pid }) => pid),
    pidCount: row.processCount,
  };
}

/** Stacks with their frames, innermost first. */
const stackObjects = (stacks: readonly WeighedStack[] = []): object[] =>
  stacks.map(({ shown, stack, weight }) => ({
    count: weight,
    frames: shown.frames(stack).map((frame) => {
      const { runtime, name, module } = shown.store.functionOf(frame);
      const line = shown.store.lineOf(frame);
      const awaits = shown.store.awaits(frame) ? { awaiting: true } : {};
      const named = { runtime, name: cleanName(name), module: cleanName(module), ...awaits };
      return line === undefined ? named : { ...named, line };
    }),
  }));

function processObject(
  row: ProcessRow,
  samples: number,
  states: StatesByProcess | undefined,
): object {
  const threads = states?.of.get(row.pid);
  return {
    pid: row.pid,
    comm: cleanName(row.comm),
    ...(row.facts ? factsObject(row.facts) : {}),
    samples: row.samples,
    percent: percentage(row.samples, samples),
    runtimes: row.runtimes,
    complete: row.complete,
    guessed: row.guessed,
    ...(threads ? statesObject(threads) : {}),
  };
}

/** What is known of a process; what it has not is left out. */
function factsObject({ command, arguments: whole, user, container, unit }: ProcessFacts): object {
  const known = { command: whole || command, user, container, unit };
  return Object.fromEntries(
    Object.entries(known).flatMap(([key, text]) => (text ? [[key, cleanName(text)]] : [])),
  );
}

const thousandth = (value: number): number => Math.round(value * 1000) / 1000;

const statesObject = (states: ThreadStates): object =>
  Object.fromEntries(Object.entries(states).map(([key, value]) => [key, thousandth(value)]));

/** Threads by state, on average; waits that have lasted or whose lock has an owner; rings of owners. */
function waitingObject(tick: Tick): object {
  const { store, waiting } = tick;
  const longWaits = waiting?.longWaits ?? [];
  return {
    ...statesObject(threadStates(tick).all),
    longWaits: longWaits.flatMap(({ task, stack, seconds, owner }) => {
      const thread = store.tasks[task];
      if (!thread) return [];
      const wait = store.waitOf(stack);
      return {
        pid: thread.pid,
        tid: thread.tid,
        thread: cleanName(thread.thread),
        why: REASON_LABELS[reasonOf(wait)],
        seconds: thousandth(seconds),
        uninterruptible: isUninterruptible(wait),
        ...(owner > 0 ? { owner } : {}),
      };
    }),
    holders: holderObjects(tick),
    deadlocks: waiting ? deadlocks(store, longWaits, processesAlone(waiting)) : [],
  };
}

/** What threads do that hold locks, each once, their functions innermost first; of a file lock it is a process. */
function holderObjects(tick: Tick): object[] {
  const { store, waiting } = tick;
  const seen = new Map<string, Holder>();
  for (const { stack, owner } of waiting?.longWaits ?? []) {
    const isProcess = reasonOf(store.waitOf(stack)) === "file-lock";
    const key = `${isProcess} ${owner}`;
    if (owner <= 0 || seen.has(key)) continue;
    if (seen.size >= MAX_HOLDERS) break;
    seen.set(key, holderIn(tick, owner, isProcess));
  }
  return [...seen.values()].map(({ tid, isProcess, task, does, stack }) => ({
    ...(isProcess ? { pid: tid } : { tid }),
    ...(task ? { thread: cleanName(task.thread) } : {}),
    ...(does ? { does: does === "runs" ? does : REASON_LABELS[does] } : {}),
    stack: stack.slice(0, HOLDER_FRAMES).map(({ name }) => cleanName(name)),
  }));
}
