/** Events against programs that know how often they happen, and against `perf stat` on the same run. */
import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { Lacking, mean, type Row, type Section } from "../../support/measure.ts";
import { launcher, polytop, root } from "../../support/polytop.ts";
import type { Snapshot } from "../../support/profile.ts";
import { workload } from "../../support/workloads.ts";

const MOST_OFF = 0.02;
const folder = `${root}build/perf/`;

interface EventFunction {
  readonly name: string;
  readonly self: number;
  readonly total: number;
  readonly by?: Readonly<Record<string, { readonly self: number; readonly total: number }>>;
}

interface EventSnapshot extends Omit<Snapshot, "functions"> {
  readonly functions: readonly EventFunction[];
}

/** What polytop and perf say of one run of a program. */
interface Counted {
  /** By functions, of the first event. */
  readonly self: ReadonlyMap<string, number>;
  readonly total: ReadonlyMap<string, number>;
  readonly hits: number;
  /** Hits of the events behind the first. */
  readonly others: ReadonlyMap<string, number>;
  /** By perf's name of an event. */
  readonly perf: ReadonlyMap<string, number>;
}

function snapshotsOf(text: string): EventSnapshot[] {
  const lines = text.split("\n").filter((line) => line.startsWith('{"schema"'));
  return lines.map((line) => JSON.parse(line) as EventSnapshot);
}

/** Adds up what functions have of the first event, and of one beside it. */
function sumsOf(snapshots: readonly EventSnapshot[], names: readonly string[]) {
  const self = new Map<string, number>();
  const total = new Map<string, number>();
  const others = new Map<string, number>();
  const add = (map: Map<string, number>, key: string, more: number): void => {
    map.set(key, (map.get(key) ?? 0) + more);
  };
  for (const { functions } of snapshots) {
    for (const row of functions) {
      add(self, row.name, row.self);
      add(total, row.name, row.total);
      for (const name of names) add(others, name, row.by?.[name]?.self ?? 0);
    }
  }
  const hits = [...self.values()].reduce((all, one) => all + one, 0);
  return { self, total, others, hits };
}

/** Runs a program under polytop, and under `perf stat` where perf is asked for events too. */
async function count(
  events: readonly string[],
  perfEvents: readonly string[],
  [program = "", ...args]: readonly string[],
  options: readonly string[] = [],
): Promise<Counted> {
  mkdirSync(folder, { recursive: true });
  const file = `${folder}stat.csv`;
  const comm = (program.split("/").at(-1) ?? "").slice(0, 15);
  const stat = ["perf", "stat", "-x,", "-o", file, ...perfEvents.flatMap((it) => ["-e", it]), "--"];
  const command = [...(perfEvents.length > 0 ? stat : []), program, ...args];
  // perf itself is a part of the tree.
  const filter = ["-f", `comm:${comm}`];
  const run = await polytop(
    ["--json", "--rows", "0", "-e", events.join(","), ...filter, ...options, "--", ...command],
    { timeoutMs: 60_000 },
  );
  if (run.status !== 0) throw new Lacking(run.stderr.trim() || `status ${run.status}`);
  const perf = new Map<string, number>();
  if (perfEvents.length > 0) {
    for (const line of readFileSync(file, "utf8").split("\n")) {
      const [value = "", , name = ""] = line.split(",");
      if (name !== "") perf.set(name, Number(value));
    }
    rmSync(file, { force: true });
  }
  return { ...sumsOf(snapshotsOf(run.stdout), events), perf };
}

function countRow(what: string, hits: number, truth: number, by: string): Row {
  return {
    what,
    bar: "within 2 %",
    figure: `${hits} of ${truth} (${by})`,
    samples: hits,
    ok: truth > 0 && Math.abs(hits / truth - 1) <= MOST_OFF,
  };
}

function shareRow(what: string, part: number, whole: number, least = 0.98): Row {
  return {
    what,
    bar: `≥ ${100 * least} %`,
    figure: `${((100 * part) / whole).toFixed(2)} %`,
    ok: part / whole >= least,
  };
}

/** Lets perf count entries of a function of a library as long as `use` runs. */
async function withProbe<T>(library: string, name: string, use: (event: string) => Promise<T>) {
  const probe = `polytop_test:${name}`;
  try {
    execFileSync("perf", ["probe", "-q", "-x", library, "--add", `${probe}=${name}`], {
      stdio: "pipe",
    });
  } catch (error) {
    throw new Lacking(`perf probe: ${String((error as { stderr?: Buffer }).stderr).trim()}`);
  }
  try {
    return await use(probe);
  } finally {
    execFileSync("perf", ["probe", "-q", "-d", probe], { stdio: "pipe" });
  }
}

