/**
 * `--pprof`: the run as a gzipped profile.proto, for `go tool pprof` and what else reads it. Facts:
 * github.com/google/pprof, proto/profile.proto.
 */
import { gzipSync } from "node:zlib";
import { Profile, StringTable } from "pprof-format";
import { areSamples, unitRow } from "../tick/units.ts";
import type { ProfileEvent, ProfileSample, RunProfile } from "./run-profile.ts";

/** The file: samples and CPU time by stack, labelled with their process. */
export function pprofFile(profile: RunProfile): Buffer {
  const strings = new StringTable();
  const text = (value: string): number => strings.dedup(value);
  const valueType = (type: string, unit: string) => ({ type: text(type), unit: text(unit) });
  const ids = numberModules(profile);
  const functions = numberFunctions(profile);
  const comm = text("comm");
  const pid = text("pid");
  const [stack, guessed] = [text("stack"), text("guessed")];
  const [async, awaited] = [text("async"), text("awaited")];
  const holdsAwaiting = ({ frames }: ProfileSample): boolean =>
    frames.some((frame) => profile.frames[frame]?.awaits);
  const typesOf = ({ name, unit }: ProfileEvent) =>
    areSamples(unit)
      ? [valueType("samples", "count"), valueType("cpu", "nanoseconds")]
      : [valueType(name || unitRow(unit).pprof.type, unitRow(unit).pprof.unit)];
  const types = profile.events.flatMap(typesOf);
  const [first = { name: "", unit: "" }] = profile.events;
  const main = typesOf(first).at(-1) ?? valueType("", "");
  const valuesOf = ({ weights, values }: ProfileSample): number[] =>
    profile.events.flatMap(({ unit }, place) => {
      const value = Math.round(values[place] ?? 0);
      return areSamples(unit) ? [weights[place] ?? 0, value] : [value];
    });
  const samples = [...profile.samples()].map((sample) => ({
    // Leaf first.
    locationId: sample.frames.map((frame) => frame + 1).reverse(),
    value: valuesOf(sample),
    label: [
      { key: comm, str: text(sample.comm) },
      { key: pid, num: sample.pid },
      ...(sample.isGuessed ? [{ key: stack, str: guessed }] : []),
      ...(holdsAwaiting(sample) ? [{ key: async, str: awaited }] : []),
    ],
  }));
  const encoded = new Profile({
    sampleType: types,
    defaultSampleType: main.type,
    sample: samples,
    // No addresses: everything has its name already, and no tool is to look for files.
    mapping: [...ids].map(([module, id]) => ({
      id,
      filename: text(module),
      hasFunctions: true,
      hasFilenames: true,
      hasLineNumbers: true,
    })),
    location: profile.frames.map(({ function: info, line }, i) => ({
      id: i + 1,
      mappingId: ids.get(moduleOf(info)) ?? 0,
      line: [{ functionId: functions.get(info) ?? 0, line: line ?? 0 }],
    })),
    function: [...functions].map(([info, id]) => ({
      id,
      name: text(info.name),
      systemName: text(info.name),
      filename: text(info.module),
    })),
    timeNanos: BigInt(Math.round(profile.begin ?? 0)) * 1_000_000n,
    durationNanos: Math.round(profile.seconds * 1e9),
    periodType: main,
    period:
      areSamples(first.unit) && profile.frequency > 0 ? Math.round(1e9 / profile.frequency) : 0,
    comment: [text(`polytop on ${profile.host}: ${profile.event}, ${profile.frequency} Hz`)],
    stringTable: strings,
  }).encode();
  return gzipSync(encoded);
}

type Info = RunProfile["frames"][number]["function"];

/** Mappings without a name would be taken for one. */
const moduleOf = ({ module, runtime }: Info): string => module || `[${runtime}]`;

function numberModules({ frames }: RunProfile): Map<string, number> {
  const modules = new Set(frames.map(({ function: info }) => moduleOf(info)));
  return new Map([...modules].map((module, i) => [module, i + 1]));
}

function numberFunctions({ frames }: RunProfile): Map<Info, number> {
  const functions = new Set(frames.map(({ function: info }) => info));
  return new Map([...functions].map((info, i) => [info, i + 1]));
}
