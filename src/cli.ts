/** The program: reads the command line, decides what runs, and ends with the right exit status. */
import { hostname } from "node:os";
import type { Writable } from "node:stream";
import type { ResolvedEvent } from "./addon/events.ts";
import { cacheFolder } from "./machine/cache-folder.ts";
import { compileSparingly } from "./machine/engine.ts";
import { speaksUtf8 } from "./machine/locale.ts";
import { putScreenFirst } from "./machine/priority.ts";
import { type Filter, parseFilter } from "./model/filter.ts";
import { ofActivity } from "./model/waits/activity.ts";
import { budgetPercent } from "./options/environment.ts";
import { helpText, versionText } from "./options/option-table.ts";
import {
  type Options,
  parseOptions,
  type RecordOptions,
  type ReplayOptions,
  type RunOptions,
  type ShowOptions,
} from "./options/options.ts";
import type { Exports } from "./output/exports.ts";
import { SINK_FORMATS } from "./output/formats.ts";
import type { Sink } from "./output/sink.ts";
import type { Writer } from "./output/writer.ts";
import type { RecordingHeader } from "./recording/format.ts";
import type { EventTools } from "./screen/state/session.ts";
import type { StartedCommand, StreamUse } from "./sources/command.ts";
import type { LiveSource } from "./sources/live.ts";
import { EXIT_CANNOT, EXIT_FAILED, EXIT_OK, UserError } from "./tick/errors.ts";
import { isTimeOnly } from "./tick/event-request.ts";
import type { EventName } from "./tick/events.ts";
import type { TickSource } from "./tick/source.ts";
import type { Tick } from "./tick/tick.ts";

/** Says something that is no part of the output. */
const warn = (text: string): void => {
  process.stderr.write(`polytop: ${text}\n`);
};

/** Ends with what went wrong in a line or two. Errors that are not meant for users say so. */
function fail(error: unknown): never {
  const { message, stack, exitCode } = error as Error & { exitCode?: unknown };
  const isForUser = typeof exitCode === "number";
  const text = String(message ?? error);
  warn(isForUser || !stack ? text : `${text}\nPOLYTOP_DEBUG=1 shows where this happened`);
  if (process.env.POLYTOP_DEBUG === "1" && stack) process.stderr.write(`${stack}\n`);
  process.exit(isForUser ? exitCode : EXIT_FAILED);
}

/**
 * Aborted by what ends a run from outside; the reason is a UserError when that is a failure. The
 * run then ends in order: what there is gets printed, and nothing stays in the kernel.
 */
const stop = new AbortController();

/** The command that was started; signals are for it then, and polytop ends with it. */
let command: StartedCommand | undefined;

/** A second signal does not wait for anything. */
function stopOnSignals(): void {
  for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.on(name, () => {
      if (command) return passOn(name, command);
      if (stop.signal.aborted) process.exit(EXIT_OK);
      stop.abort();
    });
  }
}

function passOn(name: NodeJS.Signals, { pid }: StartedCommand): void {
  // The terminal has sent it to the command too.
  if (name === "SIGINT" && process.stdin.isTTY) return;
  try {
    process.kill(pid, name);
  } catch {
    // It has ended.
  }
}

/** Starts the command that is to be followed, where there is one. */
async function launch({ program }: RunOptions | RecordOptions, use: StreamUse): Promise<void> {
  if (!program) return;
  const { startCommand } = await import("./sources/command.ts");
  command = startCommand(program, use);
  void command.ended.then(() => stop.abort());
}

/** A reader that has gone ends polytop as it ends `cat`: that is no failure. A full disk is. */
function stopOnErrors(output: Writable): void {
  output.on("error", stopOnError);
}

function stopOnError({ code, message }: NodeJS.ErrnoException): void {
  const isGone = code === "EPIPE" || code === "EIO";
  stop.abort(isGone ? undefined : new UserError(`cannot write: ${message}`, EXIT_FAILED));
}

async function main(): Promise<number> {
  const options = parseOptions(process.argv.slice(2));
  if (options.command === "run") return run(options);
  if (options.command === "record") return record(options);
  if (options.command === "replay") return replay(options);
  if (options.command === "doctor") return doctor(options);
  if (options.command === "list") return list(options);
  if (options.command === "help") return print(helpText());
  const { readRelease } = await import("./machine/installation.ts");
  return print(versionText(readRelease()));
}

/** Prints a text whole; what is in the way of that is a failure, unless its reader has gone. */
async function print(text: string): Promise<number> {
  await new Promise<void>((done) => {
    process.stdout.write(text, (error) => {
      if (error) stopOnError(error);
      done();
    });
  });
  return ended();
}

/** Prints what matches, and attaches nothing. */
async function list(options: Options & { command: "list" }): Promise<number> {
  const { list: find } = await import("./events/list.ts");
  const { loadAddon } = await import("./addon/binding.ts");
  const { checkNativeFiles, checkPids } = await import("./doctor/preflight.ts");
  checkPids(options.pids);
  checkNativeFiles();
  return print(`${find(options, loadAddon()).join("\n")}\n`);
}