const LIBC = "/lib/x86_64-linux-gnu/libc.so.6";
const ROUNDS = 1000;

async function pageFaults(): Promise<Row[]> {
  const program = workload("touches.c");
  const found = await count(["page-faults"], ["page-faults"], [program, `${ROUNDS}`]);
  const touched = found.total.get("touch_pages") ?? 0;
  return [
    countRow(
      "page-faults of a program",
      found.hits,
      found.perf.get("page-faults") ?? 0,
      "perf stat",
    ),
    countRow("page-faults in the function that touches", touched, 300 * ROUNDS, "known"),
  ];
}

async function writes(): Promise<Row[]> {
  const calls = 20_000;
  const script = `sub put { syswrite(STDERR, "") } for (1 .. ${calls}) { put(); select(undef, undef, undef, 0.0002) if $_ % 20 == 0 }`;
  const event = "syscalls:sys_enter_write";
  const found = await count([event], [event], ["perl", "-e", script]);
  return [
    countRow("write of Perl", found.hits, found.perf.get(event) ?? 0, "perf stat"),
    shareRow("write of Perl: in its sub", found.total.get("main::put") ?? 0, calls),
  ];
}

async function allocations(): Promise<Row[]> {
  const program = workload("touches.c");
  return withProbe(LIBC, "malloc", async (probe) => {
    const found = await count(["uprobe:libc:malloc"], [probe], [program, `${ROUNDS}`]);
    return [
      countRow("malloc by a uprobe", found.hits, found.perf.get(probe) ?? 0, "perf stat"),
      countRow("malloc in its caller", found.total.get("allocate") ?? 0, 50 * ROUNDS, "known"),
    ];
  });
}

async function staticProbes(): Promise<Row[]> {
  const all = 20_000;
  const program = workload("throws.cpp");
  const found = await count(["usdt:libstdc++:libstdcxx:throw"], [], [program, `${all}`]);
  return [
    countRow("libstdcxx:throw, a static probe of libstdc++", found.hits, all, "known"),
    shareRow("libstdcxx:throw: under who throws", found.total.get("refuse") ?? 0, found.hits),
  ];
}

async function switches(): Promise<Row[]> {
  const event = "sched:sched_switch";
  const script = "sub nap { select(undef, undef, undef, 0.0005) } nap() for 1 .. 4000";
  const found = await count([event], [event], ["perl", "-e", script]);
  return [
    countRow("sched_switch of Perl", found.hits, found.perf.get(event) ?? 0, "perf stat"),
    shareRow(
      "sched_switch: in the sub that sleeps",
      found.total.get("main::nap") ?? 0,
      found.hits,
      0.95,
    ),
  ];
}

/** Two events beside each other, and each alone. */
async function together(): Promise<Row[]> {
  const command = [workload("touches.c"), `${ROUNDS}`];
  const [first, second] = ["page-faults", "uprobe:libc:malloc"] as const;
  const both = await count([first, second], [], command);
  const alone = [await count([first], [], command), await count([second], [], command)];
  return [
    countRow("page-faults beside malloc", both.hits, alone[0]?.hits ?? 0, "alone"),
    countRow(
      "malloc beside page-faults",
      both.others.get(second) ?? 0,
      alone[1]?.hits ?? 0,
      "alone",
    ),
  ];
}

const FUNCTIONS = 100;
const ROUNDS_OF_MANY = 4;

/** A program of many functions, each called its own number of times. */
function manyFunctions(): string {
  const source = `${folder}many.c`;
  mkdirSync(folder, { recursive: true });
  const names = Array.from({ length: FUNCTIONS }, (_, at) => `many_${at}`);
  const functions = names.map(
    (name) => `__attribute__((noinline)) void ${name}(void) { __asm__ volatile("" ::: "memory"); }`,
  );
  // Few enough at once that each hit is looked at.
  const calls = names.map(
    (name, at) =>
      `for (int i = 0; i < ${at + 1}; i++) { ${name}(); if (i % 10 == 0) usleep(1000); }`,
  );
  writeFileSync(
    source,
    `#include <unistd.h>\n${functions.join("\n")}\nint main(void) { for (int round = 0; round < ${ROUNDS_OF_MANY}; round++) { ${calls.join("\n")} } return 0; }\n`,
  );
  execFileSync("gcc", ["-O2", "-o", `${folder}many`, source]);
  return `${folder}many`;
}

