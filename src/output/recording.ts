/** Recordings as an output: `polytop record`, and what the key `w` writes. */
import { cpus, hostname, release } from "node:os";
import { setImmediate } from "node:timers/promises";
import packageJson from "../../package.json" with { type: "json" };
import type { RecordingHeader } from "../recording/format.ts";
import { RecordingWriter } from "../recording/writer.ts";
import { bytes, duration, thousands } from "../text/format.ts";
import { cleanName } from "../tick/clean-name.ts";
import type { CounterDefinition, FactsOf } from "../tick/source.ts";
import type { Tick } from "../tick/tick.ts";
import type { Sink } from "./sink.ts";

/** The header of a recording that is made here and now. */
export function headerOfMachine(counters: readonly CounterDefinition[]): RecordingHeader {
  const processors = cpus();
  return {
    program: `${packageJson.name} ${packageJson.version}`,
    created: new Date().toISOString(),
    host: cleanName(hostname()),
    kernel: cleanName(release()),
    cpuModel: cleanName(processors[0]?.model ?? ""),
    cpus: processors.length,
    counters,
  };
}

/** A sink that prints nothing and keeps everything; its end says what it holds. */
export interface RecordingSink extends Sink {
  /** Says in one line what was recorded; to be asked after the end. */
  summary(): string;
}

/** Begins a recording; throws a UserError where that cannot be. */
export function recordingSink(path: string, header: RecordingHeader): RecordingSink {
  const writer = new RecordingWriter(path, header, { replace: true });
  let samples = 0;
  let seconds = 0;
  return {
    tick: (tick) => {
      writer.add(tick);
      samples += tick.samples;
      seconds += tick.intervalSeconds;
      return "";
    },
    end: () => {
      writer.end();
      return "";
    },
    summary: () =>
      `${thousands(samples)} samples in ${duration(seconds)} recorded into ${path} (${bytes(writer.size)}): polytop replay ${path}`,
  };
}

/** How long other work may wait while many ticks are written. */
const SLICE_MS = 8;

/**
 * Writes ticks into a new file in the current directory, with what `factsOf` knows of frames; returns its name.
 * Rejects with a UserError.
 */
export async function writeTicks(
  ticks: readonly Tick[],
  header: RecordingHeader,
  factsOf?: FactsOf,
  now = new Date(),
): Promise<string> {
  const path = recordingName(header.host, now);
  const writer = new RecordingWriter(path, header, { replace: false });
  try {
    let begin = performance.now();
    for (const tick of ticks) {
      writer.add(tick, factsOf);
      if (performance.now() - begin < SLICE_MS) continue;
      await setImmediate();
      begin = performance.now();
    }
    writer.end();
    return path;
  } catch (error) {
    writer.discard();
    throw error;
  }
}

/** `polytop-web-3-20260131-120001.polytop`: sorts by time, and is a name on every file system. */
export function recordingName(host: string, now: Date): string {
  const place = host.replace(/[^\w.-]/g, "_").slice(0, 64) || "machine";
  const [date = "", time = ""] = now.toISOString().split("T");
  return `polytop-${place}-${date.replaceAll("-", "")}-${time.slice(0, 8).replaceAll(":", "")}.polytop`;
}
