/** Lets the process leave the terminal: its user stops it for a while, or it is ended from outside. */

/** The process goes on so long after it asked to be stopped, if nobody stops it, ms. */
const STOP_MS = 100;

/**
 * Stops the process group as ^Z does in a program that leaves the terminal alone; resolves when it
 * goes on. A group without a shell is not stopped by the kernel: then it just goes on.
 */
export async function stopProcess(): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  process.once("SIGCONT", resolve);
  const timer = setTimeout(resolve, STOP_MS);
  process.kill(0, "SIGTSTP");
  await promise;
  clearTimeout(timer);
  process.removeListener("SIGCONT", resolve);
}

/** A terminal or its user ends the program from outside in these ways. */
export type Ending = "signal" | "terminal";

/** Calls `end` once when a signal asks to stop or the terminal is gone; returns how to stop that. */
export function watchForEnd(
  stdin: NodeJS.ReadableStream,
  stdout: NodeJS.WritableStream,
  end: (why: Ending) => void,
): () => void {
  const signal = (): void => end("signal");
  const gone = (): void => end("terminal");
  const signals = ["SIGTERM", "SIGINT", "SIGQUIT"] as const;
  for (const name of signals) process.on(name, signal);
  process.on("SIGHUP", gone);
  stdin.on("end", gone).on("error", gone).on("close", gone);
  stdout.on("error", gone).on("close", gone);
  return () => {
    for (const name of signals) process.removeListener(name, signal);
    process.removeListener("SIGHUP", gone);
    for (const event of ["end", "error", "close"]) stdin.removeListener(event, gone);
    stdout.removeListener("close", gone);
    // Errors of a terminal that is gone must stay caught while the last bytes are tried.
  };
}
