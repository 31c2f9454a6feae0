/** What a sample costs in the kernel, against the least that is possible. */
import { execFileSync, spawn } from "node:child_process";
import { mkdirSync } from "node:fs";
import { cpus } from "node:os";
import { runNanoseconds, withStats } from "../../support/bpftool.ts";
import { Lacking, type Row, type Section } from "../../support/measure.ts";
import { root } from "../../support/polytop.ts";
import { during, sampleJson, start } from "../../support/profile.ts";
import { workload } from "../../support/workloads.ts";

/** _start, two of glibc, main and leaf stand around descend: 124 frames. */
const DEPTH = 124 - 5;
const FREQUENCY = 999;
/** Measured from the end of one refresh to the end of another, each of a second. */
const FIRST_LINE = 2;
const LAST_LINE = 14;

/** Builds the program to compare with: the loader, and the BPF object beside it. */
function buildStackId(): { readonly loader: string; readonly object: string } {
  const folder = `${root}build/bench/`;
  const sources = `${root}test/tools/bench/`;
  const [loader, object] = [`${folder}stackid`, `${folder}stackid.bpf.o`];
  mkdirSync(folder, { recursive: true });
  const bpf = ["-g", "-O2", "-target", "bpf", "-isystem", "/usr/include/x86_64-linux-gnu", "-c"];
  execFileSync("clang-19", [...bpf, `${sources}stackid.bpf.c`, "-o", object]);
  execFileSync("gcc", ["-O2", `${sources}stackid.c`, "-o", loader, "-lbpf"]);
  return { loader, object };
}

/** Totals since the start. */
interface Totals {
  readonly nanoseconds: number;
  readonly samples: number;
}

/** The comparison, running. */
class StackId {
  readonly #child;
  #answer: ((line: string) => void) | undefined;

  constructor(pid: number) {
    const { loader, object } = buildStackId();
    this.#child = spawn(loader, [object, String(pid), String(FREQUENCY)], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    this.#child.stdout.setEncoding("utf8").on("data", (text: string) => this.#answer?.(text));
    this.#child.on("exit", () => this.#answer?.(""));
  }

  async totals(): Promise<Totals> {
    const line = new Promise<string>((resolve) => {
      this.#answer = resolve;
    });
    this.#child.stdin.write("\n");
    const nanoseconds = runNanoseconds(this.#child.pid ?? -1);
    const [samples = 0, taken = 0] = (await line).split(" ").map(Number);
    if (samples === 0 || taken < samples * 0.9) throw new Lacking("bpf_get_stackid does not work");
    return { nanoseconds, samples };
  }

  close(): void {
    this.#child.stdin.end();
  }
}

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
      const stackId = new StackId(framePointer);
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
          samples: (to?.samples ?? 0) - (from?.samples ?? 0),
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