async function doctor({ json }: Options & { command: "doctor" }): Promise<number> {
  const { diagnose, diagnosisJson, formatDiagnosis } = await import("./doctor/doctor.ts");
  const { readFacts } = await import("./doctor/facts.ts");
  const { readInstallation } = await import("./machine/installation.ts");
  const diagnosis = diagnose(readFacts(), readInstallation());
  await print(json ? diagnosisJson(diagnosis) : formatDiagnosis(diagnosis));
  return diagnosis.canRun ? EXIT_OK : EXIT_CANNOT;
}

/** What shells say of a command that a signal ended is so much higher. */
const SIGNAL_STATUS = 128;

/** A screen fills sooner than after a whole refresh. */
const FIRST_LOOK_SECONDS = 0.2;

/** Where only running code is looked at: this holds some 10 samples of each busy CPU. */
const QUICK_LOOK_SECONDS = 0.1;

/** The live view needs a terminal on both sides: one to draw on and one to read keys from. */
const hasTerminal = (): boolean =>
  process.stdin.isTTY === true && process.stdout.isTTY === true && process.env.TERM !== "dumb";

/** A screen draws over what was warned of: only plain output says it at once. */
const isLive = ({ format }: ShowOptions): boolean => format === "live" && hasTerminal();

async function run(options: RunOptions): Promise<number> {
  stopOnSignals();
  const exports = await openExports(options);
  if (isLive(options)) putScreenFirst();
  const { source, frequency } = await openMachine(options, isLive(options));
  try {
    await launch(options, isLive(options) ? "screen" : "output");
    if (isLive(options)) {
      const { eventTools } = await import("./events/choose.ts");
      const { loadAddon } = await import("./addon/binding.ts");
      const tools = eventTools({ addon: loadAddon(), program: options.program }, source);
      await live(source, { ...options, frequency, eventTools: tools }, exports);
    } else {
      await plain(source, options, await makeSink(options, source), exports);
    }
  } finally {
    await source.close();
    exports?.write();
  }
  return ended();
}

/** Done, or what stopped it. With a command its end is polytop's own. */
async function ended(): Promise<number> {
  if (stop.signal.reason instanceof UserError) throw stop.signal.reason;
  const end = await command?.ended;
  if (!end?.signal) return end?.status ?? EXIT_OK;
  process.removeAllListeners();
  process.kill(process.pid, end.signal);
  return SIGNAL_STATUS + end.signal;
}

async function record(options: RecordOptions): Promise<number> {
  stopOnSignals();
  const exports = await openExports(options);
  const { headerOfMachine, recordingSink } = await import("./output/recording.ts");
  const { source } = await openMachine(options, false);
  let summary = "";
  try {
    // Not before this machine can be sampled: nothing is left behind where it cannot.
    const sink = recordingSink(options.output, headerOfMachine(source.counters));
    await launch(options, "none");
    await plain(source, options, sink, exports);
    summary = sink.summary();
  } finally {
    await source.close();
    exports?.write();
  }
  warn(summary);
  return ended();
}

async function replay(options: ReplayOptions): Promise<number> {
  stopOnSignals();
  const exports = await openExports(options);
  const { openReplay } = await import("./sources/replay.ts");
  const { file, pids, delaySeconds } = options;
  if (isLive(options)) {
    putScreenFirst();
    const source = openReplay(file, {
      pids,
      pace: "recorded",
      ...(delaySeconds === undefined ? {} : { delaySeconds }),
    });
    const shown = {
      ...options,
      frequency: 0,
      delaySeconds: delaySeconds ?? source.recordedSeconds,
    };
    await live(source, shown, exports, source.header);
    await source.close();
  } else {
    const output = await openOutput();
    const ready = (): Promise<void> => output.ready(stop.signal);
    const source = openReplay(file, { pids, pace: "full", ready });
    await plain(source, options, await makeSink(options, source), exports, output);
    await source.close();
    if (source.problem) warn(source.problem);
  }
  exports?.write();
  return ended();
}

/** Starts to sample this machine; throws where it or its user cannot. */
async function openMachine(
  options: (RunOptions | RecordOptions) & ShowOptions,
  isWatched: boolean,
): Promise<{ source: LiveSource; frequency: number }> {
  const { openLiveSource, startThread } = await import("./sources/live.ts");
  const thread = startThread();
  const preflight = await import("./doctor/preflight.ts");
  const { checkMachine, checkNativeFiles, checkPids, clampFrequency } = preflight;
  checkPids(options.pids);
  checkMachine();
  checkNativeFiles();
  // Read while the kernel verifies the BPF programs, on another CPU.
  if (isWatched) void import("./screen/run.ts");
  const { frequency, notice } = clampFrequency(options.frequency);
  if (notice) warn(notice);
  const { delaySeconds, pids, cache } = options;
  const { event, events, period } = await eventsOf(options);
  const firstSeconds = event === "cpu" && !events ? QUICK_LOOK_SECONDS : FIRST_LOOK_SECONDS;
  const budget = budgetPercent(process.env);
  const source = await openLiveSource(thread, {
    event,
    ...(events ? { events } : {}),
    ...(period === undefined ? {} : { period }),
    frequency,
    delaySeconds,
    firstDelaySeconds: isWatched ? Math.min(delaySeconds, firstSeconds) : delaySeconds,
    pids,
    byFunction: !isWatched,
    followsOwn: options.program !== undefined,
    ...(options.program ? { prepared: await filesBefore(options.program) } : {}),
    cacheFolder: cache ? cacheFolder(process.env, process.getuid?.()) : "",
    ...(budget === undefined ? {} : { budgetPercent: budget }),
  });
  return { source, frequency };
}

