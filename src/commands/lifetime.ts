/** What ends a run: its own end, a signal, a reader that has gone, the command that it followed; and its exit status. */
import type { Writable } from "node:stream";
import type { RecordOptions, RunOptions } from "../options/asked.ts";
import type { StartedCommand, StreamUse } from "../sources/command.ts";
import { EXIT_FAILED, EXIT_OK, UserError } from "../tick/errors.ts";

/** What shells say of a command that a signal ended is so much higher. */
const SIGNAL_STATUS = 128;

/** Says something that is no part of the output. */
export const warn = (text: string): void => {
  process.stderr.write(`polytop: ${text}\n`);
};

const stop = new AbortController();

/**
 * Aborted by what ends a run from outside; the reason is a UserError when that is a failure. The
 * run then ends in order: what there is gets printed, and nothing stays in the kernel.
 */
export const stopped: AbortSignal = stop.signal;

/** The command that was started; signals are for it then, and polytop ends with it. */
let command: StartedCommand | undefined;

/**
 * Takes the signal at which Node.js opens a port for debuggers: whoever is on the machine could run what he likes as
 * polytop's user there.
 */
export function refuseDebuggers(): void {
  process.on("SIGUSR1", () => {});
}

/** Ends the run at a signal. A second signal does not wait for anything. */
export function stopOnSignals(): void {
  for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.on(name, () => {
      if (command) return passOn(name, command);
      if (stopped.aborted) process.exit(EXIT_OK);
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
export async function launch(
  { program }: RunOptions | RecordOptions,
  use: StreamUse,
): Promise<void> {
  if (!program) return;
  const { startCommand } = await import("../sources/command.ts");
  command = startCommand(program, use);
  void command.ended.then(() => stop.abort());
}

/** A reader that has gone ends polytop as it ends `cat`: that is no failure. A full disk is. */
export function stopOnErrors(output: Writable): void {
  output.on("error", stopOnError);
}

function stopOnError({ code, message }: NodeJS.ErrnoException): void {
  const isGone = code === "EPIPE" || code === "EIO";
  stop.abort(isGone ? undefined : new UserError(`cannot write: ${message}`, EXIT_FAILED));
}

/** Prints a text whole; what is in the way of that is a failure, unless its reader has gone. */
export async function print(text: string): Promise<number> {
  await new Promise<void>((done) => {
    process.stdout.write(text, (error) => {
      if (error) stopOnError(error);
      done();
    });
  });
  return exitStatus();
}

/** The status of a run that is done; throws what stopped it. With a command its end is polytop's own. */
export async function exitStatus(): Promise<number> {
  if (stopped.reason instanceof UserError) throw stopped.reason;
  const end = await command?.ended;
  if (!end?.signal) return end?.status ?? EXIT_OK;
  process.removeAllListeners();
  process.kill(process.pid, end.signal);
  return SIGNAL_STATUS + end.signal;
}
