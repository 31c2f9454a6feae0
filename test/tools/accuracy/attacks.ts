/** What another user of the machine can do to a polytop that runs at its defaults: attacks with files and processes. */
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readLink } from "../../../src/machine/read-text.ts";
import { buildTools, run, tool } from "../../native/tools.ts";
import { symbolOffset } from "../../support/elf.ts";
import { type Row, ratio, type Section } from "../../support/measure.ts";
import { type Running, sleep, start } from "../../support/profile.ts";
import { type Seen, Watched } from "../../support/watched.ts";
import { workload } from "../../support/workloads.ts";

const NOBODY = 65_534;
/** Ten users that the machine does not know. */
const CROWD = Array.from({ length: 10 }, (_, at) => 64_001 + at);
const VICTIM = "attacked";
const LATE_VICTIM = "attacked-late";
const NAMES = new Set(["sixty", "thirty", "ten", "main", "_start", "__libc_start_main"]);

/** Seconds: before an attack, of it, until all is as before, of what is as before. */
const PHASES = { before: 5, attack: 15, rest: 5, after: 5 };

/** The bar is for ten minutes. */
const CROWD_SECONDS = Number(process.env.POLYTOP_ATTACK_SECONDS ?? 120);

/** Seconds: from the start of an attack to that of another program, and until it has to be known. */
const LATER = 3;
const KNOWN_AFTER = 3;

interface Attack {
  readonly name: string;
  readonly about: string;
  /** What the notice names; none where nothing has to be refused. */
  readonly notice?: RegExp;
  /** Makes what it needs in the folder of a user; users have numbers from 0. */
  prepare?(folder: string, user: number): void;
  /** What a user runs, with a folder of his own. */
  commands(folder: string): readonly (readonly string[])[];
}

const quoted = (word: string): string => `'${word.replaceAll("'", "'\\''")}'`;

/**
 * Starts programs as another user, each in a session of its own: the scheduler divides CPUs among those. A shell starts
 * them, since they may leave no CPU to whoever does, and they end with it. It waits
 * for a SIGCONT.
 */
function startAs(uid: number, commands: readonly (readonly string[])[]): Running {
  const identity = ["--reuid", String(uid), "--regid", String(uid), "--clear-groups"];
  const lines = commands.map(
    (words) => `setsid setpriv --pdeathsig KILL ${words.map(quoted).join(" ")} &`,
  );
  const script = ["kill -STOP $$", ...lines, "wait"].join("\n");
  return start("/usr/bin/setpriv", [...identity, "/bin/sh", "-c", script]);
}

/**
 * Starts a program of others, which waits for a SIGCONT where it `waits`. Its session gets as much of a CPU as some nine
 * do: among the hundreds of an attack it would hardly be sampled, and it has to be there soon.
 */
function startOthers(path: string, waits: boolean): Running {
  const script = `echo -10 >/proc/self/autogroup; ${waits ? "kill -STOP $$; " : ""}exec "$0"`;
  return start("/bin/sh", ["-c", script, path]);
}

const attacker = (): string => workload("attacker.c");

/** Numbers of perls whose interpreters have the same layout (intrpvar.h, cop.h). */
const ALIKE_FROM = 36;

/** Copies of a perl that no two are alike, of no two users either: each says another version of itself. */
function makePerls(folder: string, user: number): void {
  const perl = readFileSync("/usr/bin/perl");
  const version = symbolOffset(perl, "PL_version");
  const subversion = symbolOffset(perl, "PL_subversion");
  for (let number = 40 * user; number < 40 * (user + 1); number++) {
    // A version is a byte of each; odd ones are those of development.
    perl[version] = ALIKE_FROM + 2 * (number >> 8);
    perl[subversion] = number & 0xff;
    writeFileSync(join(folder, `perl-${number}`), perl, { mode: 0o755 });
  }
}

const ATTACKS: readonly Attack[] = [
  {
    name: "files",
    about: "files that lie about how much there is",
    notice: /user [1-9]\d*/,
    prepare: (folder) => void run(tool("hostile_cases"), ["write", folder]),
    commands: (folder) => {
      const files = readdirSync(folder)
        .map(Number)
        .sort((a, b) => a - b);
      return files.map((file, at) => {
        const code = at + 2 < files.length ? "1000" : "5000";
        return [attacker(), "code", join(folder, String(file)), code];
      });
    },
  },
  {
    name: "changing",
    about: "a file with 3 million symbols that changes all the time",
    prepare: (folder) => void run(tool("hostile_cases"), ["write", folder]),
    commands: (folder) => [[attacker(), "touch", join(folder, "8"), "1000"]],
  },
  {
    name: "names",
    about: "300,000 functions with names of 512 characters",
    commands: (folder) => [[attacker(), "names", join(folder, "names"), "300000"]],
  },
  {
    name: "maps",
    about: "perf maps of 30 MB in 6 processes",
    notice: /user [1-9]\d*/,
    commands: () => Array.from({ length: 6 }, () => [attacker(), "map", "30000000"]),
  },
  {
    name: "many",
    about: "6,000 small programs in turn",
    commands: (folder) => [[attacker(), "many", folder, "6000"]],
  },
  {
    name: "interpreters",
    about: "40 interpreters, no two alike",
    notice: /user [1-9]\d*/,
    prepare: makePerls,
    commands: (folder) =>
      readdirSync(folder).map((perl) => [
        join(folder, perl),
        "-e",
        "sub f { $_[0] + 1 } f(1) while 1",
      ]),
  },
];

