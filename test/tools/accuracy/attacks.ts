/** What another user of the machine can do to a polytop that runs at its defaults: attacks with files and processes. */
import { spawn } from "node:child_process";
import {
  chmodSync,
  chownSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildTools, run, tool } from "../../native/tools.ts";
import { symbolOffset } from "../../support/elf.ts";
import { type Row, ratio, type Section } from "../../support/measure.ts";
import { cleanEnvironment, launcher } from "../../support/polytop.ts";
import { type Running, type Snapshot, sleep, start } from "../../support/profile.ts";
import { workload } from "../../support/workloads.ts";

const NOBODY = 65_534;
/** Ten users that the machine does not know. */
const CROWD = Array.from({ length: 10 }, (_, at) => 64_001 + at);
const VICTIM = "attacked";
const NAMES = new Set(["sixty", "thirty", "ten", "main", "_start", "__libc_start_main"]);

/** Seconds: before an attack, of it, until all is as before, of what is as before. */
const PHASES = { before: 5, attack: 12, rest: 5, after: 5 };

interface Attack {
  readonly name: string;
  readonly about: string;
  /** What the notice names; none where nothing has to be refused. */
  readonly notice?: RegExp;
  /** Makes what it needs in a folder of the user. */
  prepare?(folder: string): void;
  /** Starts it for a user, in his folder. */
  launch(uid: number, folder: string): Running[];
}

/** Starts a program as another user. */
const startAs = (uid: number, command: string, args: readonly string[]): Running => {
  const identity = ["--reuid", String(uid), "--regid", String(uid), "--clear-groups"];
  return start("/usr/bin/setpriv", [...identity, command, ...args]);
};

const attacker = (): string => workload("attacker.c");

/** Copies of a perl that no two are alike: each says another version of itself. */
function makePerls(folder: string): void {
  const perl = readFileSync("/usr/bin/perl");
  const at = symbolOffset(perl, "PL_subversion");
  for (let number = 0; number < 40; number++) {
    perl[at] = number;
    writeFileSync(join(folder, `perl-${number}`), perl, { mode: 0o755 });
  }
}

const ATTACKS: readonly Attack[] = [
  {
    name: "files",
    about: "files that lie about how much there is",
    notice: /user \d+/,
    prepare: (folder) => void run(tool("hostile_cases"), ["write", folder]),
    launch: (uid, folder) => {
      const files = readdirSync(folder)
        .map(Number)
        .sort((a, b) => a - b);
      return files.map((file, at) => {
        const code = at + 2 < files.length ? "1000" : "5000";
        return startAs(uid, attacker(), ["code", join(folder, String(file)), code]);
      });
    },
  },
  {
    name: "changing",
    about: "a file with 3 million symbols that changes all the time",
    prepare: (folder) => void run(tool("hostile_cases"), ["write", folder]),
    launch: (uid, folder) => [startAs(uid, attacker(), ["touch", join(folder, "8"), "1000"])],
  },
  {
    name: "names",
    about: "300,000 functions with names of 512 characters",
    launch: (uid, folder) => [startAs(uid, attacker(), ["names", join(folder, "names"), "300000"])],
  },
  {
    name: "maps",
    about: "perf maps of 30 MB in 6 processes",
    launch: (uid) => Array.from({ length: 6 }, () => startAs(uid, attacker(), ["map", "30000000"])),
  },
  {
    name: "interpreters",
    about: "40 interpreters, no two alike",
    notice: /user \d+/,
    prepare: (folder) => makePerls(folder),
    launch: (uid, folder) =>
      readdirSync(folder).map((perl) =>
        startAs(uid, join(folder, perl), ["-e", "sub f { $_[0] + 1 } f(1) while 1"]),
      ),
  },
];

/** What a run showed. */
interface Seen {
  readonly at: number;
  readonly snapshot: Snapshot;
}

class Watched {
  readonly seen: Seen[] = [];
  readonly #child: ReturnType<typeof spawn>;
  readonly #exited: Promise<void>;
  #stderr = "";
  #most = 0;
  readonly #timer: NodeJS.Timeout;