/** Files that a command runs at its start; between fork and exec it is polytop itself. */
async function filesBefore(program: readonly string[]): Promise<readonly string[]> {
  const { filesOfWords } = await import("./events/command-files.ts");
  const { loadAddon } = await import("./addon/binding.ts");
  return [...filesOfWords(program, loadAddon()), process.execPath];
}

/** What is counted: the time of CPUs or of waits alone, or events that this machine has. */
async function eventsOf(options: RunOptions | RecordOptions): Promise<{
  readonly event: EventName;
  readonly events?: readonly ResolvedEvent[];
  readonly period?: number;
}> {
  const { events: requests, count, pids, program } = options;
  const [first] = requests;
  if (isTimeOnly(requests)) return { event: first?.kind === "time" ? first.event : "cpu" };
  const { resolveEvents } = await import("./events/resolve.ts");
  const { loadAddon } = await import("./addon/binding.ts");
  const events = resolveEvents(requests, { addon: loadAddon(), pids, program });
  for (const { notice } of events) if (notice) warn(notice);
  return { event: "cpu", events, ...(count === undefined ? {} : { period: count }) };
}

async function openExports(options: ShowOptions): Promise<Exports | undefined> {
  const { exports, kernel, nativeFrames, idle } = options;
  if (Object.keys(exports).length === 0) return undefined;
  const { Exports } = await import("./output/exports.ts");
  return Exports.open(exports, { filter: filterOf(options), kernel, nativeFrames, idle });
}

async function live(
  source: TickSource,
  options: ShowOptions & {
    readonly frequency: number;
    readonly delaySeconds: number;
    readonly eventTools?: EventTools;
  },
  exports: Exports | undefined,
  recorded?: RecordingHeader,
): Promise<void> {
  const { runScreen } = await import("./screen/run.ts");
  const { headerOfMachine, writeTicks } = await import("./output/recording.ts");
  const { filter, iterations, ...shown } = options;
  const unsubscribe = source.subscribe((event) => {
    if (exports && "tick" in event) exports.add(ofActivity(event.tick));
  });
  const header = recorded ?? headerOfMachine(source.counters);
  await runScreen({
    ...shown,
    source,
    filterText: filter,
    color: options.color && !process.env.NO_COLOR,
    unicode: speaksUtf8(process.env),
    host: recorded?.host ?? hostname(),
    signal: stop.signal,
    write: (ticks, lineOf) => writeTicks(ticks, header, lineOf),
    ...(iterations === undefined ? {} : { iterations }),
    // Users, cgroups and processes of this machine say nothing about those of a recording.
    remote: recorded !== undefined,
  });
  unsubscribe();
}

/** Standard output, for text. */
async function openOutput(): Promise<Writer> {
  const { makeWriter, openStdout } = await import("./output/writer.ts");
  const output = openStdout();
  if (output !== process.stdout) stopOnErrors(output);
  return makeWriter(output, warn);
}

async function plain(
  source: TickSource,
  { iterations }: ShowOptions,
  sink: Sink,
  exports: Exports | undefined,
  output?: Writer,
): Promise<void> {
  const { runPlain } = await import("./output/run.ts");
  const writer = output ?? (await openOutput());
  const tick = (it: Tick): string => {
    exports?.add(ofActivity(it));
    return sink.tick(it);
  };
  await runPlain({
    source,
    sink: { tick, end: () => sink.end() },
    iterations,
    signal: stop.signal,
    write: writer.write,
    warn,
  });
  await writer.close(stop.signal);
}

async function makeSink(options: ShowOptions, { counters }: TickSource): Promise<Sink> {
  const { format, sort, rows, kernel, nativeFrames, idle } = options;
  const shown = { filter: filterOf(options), sort, rows, kernel, nativeFrames, idle, counters };
  // Without a terminal the live view is plain text.
  const makeSink = await SINK_FORMATS[format === "live" ? "batch" : format].load();
  const sink = makeSink(shown);
  return { tick: (tick) => sink.tick(ofActivity(tick)), end: () => sink.end() };
}

function filterOf({ filter }: ShowOptions): Filter | undefined {
  const parsed = parseFilter(filter);
  return "filter" in parsed && parsed.filter.text ? parsed.filter : undefined;
}

compileSparingly();
process.on("uncaughtException", fail);
process.on("unhandledRejection", fail);
stopOnErrors(process.stdout);
// Nobody is left to be told.
process.stderr.on("error", () => {});
process.exit(await main().catch(fail));
