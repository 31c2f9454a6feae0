/** Shows what a source brings: on a screen, or as plain text; and keeps the whole run for its exports. */
import { hostname, release } from "node:os";
import packageJson from "../../package.json" with { type: "json" };
import { speaksUtf8 } from "../machine/locale.ts";
import { depthOf, saysLight } from "../machine/terminal-colours.ts";
import { type Filter, parseFilter } from "../model/filter/filter.ts";
import { ofActivity } from "../model/waits/activity.ts";
import type { ShowOptions } from "../options/asked.ts";
import type { Exports } from "../output/exports.ts";
import { SINK_FORMATS } from "../output/formats.ts";
import type { Sink } from "../output/sink.ts";
import type { Writer } from "../output/writer.ts";
import type { RecordingHeader } from "../recording/format.ts";
import type { EventTools } from "../screen/state/session.ts";
import type { TickSource } from "../tick/source.ts";
import type { Tick } from "../tick/tick.ts";
import { stopOnErrors, stopped, warn } from "./lifetime.ts";

/** The live view needs a terminal on both sides: one to draw on and one to read keys from. */
const hasTerminal = (): boolean =>
  process.stdin.isTTY === true && process.stdout.isTTY === true && process.env.TERM !== "dumb";

/** Whether a screen is shown. It draws over what was warned of: only plain output says that at once. */
export const isLive = ({ format }: ShowOptions): boolean => format === "live" && hasTerminal();

function filterOf({ filter }: ShowOptions): Filter | undefined {
  const parsed = parseFilter(filter);
  return "filter" in parsed && parsed.filter.text ? parsed.filter : undefined;
}

/** Opens the files that are written at the end of the run, where any are asked for. */
export async function openExports(options: ShowOptions): Promise<Exports | undefined> {
  const { exports, kernel, nativeFrames, idle, physical } = options;
  if (Object.keys(exports).length === 0) return undefined;
  const { Exports } = await import("../output/exports.ts");
  return Exports.open(exports, {
    filter: filterOf(options),
    ...{ kernel, nativeFrames, idle, physical },
  });
}

export interface LiveOptions extends ShowOptions {
  readonly frequency: number;
  readonly delaySeconds: number;
  readonly eventTools?: EventTools;
}

/** Shows a source on the screen until its user leaves; `recorded`: the header of what is replayed. */
export async function showLive(
  source: TickSource,
  options: LiveOptions,
  exports: Exports | undefined,
  recorded?: RecordingHeader,
): Promise<void> {
  const { runScreen } = await import("../screen/run.ts");
  const { headerOfMachine, writeTicks } = await import("../output/recording.ts");
  const { filter, iterations, ...shown } = options;
  const unsubscribe = source.subscribe((event) => {
    if (exports && "tick" in event) exports.add(ofActivity(event.tick));
  });
  const header = recorded ?? headerOfMachine(source.counters);
  await runScreen({
    ...shown,
    source,
    filterText: filter,
    depth: options.color && !process.env.NO_COLOR ? depthOf(process.env) : "none",
    ...backgroundOf(options),
    unicode: !options.ascii && speaksUtf8(process.env),
    host: recorded?.host ?? hostname(),
    signal: stopped,
    write: (ticks, factsOf) => writeTicks(ticks, header, factsOf),
    ...(iterations === undefined ? {} : { iterations }),
    // Users, cgroups and processes of this machine say nothing about those of a recording.
    remote: recorded !== undefined,
  });
  unsubscribe();
}

/** What is said of the colour behind the text; nothing where nobody says. */
function backgroundOf({ light, dark }: LiveOptions): { background?: "dark" | "light" } {
  if (dark) return { background: "dark" };
  return light || saysLight(process.env) ? { background: "light" } : {};
}

/** Standard output, for text. */
export async function openOutput(): Promise<Writer> {
  const { makeWriter, openStdout } = await import("../output/writer.ts");
  const output = openStdout();
  if (output !== process.stdout) stopOnErrors(output);
  return makeWriter(output, warn);
}

/** Writes what a sink makes of a source, until either ends; `output`: opened before, for a source that waits for it. */
export async function showPlain(
  source: TickSource,
  { iterations }: ShowOptions,
  sink: Sink,
  exports: Exports | undefined,
  output?: Writer,
): Promise<void> {
  const { runPlain } = await import("../output/run.ts");
  const writer = output ?? (await openOutput());
  const tick = (it: Tick): string => {
    exports?.add(ofActivity(it));
    return sink.tick(it);
  };
  await runPlain({
    source,
    sink: { tick, end: () => sink.end() },
    iterations,
    signal: stopped,
    write: writer.write,
    warn,
  });
  await writer.close(stopped);
}

/** The sink of the format that is asked for; `recorded`: the header of what is replayed. Without a terminal the live view is plain text. */
export async function makeSink(
  options: ShowOptions,
  { counters }: TickSource,
  recorded?: RecordingHeader,
): Promise<Sink> {
  const { format, sort, rows, stacks, kernel, nativeFrames, idle, physical } = options;
  const shown = {
    filter: filterOf(options),
    ...{ sort, rows, stacks, kernel, nativeFrames, idle, physical, counters },
    version: recorded?.program.replace(/^polytop /, "") ?? packageJson.version,
    kernelRelease: recorded?.kernel ?? release(),
  };
  const make = await SINK_FORMATS[format === "live" ? "batch" : format].load();
  const sink = make(shown);
  return { tick: (tick) => sink.tick(ofActivity(tick)), end: () => sink.end() };
}
