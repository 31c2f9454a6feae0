/** polytop without a word: samples this machine and shows what it finds, live or as text. */
import { putScreenFirst } from "../machine/priority.ts";
import type { RunOptions } from "../options/asked.ts";
import { exitStatus, launch, stopOnSignals } from "./lifetime.ts";
import { openMachine } from "./machine.ts";
import { isLive, makeSink, openExports, showLive, showPlain } from "./show.ts";

/** Returns the exit status. */
export async function run(options: RunOptions): Promise<number> {
  stopOnSignals();
  const exports = await openExports(options);
  const isWatched = isLive(options);
  if (isWatched) putScreenFirst();
  const { source, frequency } = await openMachine(options, isWatched);
  try {
    await launch(options, isWatched ? "screen" : "output");
    if (isWatched) {
      const { eventTools } = await import("../events/choose.ts");
      const { loadAddon } = await import("../addon/binding.ts");
      const tools = eventTools({ addon: loadAddon(), program: options.program }, source);
      await showLive(source, { ...options, frequency, eventTools: tools }, exports);
    } else {
      await showPlain(source, options, await makeSink(options, source), exports);
    }
  } finally {
    await source.close();
    exports?.write();
  }
  return exitStatus();
}
