/**
 * The file format of recordings, version 7: refreshes ("ticks") with their stacks and names.
 *
 * A file is a signature, a version and a row of chunks. Whatever was written whole can be read, so a
 * file that is cut off anywhere opens up to there. Numbers of fixed width are little-endian.
 *
 *     file   = signature (12 bytes: 0x89 "polytop" CR LF 0x1A LF) · version u32 · chunk…
 *     chunk  = kind u16 · flags u16 · stored u32 · plain u32 · crc u32 · data (`stored` bytes)
 *
 * `data` is a zlib stream (RFC 1950) of `plain` bytes; `crc` is the CRC-32 of the first 12 bytes of the
 * chunk and of its data. Kinds: 1 header, the first chunk and only there; 2 ticks; 3 end, the last chunk:
 * without it the file was cut off. Chunks of other kinds are skipped: later versions may add some
 * without becoming unreadable here. The version grows when an older program would read something wrong.
 *
 * A **header** is JSON: {program, created, host, kernel, cpuModel, cpus, counters}, `counters` being the
 * definitions (bpf/counters.json) of what the ticks count.
 *
 * An **end** is JSON: {ticks}, how many the file holds.
 *
 * **Ticks** are ticks one after the other. What is new is listed in the tick that first needs it, is
 * numbered from 0 in that order and is referred to by its number from then on, in later chunks too. Flag
 * 1 of a chunk says that all numbering begins anew with it; the first one has it. In a tick:
 *
 *     uint   = unsigned LEB128, at most 2^53 - 1
 *     number = uint 2n for the whole number n, or uint 1 and a float64
 *     signed = uint 2n for n ≥ 0, else uint -2n - 1
 *     list x = uint count · x…
 *     maybe x = uint 0, or uint x + 1
 *
 *     tick   = list string · list function · list frame · stacks · list task · facts · counts · events
 *     string = list byte (UTF-8)
 *     function = uint runtime (RuntimeRow.number) · uint name · uint module · maybe whyUnnamed
 *     frame  = uint function · maybe line · maybe note · uint flags (1: folded, 2: has a body, 4: awaits, 8: schedules, both: a
 *              row about these, 16: always, so that a flipped bit makes no version of another one) · body
 *     stacks = uint count · how… (its outcome: 0 complete, 1 truncated, 2 broken, 3 guessed, and 16 times how its
 *              thread waits) · branch… · length… · uint frame…
 *     task   = uint pid · uint tid · uint comm · uint thread · uint parentPid · uint uid · uint cgroup ·
 *              number startTime · uint 0, or uint 1 · uint user · uint container · uint unit · uint group · uint command
 *     facts  = number time · number intervalSeconds · uint event · uint unit · number frequency · uint cpus ·
 *              uint host · list pid · number samples · number missed · number cpuPercent ·
 *              number bpfCpuPercent · number rssBytes · number bpfNanosecondsPerSample ·
 *              list notice (a string) · metrics · waiting
 *     metrics = maybe shape · (a new shape: list name) · number… (a value for each name of the shape)
 *     waiting = maybe activity (running, waiting, both) · uint 0, or uint 1 · uint sweeps ·
 *              number lost · list process · list wait
 *     process = uint pid · uint threads · number startTime · number running · number runnable · number blocked
 *     wait   = uint stack · uint task · number seconds · uint owner
 *     counts = uint count · signed stack… · signed task… · uint weight…
 *     events = uint 0, or list event · counts… (for each but the first)
 *     event  = string name · string unit · number period · number samples · number missed
 *
 * Names, comm, thread, cgroup, user, container, unit, group, command, notes, bodies, notices, event, unit and host are numbers of strings. Stacks share their
 * outer frames, so they are a tree: node 0 is its root, and a stack is `branch` (how far back from the
 * number that the next node will get; 0: the root) and `length` new nodes below it, each with its frame,
 * outermost first; the stack's leaf is the last of them, or the branch itself when there are none. The
 * columns `how…`, `branch…`, `length…` each hold `count` numbers. In `counts`, stacks and tasks are
 * given as the difference to the one before (the first: to 0). Metrics without a new shape use the one
 * of that number.
 *
 * The weight of a stack that waits is in nanoseconds, whatever the unit; bpf/wait/abi.h numbers how it waits.
 *
 * The names and units of `events` stand where they are, each a count of bytes and these in UTF-8.
 *
 * Versions 1 to 6 are read too. Version 6 has only flags 1 and 2 of frames. Version 5 has nothing behind the startTime of a task. Version 4 has no `events`; versions 1 to 3 know nothing of waiting. Versions 1 and 2 have no outcome `guessed`: their
 * `complete` may hold guesses. Version 1 has no unit: its weights are samples.
 *
 * Everything in a file is taken for hostile: see the limits below.
 */