/** What stands for a function whose name is not known: a reason, or a place in a file. */
const NAMELESS = /^\[|\+0x[0-9a-f]+$/;

/** How a program of others fared: whole stacks, named functions, names in it that are none of its own. */
function fareOf(seen: readonly Seen[], pid: number) {
  let [samples, complete, nameless, foreign] = [0, 0, 0, 0];
  for (const { snapshot } of seen) {
    const own = snapshot.processes.find((it) => it.pid === pid);
    samples += own?.samples ?? 0;
    complete += own?.complete ?? 0;
    for (const { name, pids, self, module } of snapshot.functions) {
      // A row of several processes says nothing of how many samples are of this one.
      if (!pids.includes(pid) || (pids.length > 1 && !module.startsWith(VICTIM))) continue;
      if (NAMELESS.test(name)) nameless += self;
      else if (self > 0 && module.startsWith(VICTIM) && !NAMES.has(name)) foreign += self;
    }
  }
  const named = ratio(samples - nameless, samples);
  return { samples, complete: ratio(complete, samples), named, foreign };
}

/** Fewer samples of a program say nothing of it. */
const FEWEST = 30;

/** Whether a share of some samples is as high as it must be. */
const isMost = (share: number, samples: number): boolean => samples >= FEWEST && share >= 0.97;

const percentOf = (share: number): string => `${(100 * share).toFixed(1)} %`;

/** The longest time in seconds without a refresh. */
function longestOf(from: number, seen: readonly Seen[], to: number): number {
  const times = [from, ...seen.map(({ at }) => at), to];
  return Math.max(...times.slice(1).map((at, index) => at - (times[index] ?? at))) / 1000;
}

/** Runs an attack by some users at once. */
async function attackedBy(
  attack: Attack,
  uids: readonly number[],
  seconds: number,
): Promise<Row[]> {
  const base = mkdtempSync(join(tmpdir(), "polytop-attack-"));
  chmodSync(base, 0o755);
  const folders = uids.map((uid, user) => {
    const folder = join(base, `user-${uid}`);
    mkdirSync(folder);
    attack.prepare?.(folder, user);
    run("chown", ["-R", `${uid}:${uid}`, folder]);
    return folder;
  });
  // Whoever looks at the clock must not wait in line himself, nor for the threads that collect its garbage.
  spawnSync("chrt", ["--all-tasks", "--rr", "--reset-on-fork", "--pid", "2", String(process.pid)]);
  const victim = startOthers(workload("split.c", { as: VICTIM }), false);
  // A file that polytop has never met when the attack begins.
  const fresh = join(base, LATE_VICTIM);
  copyFileSync(workload("split.c", { as: VICTIM }), fresh);
  const late = startOthers(fresh, true);
  const seen: Seen[] = [];
  const polytop = new Watched((it) => seen.push(it));
  const attackers: Running[] = [];
  const prepare = (): void => {
    for (const [at, uid] of uids.entries())
      attackers.push(startAs(uid, attack.commands(folders[at] ?? base)));
  };
  const launch = (): void => {
    for (const { pid } of attackers) process.kill(pid, "SIGCONT");
  };
  const between = (from: number, to: number): Seen[] =>
    seen.filter(({ at }) => at >= from && at < to);
  try {
    await polytop.refreshes(3);
    prepare();
    const begun = performance.now();
    await sleep(PHASES.before);
    const attacked = performance.now();
    launch();
    await sleep(LATER);
    process.kill(late.pid, "SIGCONT");
    const started = performance.now();
    await sleep(seconds - LATER);
    const stopped = performance.now();
    await Promise.all([late, ...attackers.splice(0)].map((it) => it.stop()));
    prepare();
    await sleep(PHASES.rest);
    const calm = performance.now();
    await sleep(PHASES.after);
    const before = fareOf(between(begun, attacked), victim.pid);
    const during = fareOf(between(attacked, stopped), victim.pid);
    const after = fareOf(between(calm, performance.now()), victim.pid);
    const later = fareOf(between(started + 1000 * KNOWN_AFTER, stopped), late.pid);
    const calmest = longestOf(begun, between(begun, attacked), attacked);
    const longest = longestOf(attacked, between(attacked, stopped), stopped);
    launch();
    await sleep(3);
    const end = await polytop.end();
    const megabytes = polytop.megabytes;
    if (process.env.POLYTOP_DEBUG) {
      console.error(polytop.said);
      for (const { at, snapshot: it } of seen) {
        const second = ((at - attacked) / 1000).toFixed(2);
        console.error(second, it.intervalSeconds, it.frequency, it.samples, it.self.cpuPercent);
      }
    }
    const told = attack.notice?.exec(polytop.said)?.[0];
    const what = `${attack.about}${uids.length > 1 ? `, ${uids.length} users` : ""}`;
    const row = (of: string, bar: string, figure: string, ok: boolean, samples?: number): Row => ({
      what: `${what}: ${of}`,
      bar,
      figure,
      ok,
      ...(samples === undefined ? {} : { samples }),
    });
    return [
      row(
        "from one refresh to the next",
        "≤ 1.5 s",
        `${longest.toFixed(2)} s (before it ${calmest.toFixed(2)} s)`,
        longest <= 1.5,
      ),
      row(
        "memory of all its processes",
        "≤ 300 MB",
        `${megabytes.toFixed(0)} MB`,
        megabytes <= 300,
      ),
      row(
        "others' stacks complete",
        "≥ 97 %",
        percentOf(during.complete),
        isMost(during.complete, during.samples),
        during.samples,
      ),
      row(
        "others' functions named",
        "≥ 97 %",
        percentOf(during.named),
        isMost(during.named, during.samples),
        during.samples,
      ),
      row("foreign names", "0", String(during.foreign), during.foreign === 0),
      row(
        `of a program that started meanwhile, after ${KNOWN_AFTER} s: complete, named`,
        "≥ 97 %",
        `${percentOf(later.complete)}, ${percentOf(later.named)}`,
        isMost(Math.min(later.complete, later.named), later.samples),
        later.samples,
      ),
      row(
        "complete after it",
        `≥ ${percentOf(before.complete)} (before)`,
        percentOf(after.complete),
        after.complete >= before.complete - 0.005,
        after.samples,
      ),
      row("SIGTERM until the end", "≤ 2 s", `${end.toFixed(2)} s`, end <= 2),
      ...(attack.notice
        ? [row("a notice says who", "yes", told ?? "none", told !== undefined)]
        : []),
    ];
  } finally {
    await Promise.all([victim, late, ...attackers].map((it) => it.stop()));
    await polytop.end();
    endAll(uids, base);
    rmSync(base, { recursive: true, force: true });
    removePerfMaps(uids);
  }
}

/**
 * Ends what is left of an attack: a program whose shell ended before it asked to end with that never does. Its file lies
 * in the folder of the attack, or it is the attacker.
 */
function endAll(uids: readonly number[], base: string): void {
  for (const pid of readdirSync("/proc").map(Number)) {
    const path = Number.isInteger(pid) ? readLink(`/proc/${pid}/exe`) : undefined;
    const isOurs = path === attacker() || path?.startsWith(`${base}/`);
    const owner = statSync(`/proc/${pid}`, { throwIfNoEntry: false })?.uid;
    if (isOurs && owner !== undefined && uids.includes(owner))
      spawnSync("kill", ["-KILL", String(pid)]);
  }
}

/** Removes what processes of some users have left: 2 GB in an attack. */
function removePerfMaps(uids: readonly number[]): void {
  for (const name of readdirSync("/tmp")) {
    const path = join("/tmp", name);
    if (!/^perf-\d+\.map$/.test(name)) continue;
    const owner = statSync(path, { throwIfNoEntry: false })?.uid;
    if (owner !== undefined && uids.includes(owner)) rmSync(path, { force: true });
  }
}

const section = (attack: Attack, uids: readonly number[], seconds: number): Section => {
  const isCrowd = uids.length > 1;
  return {
    name: `attack-${attack.name}${isCrowd ? "-ten" : ""}`,
    about: `others, while ${isCrowd ? "ten users attack" : "another user attacks"}: ${attack.about}`,
    onlyByName: true,
    run: () => {
      buildTools();
      return attackedBy(attack, uids, seconds);
    },
  };
};

export const attackSections: readonly Section[] = [
  ...ATTACKS.map((it) => section(it, [NOBODY], PHASES.attack)),
  ...ATTACKS.map((it) => section(it, CROWD, CROWD_SECONDS)),
];
