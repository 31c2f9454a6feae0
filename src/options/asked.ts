/** What was asked for on the command line, as ./options.ts reads it. */
import type { SortKey } from "../model/sort.ts";
import type { ExportPaths, SinkName } from "../output/formats.ts";
import type { EventRequest, ListKind } from "../tick/event-request.ts";

/** Where the refreshes go. */
export type Format = "live" | SinkName;

/** What is shown, and how. */
export interface ShowOptions {
  /** `live` is what was asked for by asking for nothing else: without a terminal it becomes `batch`. */
  readonly format: Format;
  readonly pids: readonly number[];
  readonly filter: string;
  readonly sort: SortKey;
  /** Undefined: no end. */
  readonly iterations: number | undefined;
  /** 0: all. */
  readonly rows: number;
  /** How many stacks of each function `--json` has. */
  readonly stacks: number;
  readonly kernel: boolean;
  readonly nativeFrames: boolean;
  /** Show the scheduler's frames in place of those that await. */
  readonly physical: boolean;
  /** Waits for work too. */
  readonly idle: boolean;
  /** On the screen only. */
  readonly readableNames: boolean;
  readonly color: boolean;
  /** Draws with ASCII alone, whatever the locale. */
  readonly ascii: boolean;
  /** What is behind the text of the screen, where the user says so. */
  readonly light: boolean;
  readonly dark: boolean;
  /** Files to write at the end. */
  readonly exports: ExportPaths;
}

/** How this machine is sampled. */
export interface SampleOptions {
  readonly delaySeconds: number;
  readonly frequency: number;
  readonly events: readonly EventRequest[];
  /** Every so-many-th hit of an event; undefined: as many as the frequency says. */
  readonly count: number | undefined;
  /** A command to start and follow, with its arguments. */
  readonly program: readonly string[] | undefined;
  /** Tables of programs are kept on disk, from run to run. */
  readonly cache: boolean;
  /** Command lines are read with their arguments. */
  readonly arguments: boolean;
}

/** What a run of polytop was asked to do. */
export interface RunOptions extends ShowOptions, SampleOptions {
  readonly command: "run";
}

/** `polytop record` */
export interface RecordOptions extends ShowOptions, SampleOptions {
  readonly command: "record";
  readonly output: string;
}

/** `polytop replay` */
export interface ReplayOptions extends ShowOptions {
  readonly command: "replay";
  readonly file: string;
  /** Seconds that a refresh is shown for; undefined: as long as it was. */
  readonly delaySeconds: number | undefined;
}

/** `polytop list` */
export interface ListOptions {
  readonly command: "list";
  /** Undefined: all. */
  readonly kind: ListKind | undefined;
  readonly pattern: string;
  readonly pids: readonly number[];
}

/** What was asked for. */
export type Options =
  | RunOptions
  | RecordOptions
  | ReplayOptions
  | { readonly command: "doctor"; readonly json: boolean }
  | ListOptions
  | { readonly command: "help" }
  | { readonly command: "version" };
