/** Runs a source into a plain output until it has had enough. */
import { ofActivity } from "../model/waits/activity.ts";
import type { TickSource } from "../tick/source.ts";
import type { Tick } from "../tick/tick.ts";
import type { Sink } from "./sink.ts";

/** How long to go on, and where the text goes. */
export interface PlainRun {
  readonly source: TickSource;
  readonly sink: Sink;
  /** Undefined: until `signal` says stop. */
  readonly iterations: number | undefined;
  /** Aborted by SIGINT and SIGTERM: what there is gets printed. */
  readonly signal: AbortSignal;
  write(text: string): void;
  /** Something that the reader should know and that is no part of the output. */
  warn(text: string): void;
}

/** Resolves when all is printed; rejects with what the source failed of. */
export async function runPlain(run: PlainRun): Promise<void> {
  try {
    await refreshes(run);
  } finally {
    // What was collected is printed also when the source has failed.
    run.write(run.sink.end());
  }
}

function refreshes({ source, sink, iterations, signal, write, warn }: PlainRun): Promise<void> {
  return new Promise((resolve, reject) => {
    const said = new Set<string>();
    let left = iterations ?? Number.POSITIVE_INFINITY;
    let unsubscribe = (): void => {};
    const print = (tick: Tick): void => {
      for (const notice of ofActivity(tick).notices) {
        if (!said.has(notice)) warn(notice);
        said.add(notice);
      }
      write(sink.tick(tick));
      left--;
      if (left <= 0) finish(resolve);
    };
    const finish = (settle: () => void): void => {
      left = 0;
      signal.removeEventListener("abort", stop);
      unsubscribe();
      settle();
    };
    const stop = (): void => {
      if (source.flush) source.flush().finally(() => finish(resolve));
      else finish(resolve);
    };
    unsubscribe = source.subscribe((event) => {
      if (left <= 0) return;
      try {
        if ("tick" in event) print(event.tick);
        else if ("notice" in event) warn(event.notice);
        else finish(() => reject(new Error(event.error)));
      } catch (error) {
        finish(() => reject(error));
      }
    });
    source.ended?.then(
      () => {
        if (left > 0) finish(resolve);
      },
      (error: unknown) => {
        if (left > 0) finish(() => reject(error));
      },
    );
    // A source may have had enough to say while it was subscribed to.
    if (left <= 0) unsubscribe();
    else if (signal.aborted) stop();
    else signal.addEventListener("abort", stop);
  });
}
