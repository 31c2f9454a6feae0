/** polytop record: writes what is sampled into a file. */
import type { RecordOptions } from "../options/asked.ts";
import { headerOfMachine, recordingSink } from "../output/recording.ts";
import { exitStatus, launch, stopOnSignals, warn } from "./lifetime.ts";
import { openMachine } from "./machine.ts";
import { openExports, showPlain } from "./show.ts";

/** Returns the exit status. */
export async function record(options: RecordOptions): Promise<number> {
  stopOnSignals();
  const exports = await openExports(options);
  const { source } = await openMachine(options, false);
  let summary = "";
  try {
    // Not before this machine can be sampled: nothing is left behind where it cannot.
    const sink = recordingSink(options.output, headerOfMachine(source.counters));
    await launch(options, "none");
    await showPlain(source, options, sink, exports);
    summary = sink.summary();
  } finally {
    await source.close();
    exports?.write();
  }
  warn(summary);
  return exitStatus();
}