async function glob(): Promise<Row[]> {
  const program = manyFunctions();
  const listed = execFileSync("nm", [program], { encoding: "utf8" }).match(/ T many_\d+$/gm) ?? [];
  const found = await count([`uprobe:${program}:many_*`], [], [program], ["-c", "1"]);
  const met = [...found.self].filter(([name, hits]) => name.startsWith("many_") && hits > 0);
  const wrong = met.filter(([name, hits]) => {
    const truth = ROUNDS_OF_MANY * (Number(name.slice("many_".length)) + 1);
    return Math.abs(hits / truth - 1) > MOST_OFF;
  });
  return [
    {
      what: "functions of a glob",
      bar: "those of nm",
      figure: `${met.length} of ${listed.length}`,
      ok: met.length === listed.length,
    },
    {
      what: "functions of a glob that are off by more than 2 %",
      bar: "none",
      figure:
        wrong.length === 0 ? "none" : wrong.map(([name, hits]) => `${name} ${hits}`).join(", "),
      ok: wrong.length === 0,
    },
  ];
}

const COST_SECONDS = 5;
const COSTLY = "syscalls:sys_enter_getppid";

/** System calls a second of a program on its own CPU, run by this command. */
function callsPerSecond(command: readonly string[]): number {
  const [name = "", ...args] = command;
  const out = execFileSync(name, args, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
  return Number(/^\d+$/m.exec(out)?.[0] ?? 0);
}

/** What polytop costs a program with an event of a million a second, beyond what counting it by perf costs. */
async function cost(): Promise<Row[]> {
  const program = ["taskset", "-c", "1", workload("asks.c"), `${COST_SECONDS}`];
  const bare = callsPerSecond(program);
  const counted = callsPerSecond(["perf", "stat", "-x,", "-e", COSTLY, "--", ...program]);
  const recorder = spawn(launcher, ["--json", "--rows", "1", "-e", COSTLY], {
    stdio: ["ignore", "pipe", "ignore"],
    env: { ...process.env, POLYTOP_BUDGET: "0" },
  });
  let text = "";
  recorder.stdout.setEncoding("utf8").on("data", (more: string) => {
    text += more;
  });
  const closed = new Promise((resolve) => recorder.on("close", resolve));
  while (!text.includes("\n")) await new Promise((resolve) => setTimeout(resolve, 100));
  const probed = callsPerSecond(program);
  recorder.kill("SIGTERM");
  await closed;
  const busy = snapshotsOf(text).filter(({ samples }) => samples > 500_000);
  const own = busy.map(({ self }) => self.cpuPercent);
  const nanoseconds = (rate: number): number => 1e9 / rate;
  const beyond = nanoseconds(probed) - nanoseconds(counted);
  return [
    {
      what: `an event of ${(probed / 1e6).toFixed(2)} M/s: calls cost alone / counted by perf / by polytop`,
      bar: "",
      figure: [bare, counted, probed].map((it) => `${nanoseconds(it).toFixed(0)} ns`).join(" / "),
    },
    {
      what: "of a CPU at 1 M/s, beyond what perf takes to count it",
      bar: "≤ 3 %",
      figure: `${(beyond / 10).toFixed(1)} %`,
      ok: beyond / 10 <= 3,
    },
    {
      what: "of a CPU, as polytop itself says, hits included",
      bar: "",
      figure: `${mean(own).toFixed(1)} %`,
    },
  ];
}

/** Runs parts one after the other; what one of them lacks is told, and the others run. */
async function parts(runs: readonly (readonly [string, () => Promise<Row[]>])[]): Promise<Row[]> {
  if (!existsSync("/usr/bin/perf")) throw new Lacking("perf is not installed (linux-perf)");
  const rows: Row[] = [];
  for (const [what, run] of runs) {
    try {
      rows.push(...(await run()));
    } catch (error) {
      if (!(error instanceof Lacking)) throw error;
      rows.push({ what, bar: "", figure: `skipped: ${error.message}` });
    }
  }
  return rows;
}

export const events: readonly Section[] = [
  {
    name: "events",
    about: "page faults, system calls, uprobes, static probes, switches: counts against perf stat",
    run: () =>
      parts([
        ["page-faults", pageFaults],
        ["write of Perl", writes],
        ["malloc", allocations],
        ["static probes", staticProbes],
        ["sched_switch", switches],
        ["two events", together],
        ["glob", glob],
      ]),
  },
  {
    name: "event-cost",
    about: "what an event of a million a second costs",
    run: () => parts([["cost", cost]]),
  },
];
