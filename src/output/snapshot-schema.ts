/**
 * The shape of a line of `--json`, as JSON Schema (draft 2020-12). It is written down here once: `docs/snapshot.schema.json`
 * is made of it, and a test holds it against what is really written.
 */
import { EVERY_RUNTIME } from "../tick/runtimes.ts";
import { OUTCOMES } from "../tick/tick.ts";

/** A schema, as far as this one needs them. */
export interface Schema {
  readonly type?: "object" | "array" | "string" | "number" | "integer" | "boolean";
  readonly description?: string;
  readonly enum?: readonly string[];
  readonly minimum?: number;
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  /** Of other keys; false: there are none. */
  readonly additionalProperties?: Schema | boolean;
  readonly [annotation: `$${string}`]: string;
}

const text = (description: string): Schema => ({ type: "string", description });
const flag = (description: string): Schema => ({ type: "boolean", description });
const number = (description: string): Schema => ({ type: "number", minimum: 0, description });
const count = (description: string): Schema => ({ type: "integer", minimum: 0, description });
const list = (items: Schema, description: string): Schema => ({
  type: "array",
  items,
  description,
});
const map = (values: Schema, description: string): Schema => ({
  type: "object",
  additionalProperties: values,
  description,
});

/** An object; a key that ends in `?` may be missing. */
function object(keys: Readonly<Record<string, Schema>>, description = ""): Schema {
  const names = Object.keys(keys);
  return {
    type: "object",
    ...(description === "" ? {} : { description }),
    properties: Object.fromEntries(
      names.map((name) => [name.replace(/\?$/, ""), keys[name] as Schema]),
    ),
    required: names.filter((name) => !name.endsWith("?")),
    additionalProperties: false,
  };
}

const RUNTIME: Schema = { enum: EVERY_RUNTIME, description: "where the code comes from" };

const FRAME = object({
  runtime: RUNTIME,
  name: text("the function; in [brackets] why there is no name"),
  module: text("the file, assembly or kernel module that it is in; empty where there is none"),
  "line?": count("the source line, where it is known"),
  "inlined?": flag("compiled into the frame outside of it"),
  "awaiting?": flag("it awaits the frame inside of it, and is on no stack"),
});

const BY = "the events behind the first, by their names";

const FUNCTION = object({
  runtime: RUNTIME,
  name: text("the function; in [brackets] why there is no name"),
  module: text("the file, assembly or kernel module that it is in; empty where there is none"),
  "line?": count("its busiest line"),
  self: number("weight of the stacks whose innermost frame it is"),
  total: number("weight of the stacks that it is in, recursion counted once"),
  selfPercent: number("self in percent of samples"),
  totalPercent: number("total in percent of samples"),
  "why?": text("what threads mostly wait for in it"),
  "ageSeconds?": number("how long the oldest wait in it has lasted"),
  pids: list(count("a pid"), "processes that it ran in, most samples first, at most 20"),
  pidCount: count("in how many processes it ran"),
  "stacks?": list(
    object({ count: number("weight of the stack"), frames: list(FRAME, "innermost first") }),
    "with --stacks N: its N hottest stacks",
  ),
  "by?": map(object({ self: number("as self"), total: number("as total") }), BY),
});

const STATES = {
  running: number("threads that run, on average"),
  runnable: number("threads that wait for a CPU"),
  blocked: number("threads that wait for something else"),
  idle: number("threads that wait for work"),
};

const PROCESS = object({
  pid: count("its number"),
  comm: text("its name"),
  "host?": text("the machine that it runs on, where there are several"),
  "command?": text("its command line; in recordings and with --no-arguments program and script"),
  "user?": text("whose it is"),
  "container?": text("the container or pod that it runs in"),
  "unit?": text("its unit of systemd"),
  samples: number("weight of its stacks"),
  percent: number("samples in percent of all"),
  "cpuPercent?": number("its time in percent of one CPU"),
  runtimes: list(RUNTIME, "managed ones that were anywhere in its stacks; others where innermost"),
  complete: number("weight of its stacks that reach the outermost frame: no share"),
  guessed: number("weight of its stacks that reach it by guesses: no share"),
  "threads?": count("its threads"),
  ...Object.fromEntries(Object.entries(STATES).map(([key, value]) => [`${key}?`, value])),
});

const WAITING = object(
  {
    threads: count("threads that were looked at"),
    ...STATES,
    longWaits: list(
      object({
        pid: count("the process"),
        tid: count("the thread"),
        thread: text("its name"),
        why: text("what it waits for"),
        seconds: number("how long the wait has lasted"),
        uninterruptible: flag("it is in state D"),
        "owner?": count("the thread that holds the lock, or of a file lock the process"),
      }),
      "waits that have lasted, or whose lock has an owner",
    ),
    holders: list(
      object({
        "pid?": count("the process, of a file lock"),
        "tid?": count("the thread, of other locks"),
        "thread?": text("its name"),
        "does?": text("`runs`, or what it waits for"),
        stack: list(text("a function"), "innermost first"),
      }),
      "what those do that hold locks",
    ),
    deadlocks: list(list(count("a thread"), "a ring"), "threads that wait for each other"),
  },
  "with wait and wall",
);

const SELF = object(
  {
    cpuPercent: number("all of it, in percent of one CPU"),
    "processCpuPercent?": number("its own threads"),
    "childrenCpuPercent?": number("programs that read files and memory for it"),
    "bpfCpuPercent?": number("its BPF programs"),
    "ticksCpuPercent?": number("the timer ticks that take the samples"),
    rssBytes: number("resident memory"),
    bpfNanosecondsPerSample: number("time of the BPF programs a sample"),
    "tickNanoseconds?": number("what a tick costs, as measured at the start"),
  },
  "what polytop itself costs",
);

/** The schema of a line. */
export const SNAPSHOT: Schema = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  $id: "polytop.snapshot",
  ...object(
    {
      schema: {
        enum: ["polytop.snapshot/1", "polytop.snapshot/2"],
        description: "/1: weights are samples of the CPUs' time; /2: of what `events` says",
      },
      host: text("the machine"),
      version: text("of polytop"),
      kernel: text("the release of the machine's kernel"),
      time: text("the end of the refresh, ISO 8601"),
      intervalSeconds: number("its length"),
      event: text("what is sampled; the first of several"),
      "events?": list(
        object({
          name: text("the event"),
          unit: text("what its weights count: samples, nanoseconds, bytes, events"),
          period: number("every so-many-th hit was looked at"),
        }),
        "with /2: all events",
      ),
      frequency: number("samples a second on each CPU"),
      cpus: count("CPUs of the machine"),
      "busyPercent?": number("part of the CPUs' time that was not idle; missing with -p"),
      "filter?": text("the filter in force"),
      notices: list(text("a sentence"), "what is to be known of these numbers"),
      samples: number("weight of all: percentages are of this"),
      missed: number("samples that the kernel took and that were not counted"),
      stacks: object({
        unique: count("stacks that differ"),
        ...Object.fromEntries(
          OUTCOMES.map((name) => [name, number(`samples whose stack is ${name}`)]),
        ),
      }),
      runtimes: map(number("samples"), "samples by the runtime of their innermost frame"),
      "by?": map(object({ samples: number("as samples"), missed: number("as missed") }), BY),
      functions: list(FUNCTION, "the hottest, as many as --rows says"),
      processes: list(PROCESS, "those with samples, most first"),
      "waiting?": WAITING,
      metrics: map(number("increment"), "every counter of the unwinders, those at 0 too"),
      self: SELF,
    },
    "One refresh of polytop --json. Keys are added without a new number; none changes.",
  ),
};
