/** Whether every tick is accounted for: busy CPUs against /proc/stat, what was missed, CPUs that come and go. */
import { existsSync, writeFileSync } from "node:fs";
import {
  busySeconds,
  processSeconds,
  SECOND_CPU,
  timerInterrupts,
  withSteeredLoopback,
} from "../../support/cpu-time.ts";
import { Lacking, percent, type Row, type Section } from "../../support/measure.ts";
import { during, type Running, sampleJson, sleep, start } from "../../support/profile.ts";
import { wrongSums } from "../../support/sums.ts";
import { workload } from "../../support/workloads.ts";

const SECONDS = 10;

const add = (values: readonly number[]): number => values.reduce((sum, it) => sum + it, 0);

/** Something that grows, looked at each time that a refresh is read: those come a little late on a busy machine. */
class Looks {
  readonly #value: () => number;
  readonly #looks: { readonly value: number; readonly time: number }[] = [];

  constructor(value: () => number) {
    this.#value = value;
  }

  readonly look = (): void => {
    this.#looks.push({ value: this.#value(), time: performance.now() });
  };

  /** Its growth in a second. */
  get rate(): number {
    const [first, last] = [this.#looks[0], this.#looks.at(-1)];
    if (!first || !last || last.time === first.time) return 0;
    return (1000 * (last.value - first.value)) / (last.time - first.time);
  }
}

/** Ticks of a CPU that are compared: chance moves a share of so many by less than a point, and rarely by two. */
const COMPARED_TICKS = 4000;

/** Busy CPUs by polytop and by /proc/stat over the same refreshes; the first one sets both. */
async function busy(what: string, programs: readonly Running[], frequency: number): Promise<Row> {
  return during(programs, async () => {
    const stat = new Looks(busySeconds);
    await sleep(0.5);
    const { snapshots } = await sampleJson({
      seconds: Math.ceil(COMPARED_TICKS / frequency),
      frequency,
      onLine: stat.look,
    });
    const counted = snapshots.slice(1);
    const seconds = add(counted.map((it) => it.intervalSeconds));
    const ticks = add(counted.map((it) => it.samples + it.missed));
    const ours = ticks / frequency / seconds;
    const theirs = stat.rate;
    const points = (100 * (ours - theirs)) / (snapshots[0]?.cpus ?? 1);
    const interrupts = counted.flatMap((it) => it.processes.filter(({ pid }) => pid === 0));
    const ofInterrupts = percent(add(interrupts.map((it) => it.samples)), ticks, 0);
    return {
      what: `${what}, ${frequency} Hz: busy CPUs against /proc/stat`,
      bar: "within 2 points",
      figure: `${ours.toFixed(2)} : ${theirs.toFixed(2)}, interrupts ${ofInterrupts}`,
      samples: ticks,
      ok: Math.abs(points) <= 2,
    };
  });
}

async function busyRows(): Promise<Row[]> {
  const rows = [
    await busy("as it is", [], 99),
    await busy("a hot loop", [start(workload("deep.c"), ["10"])], 99),
    await busy("work and sleep", [start(workload("naps.c"), ["300", "700"])], 499),
  ];
  const datagrams = workload("datagrams.c");
  for (const frequency of [99, 499]) {
    const row = (): Promise<Row> => busy("softirqs", [start(datagrams)], frequency);
    rows.push(await withSteeredLoopback(row));
  }
  return rows;
}

/** A program that waits until it is told to go on. */
const held = (command: string, args: readonly string[] = []): Running =>
  start("/bin/sh", ["-c", 'kill -STOP $$; exec "$0" "$@"', command, ...args]);

/**
 * Samples of a process against its CPU time: what is short of it was lost. The process runs between two refreshes only,
 * so that both are of the same time.
 */
async function missed(what: string, program: Running, frequency: number): Promise<Row> {
  return during([program], async ([pid = -1]) => {
    let used = 0;
    await sleep(0.5);
    const before = processSeconds(pid);
    const { samples, missed: claimed } = await sampleJson({
      seconds: SECONDS + 4,
      frequency,
      pids: [pid],
      env: { POLYTOP_BUDGET: "0" },
      onLine: (line) => {
        if (line === 1) process.kill(pid, "SIGCONT");
        if (line === SECONDS + 1) process.kill(pid, "SIGSTOP");
        if (line === SECONDS + 2) used = processSeconds(pid) - before;
      },
    });
    const lost = Math.max(0, used * frequency - samples);
    // CPU time is told to a hundredth of a second. Ticks meet a part of a process's turns, at random.
    const slack = Math.max(0.1 * lost, 0.02 * frequency, 3 * Math.sqrt(samples));
    return {
      what: `${what}, ${frequency} Hz: missed against CPU time less samples`,
      bar: "within 10 %",
      figure: `${claimed} : ${lost.toFixed(0)}`,
      samples,
      ok: used > 0 && Math.abs(claimed - lost) <= slack,
    };
  });
}

/** Timer interrupts of an idle machine, without polytop and with it. */
async function wakeUps(): Promise<Row[]> {
  const rate = async (): Promise<number> => {
    const before = timerInterrupts();
    await sleep(5);
    return (timerInterrupts() - before) / 5;
  };
  const without = await rate();
  const rows: Row[] = [];
  for (const frequency of [99, 499]) {
    const run = sampleJson({ seconds: 9, frequency });
    await sleep(3);
    const withPolytop = await rate();
    const { snapshots } = await run;
    const load = add(snapshots.map((it) => it.samples)) / frequency / snapshots.length;
    rows.push({
      what: `timer interrupts a second of all CPUs, without and with polytop at ${frequency} Hz`,
      bar: "",
      figure: `${without.toFixed(0)} : ${withPolytop.toFixed(0)}, ${load.toFixed(2)} CPUs busy`,
    });
  }
  return rows;
}

/** A CPU goes and comes all the time. */
async function cpusComeAndGo(): Promise<Row[]> {
  if (!existsSync(SECOND_CPU)) throw new Lacking("no CPU can be taken offline here");
  const [refreshes, delay, frequency] = [1000, 0.1, 199];
  const programs = [start(workload("split.c")), start(workload("deep.c"), ["10"])];
  try {
    const { snapshots } = await during(programs, () =>
      sampleJson({
        seconds: refreshes * delay,
        delay,
        frequency,
        onLine: (line) => {
          if (line % 20 === 5) writeFileSync(SECOND_CPU, "0");
          // Within one refresh, and later than one.
          if (line % 40 === 5 || line % 40 === 32) writeFileSync(SECOND_CPU, "1");
        },
      }),
    );
    const whole = snapshots.filter((it) => it.stacks.unique >= 0 && wrongSums(it) === "").length;
    // Two seconds after it came back.
    const settled = snapshots.filter((_, at) => at % 40 === 24 || at % 40 === 3);
    const both = settled.filter(
      (it) => it.cpus === 2 && it.samples + it.missed > 1.5 * frequency * it.intervalSeconds,
    );
    return [
      {
        what: `${snapshots.length} refreshes with CPUs coming and going: sums hold`,
        bar: "all",
        figure: `${whole} of ${snapshots.length}`,
        samples: add(snapshots.map((it) => it.samples)),
        ok: whole === snapshots.length && snapshots.length === refreshes,
      },
      {
        what: "a CPU that was away is sampled again",
        bar: "within 2 s",
        figure: `${both.length} of ${settled.length}`,
        samples: settled.length,
        ok: both.length === settled.length && settled.length > 0,
      },
    ];
  } finally {
    writeFileSync(SECOND_CPU, "1");
  }
}

export const ticks: Section[] = [
  { name: "busy", about: "busy CPUs against /proc/stat", run: busyRows },
  {
    name: "missed",
    about: "what was missed, against the CPU time of processes",
    run: async () => [
      await missed("a loop", held(workload("deep.c"), ["10"]), 999),
      await missed("work and sleep", held(workload("naps.c"), ["700", "300"]), 999),
      await missed("another BPF user", held(workload("batches.c")), 999),
    ],
  },
  { name: "wakeups", about: "timer interrupts of an idle machine", run: wakeUps },
  {
    name: "cpus",
    about: "1,000 refreshes while a CPU goes and comes",
    onlyByName: true,
    run: cpusComeAndGo,
  },
];