import type { CounterDefinition } from "../tick/source.ts";

export const SIGNATURE = Uint8Array.from([
  0x89, 0x70, 0x6f, 0x6c, 0x79, 0x74, 0x6f, 0x70, 0x0d, 0x0a, 0x1a, 0x0a,
]);
export const VERSION = 7;
/** The oldest version that is read, and the last ones without a unit, waits, events and facts of processes. */
export const OLDEST_VERSION = 1;
export const LAST_WITHOUT_UNIT = 1;
export const LAST_WITHOUT_WAITS = 3;
export const LAST_WITHOUT_EVENTS = 4;
export const LAST_WITHOUT_FACTS = 5;
export const LAST_WITHOUT_AWAITS = 6;
/** How a thread waits is so many times higher than an outcome in the same number. */
export const WAIT_FACTOR = 16;
/** Signature and version. */
export const PREFIX_BYTES = SIGNATURE.length + 4;
export const CHUNK_HEADER_BYTES = 16;

export const KIND_HEADER = 1;
export const KIND_TICKS = 2;
export const KIND_END = 3;
/** All numbering begins anew. */
export const FLAG_RENEWED = 1;

/** Flags of a frame, and the first number that is none. */
export const FRAME_FOLDED = 1;
export const FRAME_BODY = 2;
export const FRAME_AWAITS = 4;
export const FRAME_SCHEDULES = 8;
export const FRAME_ALWAYS = 16;
export const FRAME_FLAGS = 32;
export const OLD_FRAME_FLAGS = 4;

/** What a reader takes at most: each is many times what a busy machine of 256 CPUs makes. */
export const LIMITS = {
  /** Bytes of a chunk, as it is stored and unpacked. */
  chunkBytes: 32 << 20,
  headerBytes: 1 << 20,
  counters: 4096,
  /** Bytes of a string: a name of 512 characters takes 2,048. */
  stringBytes: 8192,
  /** Between two renewals. */
  strings: 1 << 21,
  functions: 1 << 20,
  frames: 1 << 21,
  nodes: 1 << 22,
  stacks: 1 << 20,
  depth: 4096,
  tasks: 1 << 20,
  shapes: 256,
  /** In one tick. */
  counts: 1 << 21,
  pids: 4096,
  notices: 256,
  events: 64,
  /** Different functions of a whole recording. */
  allFunctions: 1 << 21,
  /** Memory of all functions, and of all else between two renewals, roughly. */
  functionBytes: 128 << 20,
  tableBytes: 192 << 20,
} as const;

/** The machine that was recorded and the program that did it. */
export interface RecordingFacts {
  /** Name and version. */
  readonly program: string;
  /** When it was begun, ISO 8601. */
  readonly created: string;
  readonly host: string;
  /** Release of the kernel. */
  readonly kernel: string;
  readonly cpuModel: string;
  readonly cpus: number;
}

/** What the first chunk holds. */
export interface RecordingHeader extends RecordingFacts {
  readonly counters: readonly CounterDefinition[];
}

/** The bytes are not what the format says: cut off, damaged, or made to harm. */
export class FormatError extends Error {}
