/** Where threads wait, against programs that know, and against every switch as perf traces it. */
import { percent, type Row, ratio, type Section } from "../../support/measure.ts";
import { perlPrograms } from "../../support/perl.ts";
import {
  during,
  type Running,
  type Sums,
  sampleJson,
  sleep,
  start,
} from "../../support/profile.ts";
import { timeByFunction, traceSwitches } from "../../support/sched-switch.ts";
import { dotnetServer } from "../../support/servers.ts";
import {
  IDLE_KINDS,
  WAIT_KINDS,
  WAIT_SHARES,
  type WaitSnapshot,
  wrongKinds,
} from "../../support/waits.ts";
import { workload } from "../../support/workloads.ts";
import { hasName } from "./perf.ts";

const SECONDS = 12;
/** Unwind tables of the program's files are there by then. */
const STARTED_SECONDS = 2;
const POINTS = 3;

const waitsOf = (pids: readonly number[], args: readonly string[] = []): Promise<Sums> =>
  sampleJson({ seconds: SECONDS, pids, args: ["-e", "wait", ...args] });

/** What each of these functions has of what all of them wait, in percent. */
function sharesOf(
  times: ReadonlyMap<string, number>,
  groups: readonly (readonly string[])[],
): number[] {
  const sums = groups.map((names) => names.reduce((sum, name) => sum + (times.get(name) ?? 0), 0));
  const all = sums.reduce((sum, one) => sum + one, 0);
  return sums.map((one) => (100 * one) / all);
}

const text = (shares: readonly number[]): string => shares.map((it) => it.toFixed(1)).join(" / ");

function shareRow(
  what: string,
  shares: readonly number[],
  truth: readonly number[],
  words = text(truth),
): Row {
  const off = Math.max(...shares.map((share, i) => Math.abs(share - (truth[i] ?? 0))));
  return {
    what,
    bar: `within ${POINTS} points`,
    figure: `${text(shares)} of ${words}`,
    ok: off <= POINTS,
  };
}

/** Time of all threads, whole stacks and names. */
function soundness(what: string, sums: Sums, threads: number): Row[] {
  const seconds = sums.snapshots.reduce((sum, { intervalSeconds }) => sum + intervalSeconds, 0);
  const running = sums.snapshots.reduce(
    (sum, it) => sum + (it as WaitSnapshot).waiting.running * it.intervalSeconds,
    0,
  );
  const total = sums.samples / 1e9;
  const named = [...sums.self].reduce((sum, [name, time]) => sum + (hasName(name) ? time : 0), 0);
  return [
    {
      what: `${what}: time of all threads, waiting and running`,
      bar: "within 1 %",
      figure: `${(total + running).toFixed(1)} of ${(threads * seconds).toFixed(1)} s`,
      ok: Math.abs((total + running) / (threads * seconds) - 1) <= 0.01,
    },
    {
      what: `${what}: complete, and named`,
      bar: "≥ 99.5 %",
      figure: `${percent(sums.complete, sums.samples)}, ${percent(named, sums.samples)}`,
      ok: Math.min(ratio(sums.complete, sums.samples), ratio(named, sums.samples)) >= 0.995,
    },
  ];
}

const C_NAMES = ["six_units", "three_units", "one_unit"];
const C_THREADS = 20;

/** Threads that sleep 6, 3 and 1 units in three functions, while perf traces every switch. */
async function native(unitMs: number): Promise<Row[]> {
  const program = workload("waits.c");
  const load = start(program, ["shares", String(C_THREADS), String(unitMs)]);
  const [sums, trace] = await during([load], async ([pid = -1]) => {
    await sleep(STARTED_SECONDS);
    return Promise.all([waitsOf([pid]), traceSwitches("waits", SECONDS)]);
  });
  const groups = C_NAMES.map((name) => [name]);
  const shares = sharesOf(sums.self, groups);
  const traced = sharesOf(timeByFunction(trace, C_NAMES), groups);
  const what = `C, ${C_THREADS} threads that sleep ${6 * unitMs}, ${3 * unitMs} and ${unitMs} ms`;
  return [
    // Timers are late by 0.05 ms and more: short sleeps are longer than the program asked for.
    ...(unitMs >= 10 ? [shareRow(what, shares, WAIT_SHARES)] : []),
    shareRow(`${what}, against sched_switch`, shares, traced, `${text(traced)} (perf)`),
    ...soundness(what, sums, C_THREADS),
  ];
}

async function sampled(loads: readonly Running[], args: readonly string[] = []): Promise<Sums> {
  return during(loads, async (pids) => {
    await sleep(STARTED_SECONDS);
    return waitsOf(pids, args);
  });
}

const PERLS = 4;
const PERL_NAMES = [["main::query"], ["main::lock_file"], ["main::rest", "main::pause"]];

async function perl(): Promise<Row[]> {
  const what = `${PERLS} Perl programs that wait for a socket, a lock and a time`;
  const make = (): Running => start("/usr/bin/perl", [`${perlPrograms}/waits.pl`, "50"]);
  const sums = await sampled(Array.from({ length: PERLS }, make));
  return [
    shareRow(what, sharesOf(sums.self, PERL_NAMES), WAIT_SHARES),
    ...soundness(what, sums, PERLS),
  ];
}

const DOTNET_NAMES = ["Sleeps", "WantsLock", "WantsSemaphore", "SyncOverAsync"];
const DOTNET_SHARES = [40, 30, 20, 10];
const DOTNET_WHY = ["sleep", "lock", "futex", "futex"];

async function dotnet(): Promise<Row[]> {
  const what = ".NET: Thread.Sleep, Monitor, SemaphoreSlim, sync over async";
  const names = DOTNET_NAMES.map((name) => `Server.Waits.${name}`);
  const sums = await sampled([start(dotnetServer(), ["waits", "50", "8"])]);
  const rows = sums.snapshots.flatMap((it) => (it as WaitSnapshot).functions);
  const wrong = names.filter((name, i) =>
    rows.some((row) => row.name === name && row.self > 0 && row.why !== DOTNET_WHY[i]),
  );
  return [
    shareRow(
      what,
      sharesOf(
        sums.self,
        names.map((name) => [name]),
      ),
      DOTNET_SHARES,
    ),
    { what: `${what}: reasons`, bar: "right", figure: wrong.join() || "right", ok: !wrong.length },
    // Idle threads of the runtime are not counted here.
    ...soundness(what, sums, 0).slice(1),
  ];
}

async function kinds(): Promise<Row[]> {
  const all = { ...WAIT_KINDS, ...IDLE_KINDS };
  const sums = await sampled([start(workload("waits.c"), ["kinds"])], ["--idle"]);
  const wrong = wrongKinds(sums.snapshots as WaitSnapshot[], all);
  return [
    {
      what: `what threads wait for, ${Object.keys(all).length} kinds`,
      bar: "all right",
      figure: wrong.join("; ") || "all right",
      ok: wrong.length === 0,
    },
    ...soundness("a thread for each kind", sums, Object.keys(all).length + 1),
  ];
}

export const waits: readonly Section[] = [
  {
    name: "waits",
    about: "where threads wait, against programs that know and against sched_switch",
    run: async () => [
      ...(await native(20)),
      ...(await native(1)),
      ...(await perl()),
      ...(await dotnet()),
      ...(await kinds()),
    ],
  },
];
