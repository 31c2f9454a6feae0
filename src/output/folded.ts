/** `--folded`: collapsed stacks of the whole run, the input of flame graph tools. */
import { AWAITS_SUFFIX } from "../text/awaits.ts";
import { cleanName } from "../tick/clean-name.ts";
import { GUESSED_FRAME, type ProfileFrame, RunProfile } from "./run-profile.ts";
import type { Sink, SinkOptions } from "./sink.ts";

/**
 * A sink that writes `comm;frame;frame count`, root first, once at the end; where several events are counted, the
 * event stands before that.
 */
export function foldedSink(options: SinkOptions): Sink {
  const profile = new RunProfile(options);
  return {
    tick: (tick) => {
      profile.add(tick);
      return "";
    },
    end: () => lines(profile),
  };
}

function lines(profile: RunProfile): string {
  const names = profile.frames.map(frameName);
  const merged = new Map<string, number>();
  const { events } = profile;
  for (const { comm, frames, isGuessed, weights } of profile.samples()) {
    const mark = isGuessed ? [GUESSED_FRAME] : [];
    const line = [separate(comm), ...mark, ...frames.map((frame) => names[frame])].join(";");
    for (const [place, weight] of weights.entries()) {
      if (weight <= 0) continue;
      const own = events.length > 1 ? `${separate(events[place]?.name ?? "")};${line}` : line;
      merged.set(own, (merged.get(own) ?? 0) + weight);
    }
  }
  return [...merged]
    .map(([line, samples]) => `${line} ${samples}\n`)
    .sort()
    .join("");
}

const frameName = ({ function: { name, runtime }, awaits }: ProfileFrame): string =>
  separate(name) + (runtime === "kernel" ? "_[k]" : awaits ? AWAITS_SUFFIX : "");

/** A name that cannot be taken for two: `;` separates frames, and flamegraph.pl takes a number behind a space for a count. */
const separate = (name: string): string =>
  cleanName(name)
    .replaceAll(";", ":")
    .replace(/\s+(\d+(?:\.\d*)?)$/, "_$1") || "-";
