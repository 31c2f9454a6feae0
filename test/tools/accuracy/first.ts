/** How much of the first seconds is known: programs that ran before polytop did, and such as start after it. */
import { copyFileSync, existsSync, mkdirSync, readdirSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { withFolder } from "../../support/live.ts";
import { percent, type Row, ratio, type Section } from "../../support/measure.ts";
import {
  during,
  type Running,
  type Sums,
  sampleJson,
  sleep,
  start,
} from "../../support/profile.ts";

const BEING_BUILT = "[native: unwind table being built]";
const SECONDS = 10;
/** Each of them burns a CPU for as long as it runs; NAME stands for the program. */
const PROGRAMS: Readonly<Record<string, string>> = {
  perl: "NAME -e '$i++ while 1'",
  python3: "NAME -c 'while True: sum(range(1000))'",
  openssl: "NAME speed -seconds 60 sha256 >/dev/null 2>&1",
  gzip: "NAME -c </dev/zero >/dev/null",
  bzip2: "NAME -c </dev/zero >/dev/null",
  xz: "NAME -c </dev/zero >/dev/null",
  zstd: "NAME -c </dev/zero >/dev/null",
  bash: "NAME -c 'while :; do :; done'",
  dash: "NAME -c 'while :; do :; done'",
  mawk: "NAME 'BEGIN { while (1) i++ }'",
  sha256sum: "NAME /dev/zero",
  md5sum: "NAME /dev/zero",
  cksum: "NAME /dev/zero",
  sort: "NAME /dev/zero",
  wc: "NAME /dev/zero",
  base64: "NAME /dev/zero >/dev/null",
  od: "NAME /dev/zero >/dev/null",
  sed: "NAME -n p /dev/zero",
  grep: "NAME -c x /dev/zero",
  tr: "NAME a b </dev/zero >/dev/null",
  factor: "yes 340282366920938463463374607431768211507 | NAME >/dev/null",
  seq: "NAME 1 100000000000 >/dev/null",
  node: "NAME -e 'for (let i = 0;; i++) JSON.stringify({ i })'",
};

/** Libraries and programs of more than a few functions, whose tables take longest. */
const WANTED = 20;

/** Copies of programs that no table is known of: a file is known by its inode and time. */
function copies(folder: string): string[] {
  const commands: string[] = [];
  for (const [name, command] of Object.entries(PROGRAMS)) {
    const path = name === "node" ? process.execPath : `/usr/bin/${name}`;
    if (commands.length >= WANTED && name !== "node") continue;
    if (!existsSync(path)) continue;
    const copy = join(folder, name);
    copyFileSync(realpathSync(path), copy);
    commands.push(`exec 2>/dev/null; ${command.replace("NAME", copy)}`);
  }
  return commands;
}

const startAll = (commands: readonly string[]): Running[] =>
  commands.map((command) => start("/bin/sh", ["-c", command]));

/** The share of samples of some refreshes that have a whole stack, and those whose table was not there yet. */
function judge(what: string, { snapshots }: Sums, bar: number): Row[] {
  const samples = snapshots.reduce((sum, it) => sum + it.samples, 0);
  const complete = snapshots.reduce((sum, it) => sum + it.stacks.complete, 0);
  const pending = snapshots.reduce(
    (sum, it) => sum + (it.metrics.UnwindNativeErrFilePending ?? 0),
    0,
  );
  return [
    {
      what: `${what}: complete`,
      bar: `≥ ${bar} %`,
      figure: percent(complete, samples),
      samples,
      ok: ratio(complete, samples) >= bar / 100,
    },
    {
      what: `${what}: ${BEING_BUILT}`,
      bar: "≤ 1 %",
      figure: percent(pending, samples),
      samples,
      ok: ratio(pending, samples) <= 0.01,
    },
  ];
}

/** The first refresh beside programs that run already, without a cache and with what the run before left there. */
async function firstRefreshes(): Promise<Row[]> {
  return withFolder(async (folder) => {
    const cacheHome = join(folder, "cache");
    mkdirSync(cacheHome);
    return during(startAll(copies(folder)), async () => {
      await sleep(2);
      const options = { seconds: 1, frequency: 499, env: { XDG_CACHE_HOME: cacheHome } };
      const cold = await sampleJson(options);
      const kept = readdirSync(join(cacheHome, "polytop")).length;
      const warm = await sampleJson(options);
      const none = await sampleJson({ ...options, args: ["--no-cache"] });
      return [
        ...judge("first refresh, nothing kept", cold, 90),
        ...judge(`first refresh, ${kept} tables kept`, warm, 99.5),
        ...judge("first refresh, --no-cache", none, 90),
      ];
    });
  });
}

/** Programs that start while polytop runs, on a machine that is busy. */
async function newPrograms(): Promise<Row[]> {
  return withFolder(async (folder) => {
    const cacheHome = join(folder, "cache");
    mkdirSync(cacheHome);
    const commands = copies(folder);
    const load = startAll(["while :; do :; done", "while :; do :; done"]);
    const started: Running[] = [];
    try {
      return await during(load, async () => {
        const sums = await sampleJson({
          seconds: SECONDS + 2,
          frequency: 499,
          env: { XDG_CACHE_HOME: cacheHome },
          onLine: (line) => {
            if (line === 1) started.push(...startAll(commands));
          },
        });
        const first = { ...sums, snapshots: sums.snapshots.slice(1, SECONDS + 1) };
        return judge(`${commands.length} new programs on a busy machine, ${SECONDS} s`, first, 97);
      });
    } finally {
      await Promise.all(started.map((it) => it.stop()));
    }
  });
}

export const first: readonly Section[] = [
  {
    name: "first",
    about:
      "the first refresh, with and without what an earlier run kept, and the first seconds of new programs",
    run: async () => [...(await firstRefreshes()), ...(await newPrograms())],
  },
];
