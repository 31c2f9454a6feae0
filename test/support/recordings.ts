/** Ticks at random, and recordings in memory and on the disk, for tests. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import type { RecordingHeader } from "../../src/recording/format.ts";
import { RecordingReader } from "../../src/recording/reader.ts";
import { RecordingWriter } from "../../src/recording/writer.ts";
import { EVERY_RUNTIME } from "../../src/tick/runtimes.ts";
import type { Frame, FunctionInfo, Outcome, StackCount, Tick } from "../../src/tick/tick.ts";
import { COUNTERS, makeTick, TickMaker, task } from "./ticks.ts";

export const HEADER: RecordingHeader = {
  program: "polytop 0.1.0",
  created: "2026-01-31T12:00:00.000Z",
  host: "web-3",
  kernel: "6.1.0",
  cpuModel: "Example",
  cpus: 2,
  counters: COUNTERS.slice(0, 3),
};

/** A folder of its own for the time of `use`. */
export function inFolder<Result>(use: (folder: string) => Result): Result {
  const folder = mkdtempSync(join(tmpdir(), "polytop-recording-"));
  try {
    return use(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Some refreshes of a second; a chunk holds four of them. */
export function example(count: number): Tick[] {
  const make = new TickMaker();
  const stacks = [
    make.stack(["p:Ledger::Post::entry@/srv/ledger.pl:12", "!n:Perl_runops@perl", "n:main@perl"]),
    make.stack(["n:inflate@libz.so.1", "n:main@perl"]),
    make.stack(["k:copy_page@kernel", "n:main@perl"], "truncated"),
  ];
  return Array.from({ length: count }, (_, i) =>
    makeTick(
      stacks.slice(0, 1 + (i % 3)).map((stack) => ({ stack, task: task(7, "perl"), count: i + 1 })),
      { time: 1e12 + i * 1000, metrics: { SamplesTaken: i } },
    ),
  );
}

/** Writes ticks into a recording. */
export function writeRecording(path: string, ticks: readonly Tick[]): void {
  const writer = new RecordingWriter(path, HEADER, { replace: false });
  for (const tick of ticks) writer.add(tick);
  writer.end();
}

/** The bytes of a recording of these ticks. */
export const recordingBytes = (ticks: readonly Tick[]): Buffer =>
  inFolder((folder) => {
    writeRecording(join(folder, "a"), ticks);
    return readFileSync(join(folder, "a"));
  });

/** Everything that a recording holds, and what is wrong with its end. */
export function readRecording(path: string): { ticks: Tick[]; problem: string | undefined } {
  const reader = new RecordingReader(path);
  try {
    return { ticks: [...reader.ticks()], problem: reader.problem };
  } finally {
    reader.close();
  }
}

/** Without what is numbered anew: ids of functions and stacks. */
export function plain(tick: Tick): object {
  return {
    ...tick,
    counts: Array.from(tick.counts, ({ stack, task: it, count }) => ({
      outcome: stack.outcome,
      frames: stack.frames.map(({ function: { id: _, ...info }, ...frame }) => ({
        ...frame,
        ...info,
      })),
      task: it,
      count,
    })),
  };
}

/** Texts as the collector makes them: clean. */
const name = fc.oneof(
  fc.constantFrom("", "main", "Ledger::Post::entry", "größe", "名前", "x".repeat(512)),
  fc.string({ maxLength: 12 }),
);

const amount = fc.oneof(fc.nat(1000), fc.double({ min: 0, max: 1e12, noNaN: true }));

const functions = fc
  .uniqueArray(
    fc.record({
      runtime: fc.constantFrom(...EVERY_RUNTIME),
      name,
      module: name,
      whyUnnamed: fc.option(fc.constantFrom("no symbols", "gone"), { nil: undefined }),
    }),
    {
      minLength: 1,
      maxLength: 12,
      selector: (it) => JSON.stringify([it.runtime, it.name, it.module, it.whyUnnamed]),
    },
  )
  .map((list) =>
    list.map(({ whyUnnamed, ...it }, id): FunctionInfo => {
      return { id, ...it, ...(whyUnnamed ? { whyUnnamed } : {}) };
    }),
  );

/** Frames and stacks that share them, as a collector interns them. */
const stacks = functions.chain((known) =>
  fc
    .array(
      fc.record({
        at: fc.nat(known.length - 1),
        line: fc.option(fc.nat(100_000), { nil: undefined }),
        note: fc.option(fc.constantFrom("add", "iter"), { nil: undefined }),
        body: fc.option(fc.constantFrom("tier 1", "OSR  T=System.Int32"), { nil: undefined }),
        folded: fc.boolean(),
      }),
      { minLength: 1, maxLength: 20 },
    )
    .map((list) =>
      list.map(({ at, line, note, body, folded }): Frame => {
        const info = known[at] as FunctionInfo;
        return {
          function: info,
          ...(line === undefined ? {} : { line }),
          ...(note === undefined ? {} : { note }),
          ...(body === undefined ? {} : { body }),
          ...(folded ? { folded } : {}),
        };
      }),
    )
    .chain((frames) =>
      fc.array(
        fc.record({
          frames: fc.array(fc.constantFrom(...frames), { minLength: 1, maxLength: 12 }),
          outcome: fc.constantFrom<Outcome>("complete", "truncated", "broken"),
        }),
        { minLength: 1, maxLength: 15 },
      ),
    )
    .map((list) => list.map((stack, id) => ({ id, ...stack }))),
);

/** A run of ticks as a collector makes them. */
export const ticks: fc.Arbitrary<Tick[]> = stacks.chain((known) =>
  fc.array(
    fc
      .record({
        counts: fc.array(
          fc.record({
            stack: fc.constantFrom(...known),
            task: fc
              .tuple(fc.integer({ min: 1, max: 5 }), name, fc.nat(4_194_304))
              .map(([pid, comm, tid]) => task(pid, comm, { tid, startTime: pid / 2 })),
            count: fc.integer({ min: 1, max: 2 ** 32 - 1 }),
          }) satisfies fc.Arbitrary<StackCount>,
          { maxLength: 12 },
        ),
        time: fc.integer({ min: 0, max: 4e12 }),
        intervalSeconds: fc.double({ min: 0, max: 60, noNaN: true }).map(Math.abs),
        frequency: fc.integer({ min: 1, max: 9999 }),
        cpus: fc.integer({ min: 1, max: 512 }),
        pids: fc.array(fc.nat(4_194_304), { maxLength: 4 }),
        missed: fc.nat(),
        notices: fc.array(name, { maxLength: 2 }),
        metrics: fc.constantFrom<Record<string, number>>(
          {},
          { SamplesTaken: 3 },
          { SamplesTaken: 0, UnwindNativeFrames: 12, Half: 0.5 },
        ),
        self: fc.record({
          cpuPercent: amount,
          bpfCpuPercent: amount,
          rssBytes: amount,
          bpfNanosecondsPerSample: amount,
        }),
      })
      .map(({ counts, ...more }) => makeTick(counts, more)),
    { maxLength: 8 },
  ),
);
