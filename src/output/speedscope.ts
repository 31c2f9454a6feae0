/**
 * `--speedscope`: the run for www.speedscope.app. Facts: github.com/jlfwong/speedscope,
 * src/lib/file-format-spec.ts and the schema made of it.
 */
import packageJson from "../../package.json" with { type: "json" };
import { markedName } from "../text/awaits.ts";
import { areSamples, unitRow } from "../tick/units.ts";
import { GUESSED_FRAME, type ProfileEvent, type RunProfile } from "./run-profile.ts";

/** A profile of its own for so many programs, those with the most samples. */
const MAX_PROGRAMS = 50;

interface Weighted {
  /** Frame indexes, root first. */
  readonly frames: readonly number[];
  weight: number;
}

/** The file: one profile of all, programs as outermost frames, and one for each program. */
export function speedscopeFile(profile: RunProfile): string {
  const mark = profile.frames.length;
  const programs = byProgram(profile, mark, 0);
  const names = [...programs.keys()];
  const frames = profile.frames.map(({ function: { name, module }, line, awaits }) => ({
    name: markedName(name || "-", awaits),
    ...(module ? { file: module } : {}),
    ...(line ? { line } : {}),
  }));
  const first = mark + 1;
  const unitOf = ({ unit }: ProfileEvent): string =>
    areSamples(unit) ? "nanoseconds" : unitRow(unit).speedscope;
  const unit = profile.events.slice(0, 1).map(unitOf).join();
  const known = new Map(names.map((name, i) => [name, first + i]));
  const allOf = (stacks: Map<string, Weighted[]>): Weighted[] =>
    [...stacks].flatMap(([name, list]) =>
      list.map(({ frames: stack, weight }) => ({
        frames: [known.get(name) ?? mark, ...stack],
        weight,
      })),
    );
  const of = profile.events[0]?.name ? `${profile.events[0].name} of ` : "all of ";
  return `${JSON.stringify({
    $schema: "https://www.speedscope.app/file-format-schema.json",
    exporter: `${packageJson.name} ${packageJson.version}`,
    name: `${profile.host}, ${new Date(profile.begin ?? 0).toISOString()}`,
    activeProfileIndex: 0,
    shared: {
      frames: [...frames, { name: GUESSED_FRAME }, ...names.map((name) => ({ name: name || "-" }))],
    },
    profiles: [
      sampled(`${of}${profile.host}`, allOf(programs), unit),
      ...profile.events
        .slice(1)
        .map((event, at) =>
          sampled(
            `${event.name} of ${profile.host}`,
            allOf(byProgram(profile, mark, at + 1)),
            unitOf(event),
          ),
        ),
      ...names
        .slice(0, MAX_PROGRAMS)
        .map((name) => sampled(name || "-", programs.get(name) ?? [], unit)),
    ],
  })}\n`;
}

function sampled(name: string, stacks: readonly Weighted[], unit: string): object {
  const weights = stacks.map(({ weight }) => Math.round(weight));
  return {
    type: "sampled",
    name,
    unit,
    startValue: 0,
    endValue: weights.reduce((sum, weight) => sum + weight, 0),
    samples: stacks.map(({ frames }) => frames),
    weights,
  };
}

/**
 * Stacks of each program, whatever the number of its processes, with the weights of an event; the busiest program first.
 * `mark` is the outermost frame of those that hold guesses.
 */
function byProgram(profile: RunProfile, mark: number, place: number): Map<string, Weighted[]> {
  const programs = new Map<string, Map<string, Weighted>>();
  for (const { comm, frames: known, isGuessed, values } of profile.samples()) {
    const value = values[place] ?? 0;
    const frames = isGuessed ? [mark, ...known] : known;
    let stacks = programs.get(comm);
    if (!stacks) {
      stacks = new Map();
      programs.set(comm, stacks);
    }
    const key = frames.join();
    const sum = stacks.get(key);
    if (sum) sum.weight += value;
    else stacks.set(key, { frames, weight: value });
  }
  const weight = (stacks: Map<string, Weighted>): number =>
    [...stacks.values()].reduce((sum, stack) => sum + stack.weight, 0);
  return new Map(
    [...programs]
      .map(([name, stacks]) => ({ name, stacks: [...stacks.values()], weight: weight(stacks) }))
      .sort((a, b) => b.weight - a.weight)
      .map(({ name, stacks }) => [name, stacks]),
  );
}
