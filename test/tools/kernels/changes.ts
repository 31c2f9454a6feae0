/**
 * What changes under a running polytop in the virtual machine: files, the time of day, CPUs, the machine's own time.
 * Each program says by its names what is true. polytop starts slowly on emulated CPUs: one run is for all files, one
 * for all that happens to the machine.
 */
import { execFileSync } from "node:child_process";
import {
  copyFileSync,
  openSync,
  readFileSync,
  renameSync,
  statSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { SECOND_CPU } from "../../support/cpu-time.ts";
import { during, type Running, type Snapshot, sampleJson, start } from "../../support/profile.ts";
import { wrongSums } from "../../support/sums.ts";
import { type ChangeFindings, FILES, FREEZE_MARK } from "./findings.ts";

/** So many refreshes after a start or a change all tables are built, on emulated CPUs. */
const SETTLED = 3;

/** Until polytop has started, beside busy programs on emulated CPUs. */
const SPARE_SECONDS = 180;

/** Starts a program that leaves the CPUs to whoever wants them: polytop takes long to start on emulated ones. */
const startNice = (command: string, args: readonly string[]): Running =>
  start("nice", ["-n", "19", command, ...args]);

/** A copy of a file of the machine around. */
function copied(path: string, as = basename(path)): string {
  const to = join(tmpdir(), as);
  copyFileSync(path, to);
  return to;
}

const has = (snapshot: Snapshot, name: string, pid: number): boolean =>
  snapshot.functions.some((row) => row.name === name && row.total > 0 && row.pids.includes(pid));

/** What is wrong in refreshes that must show one name of a process and not the other. */
function wrongNames(
  snapshots: readonly Snapshot[],
  pid: number,
  right: string,
  wrong: string,
): string[] {
  return snapshots.flatMap((snapshot, at) => [
    ...(has(snapshot, right, pid) ? [] : [`refresh ${at}: no ${right}`]),
    ...(has(snapshot, wrong, pid) ? [`refresh ${at}: ${wrong}`] : []),
  ]);
}

/** The callers of a memory file that is written anew every two seconds, and the function that each never calls. */
const NEVER_CALLED: Readonly<Record<string, string>> = {
  under_first: "in_other",
  under_second: "in_first",
};

/** The refreshes of such a program: those are judged that hold one caller alone, as the one before does. */
function wrongInMemory(snapshots: readonly Snapshot[], pid: number): string[] {
  const callers = snapshots.map((it) =>
    Object.keys(NEVER_CALLED).filter((name) => has(it, name, pid)),
  );
  const seen = new Set(callers.flat());
  const unseen = Object.keys(NEVER_CALLED).filter((name) => !seen.has(name));
  const wrong = snapshots.flatMap((it, at) => {
    const [caller = "", other] = callers[at] ?? [];
    const foreign = NEVER_CALLED[caller];
    if (!foreign || other || callers[at - 1]?.join() !== caller) return [];
    return has(it, foreign, pid) ? [`refresh ${at}: ${foreign} below ${caller}`] : [];
  });
  return [...unseen.map((name) => `no ${name}`), ...wrong];
}

const CHANGE_AT = 5;
/** The file in memory is seen with either content several times. */
const FILE_REFRESHES = 16;

/** A refresh, and when it was by the time of day. */
type Timed = Snapshot & { readonly time: string };

const beginOf = (it: Timed): number => Date.parse(it.time) - it.intervalSeconds * 1000;

async function changeFiles(): Promise<ChangeFindings[]> {
  const loader = copied(FILES.loader);
  const overwritten = copied(FILES.first, "overwritten.so");
  const renamed = copied(FILES.first, "renamed.so");
  const { atimeMs, mtimeMs } = statSync(overwritten);
  const inPlace = startNice(loader, [overwritten]);
  const before = startNice(loader, [renamed]);
  const inMemory = startNice(loader, [FILES.first, FILES.other]);
  let after = before;
  let [began, ended] = [0, Number.POSITIVE_INFINITY];
  const change = (line: number): void => {
    // Refreshes are read late on slow CPUs, and several at once.
    if (line < CHANGE_AT || began > 0) return;
    began = Date.now();
    writeSync(openSync(overwritten, "r+"), readFileSync(FILES.other));
    utimesSync(overwritten, atimeMs / 1000, mtimeMs / 1000);
    renameSync(copied(FILES.other, "renamed.new"), renamed);
    after = startNice(loader, [renamed]);
    ended = Date.now();
  };
  try {
    const sums = await sampleJson({
      seconds: FILE_REFRESHES,
      spareSeconds: SPARE_SECONDS,
      onLine: change,
    });
    const snapshots = sums.snapshots as readonly Timed[];
    const early = snapshots.slice(SETTLED).filter((it) => Date.parse(it.time) < began);
    const beginsAfter = (seconds: number): Timed[] =>
      snapshots.filter((it) => beginOf(it) > ended + seconds * 1000);
    const settled = beginsAfter(SETTLED);
    const untried = early.length > 0 && settled.length > 0 ? [] : ["no refresh before it or after"];
    return [
      {
        what: "overwritten in place",
        wrong: [
          ...untried,
          ...wrongNames(early, inPlace.pid, "in_first", "in_other"),
          ...wrongNames(beginsAfter(1), inPlace.pid, "in_other", "in_first"),
        ],
      },
      {
        what: "replaced by rename",
        wrong: [
          ...untried,
          ...wrongNames(settled, before.pid, "in_first", "in_other"),
          ...wrongNames(settled, after.pid, "in_other", "in_first"),
        ],
      },
      { what: "memory file", wrong: wrongInMemory(snapshots.slice(SETTLED), inMemory.pid) },
    ];
  } finally {
    await Promise.all([inPlace, before, inMemory, after].map((program) => program.stop()));
  }
}

const setClock = (seconds: number): void => {
  const to = Math.round(Date.now() / 1000) + seconds;
  execFileSync("date", ["-s", `@${to}`], { stdio: "ignore" });
};

const HOUR = 3600;

/** What happens to the machine, one after the other. */
const TROUBLES: readonly { readonly what: string; readonly happen: () => void }[] = [
  { what: "clock an hour ahead", happen: () => setClock(HOUR) },
  { what: "clock an hour back", happen: () => setClock(-HOUR) },
  {
    what: "CPU off and on",
    happen: () => {
      writeFileSync(SECOND_CPU, "0");
      writeFileSync(SECOND_CPU, "1");
    },
  },
  { what: "machine stood still", happen: () => console.log(FREEZE_MARK) },
];

/** One CPU alone is less; the machine around takes some of both. */
const FEWEST_BUSY = 1.2;

/** Refreshes from one trouble to the next: two in which all may be amiss, and two that must be right. */
const TROUBLE_EVERY = 4;

/** Two busy CPUs while things happen to the machine: sums hold, and afterwards both are sampled. */
async function troubleMachine(): Promise<ChangeFindings[]> {
  const loader = copied(FILES.loader);
  const programs = [FILES.first, FILES.other].map((library) => startNice(loader, [library]));
  const { snapshots } = await during(programs, () =>
    sampleJson({
      seconds: SETTLED + TROUBLES.length * TROUBLE_EVERY,
      spareSeconds: SPARE_SECONDS,
      onLine: (line) => {
        if ((line - SETTLED) % TROUBLE_EVERY === 0)
          TROUBLES[(line - SETTLED) / TROUBLE_EVERY]?.happen();
      },
    }),
  );
  return TROUBLES.map(({ what }, number) => {
    const first = SETTLED + number * TROUBLE_EVERY;
    const wrong = snapshots.slice(first, first + TROUBLE_EVERY).flatMap((it, at) => {
      const sums = wrongSums(it);
      const busy = (it.samples + it.missed) / it.frequency / it.intervalSeconds;
      const isSampled = at < 2 || (it.cpus === 2 && busy > FEWEST_BUSY);
      return [
        ...(sums === "" ? [] : [`refresh ${at} of it: ${sums}`]),
        ...(isSampled ? [] : [`refresh ${at} of it: ${busy.toFixed(2)} of ${it.cpus} CPUs`]),
      ];
    });
    return { what, wrong };
  });
}

/** What came of all changes; what could not be tried is one of them. */
export async function findChanges(): Promise<ChangeFindings[]> {
  const failed = (what: string) => (error: unknown) => [{ what, wrong: [String(error)] }];
  return [
    ...(await changeFiles().catch(failed("files that change"))),
    ...(await troubleMachine().catch(failed("what happens to the machine"))),
  ];
}
