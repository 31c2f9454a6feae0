/** What polytop can write: a format is a row here and a file beside this one. Options and help are made of the rows. */
import type { RunProfile } from "./run-profile.ts";
import type { Sink, SinkOptions } from "./sink.ts";

/** A format of plain output, which goes to standard output. */
export interface SinkFormat {
  readonly help: string;
  readonly shortFlag?: string;
  readonly load: () => Promise<(options: SinkOptions) => Sink>;
}

/** A format of a file that is written at the end of a run. */
export interface ExportFormat {
  readonly help: string;
  readonly load: () => Promise<(profile: RunProfile) => Buffer | string>;
}

export const SINK_FORMATS = {
  batch: {
    shortFlag: "b",
    help: "plain text, a table each refresh",
    load: async () => (await import("./text.ts")).textSink,
  },
  json: {
    help: "one JSON object a refresh, one a line",
    load: async () => (await import("./json.ts")).jsonSink,
  },
  folded: {
    help: "at the end: collapsed stacks of the whole run",
    load: async () => (await import("./folded.ts")).foldedSink,
  },
} as const satisfies Readonly<Record<string, SinkFormat>>;

export const EXPORT_FORMATS = {
  pprof: {
    help: "at the end: the run for go tool pprof",
    load: async () => (await import("./pprof.ts")).pprofFile,
  },
  speedscope: {
    help: "at the end: the run for speedscope.app",
    load: async () => (await import("./speedscope.ts")).speedscopeFile,
  },
} as const satisfies Readonly<Record<string, ExportFormat>>;

export type SinkName = keyof typeof SINK_FORMATS;
export type ExportName = keyof typeof EXPORT_FORMATS;

export const EXPORT_NAMES = Object.keys(EXPORT_FORMATS) as readonly ExportName[];

/** Files to write at the end of a run, by format. */
export type ExportPaths = Readonly<Partial<Record<ExportName, string>>>;
