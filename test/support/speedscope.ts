/**
 * Checks speedscope files. What is checked is what the file format says of sampled profiles
 * (github.com/jlfwong/speedscope, src/lib/file-format-spec.ts), in words and in types.
 */

export interface SpeedscopeFile {
  readonly $schema: string;
  readonly shared: {
    readonly frames: readonly {
      readonly name: string;
      readonly file?: string;
      readonly line?: number;
    }[];
  };
  readonly profiles: readonly {
    readonly type: string;
    readonly name: string;
    readonly unit: string;
    readonly startValue: number;
    readonly endValue: number;
    readonly samples: readonly (readonly number[])[];
    readonly weights: readonly number[];
  }[];
  readonly activeProfileIndex?: number;
}

const UNITS = ["none", "nanoseconds", "microseconds", "milliseconds", "seconds", "bytes"];

/** Properties and what their values are; those with `?` may be left out. */
const SHAPES = {
  file: {
    $schema: "string",
    shared: "object",
    profiles: "array",
    "name?": "string",
    "activeProfileIndex?": "number",
    "exporter?": "string",
  },
  frame: { name: "string", "file?": "string", "line?": "number", "col?": "number" },
  profile: {
    type: "string",
    name: "string",
    unit: "string",
    startValue: "number",
    endValue: "number",
    samples: "array",
    weights: "array",
  },
} as const;

const kindOf = (value: unknown): string => (Array.isArray(value) ? "array" : typeof value);

function shapeErrors(what: keyof typeof SHAPES, value: object): string[] {
  const shape: Readonly<Record<string, string>> = SHAPES[what];
  const names = Object.keys(shape).map((name) => name.replace("?", ""));
  const unknown = Object.keys(value).filter((name) => !names.includes(name));
  const wrong = Object.entries(shape).filter(([name, kind]) => {
    const given = (value as Record<string, unknown>)[name.replace("?", "")];
    return given === undefined ? !name.endsWith("?") : kindOf(given) !== kind;
  });
  return [...unknown, ...wrong.map(([name]) => name)].map((name) => `${what}: ${name}`);
}

/** What is wrong with a file. */
export function speedscopeErrors(file: SpeedscopeFile): string[] {
  const errors = shapeErrors("file", file);
  if (file.$schema !== "https://www.speedscope.app/file-format-schema.json") errors.push("$schema");
  const { frames } = file.shared;
  errors.push(...frames.flatMap((frame) => shapeErrors("frame", frame)));
  for (const profile of file.profiles) {
    errors.push(...shapeErrors("profile", profile));
    const { type, unit, startValue, endValue, samples, weights } = profile;
    if (type !== "sampled") errors.push(`type ${type}`);
    if (!UNITS.includes(unit)) errors.push(`unit ${unit}`);
    if (endValue < startValue) errors.push("it ends before it starts");
    if (samples.length !== weights.length) errors.push("not a weight for each sample");
    const isFrame = (it: number): boolean => Number.isInteger(it) && frames[it] !== undefined;
    if (!samples.flat().every(isFrame)) errors.push("a frame that is not there");
    if (!weights.every((weight) => weight >= 0)) errors.push("a negative weight");
  }
  if (file.profiles[file.activeProfileIndex ?? 0] === undefined) errors.push("activeProfileIndex");
  return errors;
}
