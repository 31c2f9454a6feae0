/** What a sample costs in the kernel, against the least that is possible. */
import { execFileSync } from "node:child_process";
import { cpus } from "node:os";
import { runNanoseconds, withStats } from "../../support/bpftool.ts";
import { Lacking, type Row, type Section } from "../../support/measure.ts";
import { during, sampleJson, start } from "../../support/profile.ts";
import { workload } from "../../support/workloads.ts";
import { StackId, type Totals } from "./stackid.ts";

/** _start, two of glibc, main and leaf stand around descend: 124 frames. */
const DEPTH = 124 - 5;
const FREQUENCY = 999;
/** Measured from the end of one refresh to the end of another, each of a second. */
const FIRST_LINE = 2;
const LAST_LINE = 14;

/**
 * One of them often shares its CPU with other programs, which costs caches, the other has one for itself:
 * they change places every other second.
 */
function takeTurns(second: number, pids: readonly number[]): void {
  if (cpus().length < 2 || second % 2 === 1) return;
  pids.forEach((pid, at) => {
    execFileSync("taskset", ["-cp", String((second / 2 + at) % 2), String(pid)]);
  });
}

const perSample = (from: Totals | undefined, to: Totals | undefined): number =>
  from && to ? (to.nanoseconds - from.nanoseconds) / (to.samples - from.samples) : Number.NaN;

/** Both at once, each on a process of its own; samples of others count for both as next to nothing. */
async function compare(): Promise<Row[]> {
  const programs = [
    start(workload("deep.c"), [String(DEPTH)]),
    start(workload("deep.c", { variant: "framePointer" }), [String(DEPTH)]),
  ];
  return during(programs, ([plain = -1, framePointer = -1]) =>
    withStats(async () => {
      const stackId = new StackId(framePointer, FREQUENCY);
      const theirs: Promise<Totals>[] = [];
      const ours: number[] = [];
      const sums = await sampleJson({
        seconds: LAST_LINE + 1,
        frequency: FREQUENCY,
        pids: [plain],
        onLine: (line, pid) => {
          takeTurns(line, [plain, framePointer]);
          if (line !== FIRST_LINE && line !== LAST_LINE) return;
          ours.push(runNanoseconds(pid));
          theirs.push(stackId.totals());
        },
      });
      const [from, to] = await Promise.all(theirs);
      stackId.close();
      if (!to || to.taken < 0.9 * to.samples) throw new Lacking("bpf_get_stackid does not work");
      const measured = sums.snapshots.slice(FIRST_LINE, LAST_LINE);
      const samples = measured.reduce((total, snapshot) => total + snapshot.samples, 0);
      const own = ((ours[1] ?? Number.NaN) - (ours[0] ?? 0)) / samples;
      const least = perSample(from, to);
      const { UnwindNativeFrames: frames = 0, UnwindNativeAttempts: walks = 1 } = sums.metrics;
      const depth = Math.round(frames / walks);
      return [
        {
          what: `BPF, ${depth} frames deep, ${FREQUENCY} Hz: ns a sample`,
          bar: "≤ 5500",
          figure: own.toFixed(0),
          samples,
          ok: own <= 5500,
        },
        {
          what: "  times bpf_get_stackid on the same code with frame pointers",
          bar: "≤ 1.1",
          figure: `${(own / least).toFixed(2)} (${least.toFixed(0)} ns)`,
          samples: to.samples - (from?.samples ?? 0),
          ok: own <= 1.1 * least,
        },
      ];
    }),
  );
}

export const bpf: readonly Section[] = [
  {
    name: "bpf",
    about: "ns of BPF a sample, 124 frames deep, against bpf_get_stackid",
    run: compare,
  },
];
