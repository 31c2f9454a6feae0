/** polytop replay: shows a recording as it was live, or as text at full pace. */
import { putScreenFirst } from "../machine/priority.ts";
import type { ReplayOptions } from "../options/asked.ts";
import type { Exports } from "../output/exports.ts";
import { openReplay } from "../sources/replay.ts";
import { exitStatus, stopOnSignals, stopped, warn } from "./lifetime.ts";
import { isLive, makeSink, openExports, openOutput, showLive, showPlain } from "./show.ts";

/** Returns the exit status. */
export async function replay(options: ReplayOptions): Promise<number> {
  stopOnSignals();
  const exports = await openExports(options);
  if (isLive(options)) await replayLive(options, exports);
  else await replayPlain(options, exports);
  exports?.write();
  return exitStatus();
}

async function replayLive(options: ReplayOptions, exports: Exports | undefined): Promise<void> {
  putScreenFirst();
  const { file, pids, delaySeconds } = options;
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
  await showLive(source, shown, exports, source.header);
  await source.close();
}

async function replayPlain(options: ReplayOptions, exports: Exports | undefined): Promise<void> {
  const output = await openOutput();
  const ready = (): Promise<void> => output.ready(stopped);
  const source = openReplay(options.file, { pids: options.pids, pace: "full", ready });
  await showPlain(source, options, await makeSink(options, source, source.header), exports, output);
  await source.close();
  if (source.problem) warn(source.problem);
}