  constructor() {
    this.#child = spawn(launcher, ["--json"], {
      env: { ...cleanEnvironment(), POLYTOP_BUDGET: undefined },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let line = "";
    this.#child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      const lines = (line + text).split("\n");
      line = lines.pop() ?? "";
      for (const it of lines)
        this.seen.push({ at: performance.now(), snapshot: JSON.parse(it) as Snapshot });
    });
    this.#child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      this.#stderr += text;
    });
    this.#exited = new Promise((resolve) => this.#child.on("close", () => resolve()));
    this.#timer = setInterval(() => {
      this.#most = Math.max(this.#most, treeMegabytes(this.#child.pid ?? 0));
    }, 300);
  }

  get megabytes(): number {
    return this.#most;
  }
  get said(): string {
    return this.#stderr;
  }

  /** Waits for so many refreshes, at most two minutes. */
  async refreshes(count: number): Promise<void> {
    for (let wait = 0; wait < 1200 && this.seen.length < count; wait++) await sleep(0.1);
  }

  /** Ends it as the system would; resolves to the seconds that this took, at most 10. */
  async end(): Promise<number> {
    clearInterval(this.#timer);
    const begun = performance.now();
    this.#child.kill("SIGTERM");
    await Promise.race([this.#exited, sleep(10)]);
    this.#child.kill("SIGKILL");
    await this.#exited;
    return (performance.now() - begun) / 1000;
  }
}

/** Resident memory of a process and all that it started. */
function treeMegabytes(pid: number): number {
  const parents = new Map<number, number>();
  const bytes = new Map<number, number>();
  for (const entry of readdirSync("/proc")) {
    if (!/^\d+$/.test(entry)) continue;
    try {
      const status = readFileSync(`/proc/${entry}/status`, "latin1");
      parents.set(Number(entry), Number(/^PPid:\s*(\d+)/m.exec(status)?.[1]));
      bytes.set(Number(entry), 1024 * Number(/^VmRSS:\s*(\d+)/m.exec(status)?.[1] ?? 0));
    } catch {
      // It has ended.
    }
  }
  const isBelow = (it: number | undefined): boolean =>
    it === pid || (it !== undefined && it > 1 && isBelow(parents.get(it)));
  let sum = 0;
  for (const [it, size] of bytes) if (isBelow(it)) sum += size;
  return sum / 1e6;
}

/** How a program of others fared: whole stacks, functions by their right names, names that are none of its own. */
function fareOf(seen: readonly Seen[], pid: number) {
  let [samples, complete, named, foreign] = [0, 0, 0, 0];
  for (const { snapshot } of seen) {
    const own = snapshot.processes.find((it) => it.pid === pid);
    samples += own?.samples ?? 0;
    complete += own?.complete ?? 0;
    for (const { name, pids, self, module, runtime } of snapshot.functions) {
      if (runtime === "kernel" || !pids.includes(pid) || pids.length > 1) continue;
      if (NAMES.has(name)) named += self;
      else if (self > 0 && module === VICTIM) foreign += self;
    }
  }
  return { samples, complete: ratio(complete, samples), named: ratio(named, samples), foreign };
}

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
  const folders = uids.map((uid) => {
    const folder = mkdtempSync(join(base, "user-"));
    chownSync(folder, uid, uid);
    attack.prepare?.(folder);
    for (const file of readdirSync(folder)) chownSync(join(folder, file), uid, uid);
    return folder;
  });
  const victim = start(workload("split.c", { as: VICTIM }));
  const polytop = new Watched();
  const running: Running[] = [];
  const launch = (): void => {
    for (const [at, uid] of uids.entries())
      running.push(...attack.launch(uid, folders[at] ?? base));
  };
  const between = (from: number, to: number): Seen[] =>
    polytop.seen.filter(({ at }) => at >= from && at < to);
  try {
    await polytop.refreshes(3);
    const begun = performance.now();
    await sleep(PHASES.before);
    const attacked = performance.now();
    launch();
    await sleep(seconds);
    const stopped = performance.now();
    await Promise.all(running.splice(0).map((it) => it.stop()));
    await sleep(PHASES.rest);
    const calm = performance.now();
    await sleep(PHASES.after);
    const before = fareOf(between(begun, attacked), victim.pid);
    const during = fareOf(between(attacked, stopped), victim.pid);
    const after = fareOf(between(calm, performance.now()), victim.pid);
    const calmest = longestOf(begun, between(begun, attacked), attacked);
    const longest = longestOf(attacked, between(attacked, stopped), stopped);
    launch();
    await sleep(3);
    const end = await polytop.end();
    const megabytes = polytop.megabytes;
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
        during.complete >= 0.97,
        during.samples,
      ),
      row(
        "others' functions named",
        "≥ 97 %",
        percentOf(during.named),
        during.named >= 0.97,
        during.samples,
      ),
      row("foreign names", "0", String(during.foreign), during.foreign === 0),
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
    await Promise.all([victim, ...running].map((it) => it.stop()));
    await polytop.end();
    rmSync(base, { recursive: true, force: true });
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
  ...ATTACKS.map((it) => section(it, CROWD, 120)),
];
