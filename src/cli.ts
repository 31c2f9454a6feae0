/** The program: reads the command line, decides what runs, and ends with the right exit status. */
import { hostname } from "node:os";
import type { Writable } from "node:stream";
import type { TickSource } from "./collector/source.ts";
import { EXIT_CANNOT, EXIT_FAILED, EXIT_OK, UserError } from "./errors.ts";
import { parseFilter } from "./model/filter.ts";
import { helpText, versionText } from "./option-table.ts";
import { type Options, parseOptions, type RunOptions } from "./options.ts";

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

/** A second signal does not wait for anything. */
function stopOnSignals(): void {
  for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.on(name, () => {
      if (stop.signal.aborted) process.exit(EXIT_OK);
      stop.abort();
    });
  }
}

/** A reader that has gone ends polytop as it ends `cat`: that is no failure. A full disk is. */
function stopOnErrors(output: Writable): void {
  output.on("error", ({ code, message }: NodeJS.ErrnoException) => {
    const isGone = code === "EPIPE" || code === "EIO";
    stop.abort(isGone ? undefined : new UserError(`cannot write: ${message}`, EXIT_FAILED));
  });
}

async function main(): Promise<number> {
  const options = parseOptions(process.argv.slice(2));
  if (options.command === "run") return run(options);
  if (options.command === "doctor") return doctor(options);
  process.stdout.write(options.command === "help" ? helpText() : versionText());
  return EXIT_OK;
}

async function doctor({ json }: Options & { command: "doctor" }): Promise<number> {
  const { diagnose, diagnosisJson, formatDiagnosis } = await import("./doctor.ts");
  const { readFacts } = await import("./doctor-facts.ts");
  const diagnosis = diagnose(readFacts());
  process.stdout.write(json ? diagnosisJson(diagnosis) : formatDiagnosis(diagnosis));
  return diagnosis.canRun ? EXIT_OK : EXIT_CANNOT;
}

/** A screen fills sooner than after a whole refresh. */
const FIRST_LOOK_SECONDS = 0.4;

/** The live view needs a terminal on both sides: one to draw on and one to read keys from. */
const hasTerminal = (): boolean =>
  process.stdin.isTTY === true && process.stdout.isTTY === true && process.env.TERM !== "dumb";

async function run(options: RunOptions): Promise<number> {
  stopOnSignals();
  const { checkMachine, checkPids, clampFrequency } = await import("./preflight.ts");
  checkPids(options.pids);
  checkMachine();
  const { frequency, notice } = clampFrequency(options.frequency);
  if (notice) warn(notice);
  const { openLiveSource } = await import("./collector/source-live.ts");
  const { delaySeconds, event, pids } = options;
  const isLive = options.format === "live" && hasTerminal();
  const firstDelaySeconds = isLive ? Math.min(delaySeconds, FIRST_LOOK_SECONDS) : delaySeconds;
  // The screen loads while the kernel checks the BPF programs.
  if (isLive) void import("./screen/run.tsx");
  const source = await openLiveSource({ frequency, delaySeconds, firstDelaySeconds, event, pids });
  try {
    await (isLive ? live(source, { ...options, frequency }) : plain(source, options));
  } finally {
    await source.close();
  }
  if (stop.signal.reason instanceof UserError) throw stop.signal.reason;
  return EXIT_OK;
}

async function live(source: TickSource, options: RunOptions): Promise<void> {
  const { runScreen } = await import("./screen/run.tsx");
  const { filter, iterations, ...shown } = options;
  await runScreen({
    ...shown,
    source,
    filterText: filter,
    color: options.color && !process.env.NO_COLOR,
    unicode: speaksUtf8(process.env),
    host: hostname(),
    signal: stop.signal,
    ...(iterations === undefined ? {} : { iterations }),
  });
}

/** As the C library decides it: the first of these that is set. */
function speaksUtf8({ LC_ALL, LC_CTYPE, LANG }: NodeJS.ProcessEnv): boolean {
  return /utf-?8/i.test(LC_ALL || LC_CTYPE || LANG || "");
}

async function plain(source: TickSource, options: RunOptions): Promise<void> {
  const { runPlain } = await import("./output/run.ts");
  const { makeWriter, openStdout } = await import("./output/writer.ts");
  const output = openStdout();
  if (output !== process.stdout) stopOnErrors(output);
  const writer = makeWriter(output, warn);
  const parsed = parseFilter(options.filter);
  const filter = "filter" in parsed && parsed.filter.text ? parsed.filter : undefined;
  const { iterations, kernel, nativeFrames, rows, sort } = options;
  const { counters } = source;
  const makeSink = await sinkMaker(options);
  await runPlain({
    source,
    sink: makeSink({ filter, sort, rows, kernel, nativeFrames, counters }),
    iterations,
    signal: stop.signal,
    write: writer.write,
    warn,
  });
  await writer.close(stop.signal);
}

async function sinkMaker({ format }: RunOptions) {
  if (format === "json") return (await import("./output/json.ts")).jsonSink;
  if (format === "folded") return (await import("./output/folded.ts")).foldedSink;
  return (await import("./output/text.ts")).textSink;
}

process.on("uncaughtException", fail);
process.on("unhandledRejection", fail);
stopOnErrors(process.stdout);
// Nobody is left to be told.
process.stderr.on("error", () => {});
process.exit(await main().catch(fail));
