/** Recordings of the running machine: they hold what was sampled, and survive what happens to them. */
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { Profile } from "pprof-format";
import { expect, type TestContext, test } from "vitest";
import { RecordingWriter } from "../../src/recording/writer.ts";
import type { Tick } from "../../src/tick/tick.ts";
import { TestTerminal } from "../screen/terminal.ts";
import { once, withFolder } from "../support/live.ts";
import { hotLoops } from "../support/loads.ts";
import { dist, launcher, needsSampling, polytop, root } from "../support/polytop.ts";
import { during, parseFolded, type Snapshot, start } from "../support/profile.ts";
import { example, HEADER, plain, readRecording } from "../support/recordings.ts";
import { speedscopeErrors } from "../support/speedscope.ts";

const SECONDS = 3;

/** A recording of a busy machine, and what the same run exported without it. */
const recorded = once(() =>
  withFolder((folder) =>
    during(hotLoops(), async () => {
      const path = join(folder, "a.polytop");
      const pprof = join(folder, "a.pb.gz");
      const run = ["-F", "299", "-n", String(SECONDS), "--pprof", pprof];
      const finished = await polytop(["record", "-o", path, ...run]);
      return { finished, bytes: readFileSync(path), profile: readFileSync(pprof) };
    }),
  ),
);

/** Runs it over the recording, as a file in a folder of its own. */
const replay = (bytes: Buffer, ...args: string[]) =>
  withFolder(async (folder) => {
    const path = join(folder, "a.polytop");
    writeFileSync(path, bytes);
    const pprof = join(folder, "b.pb.gz");
    const speedscope = join(folder, "b.json");
    const files = ["--pprof", pprof, "--speedscope", speedscope];
    const finished = await polytop(["replay", path, ...files, ...args]);
    const read = () => ({
      pprof: readFileSync(pprof),
      speedscope: JSON.parse(readFileSync(speedscope, "utf8")),
    });
    return { ...finished, files: finished.status === 0 ? read() : undefined };
  });

/** Stacks with names, lines, modules and processes, and their samples and CPU time. */
function stacksOf(file: Buffer): string[] {
  const profile = Profile.decode(gunzipSync(file));
  const text = (at: number | bigint): string => profile.stringTable.strings[Number(at)] ?? "";
  const frames = new Map(
    profile.location.map(({ id, line: [first] }) => {
      const info = profile.function[Number(first?.functionId) - 1];
      return [id, `${text(info?.name ?? 0)}@${text(info?.filename ?? 0)}:${first?.line}`];
    }),
  );
  return profile.sample
    .map(({ locationId, value, label }) => {
      const stack = locationId.map((id) => frames.get(id)).join(";");
      const labels = label.map(({ str, num }) => text(str) || num).join(" ");
      return `${labels} ${stack} ${value.join(" ")}`;
    })
    .sort();
}

test("says what it holds, in one line", async (context) => {
  needsSampling(context);
  const { finished } = await recorded();
  expect(finished).toMatchObject({ status: 0, stdout: "" });
  expect(finished.stderr).toMatch(
    /^polytop: [\d,]+ samples in [34] s recorded into \S+ \(\d+ kB\): polytop replay \S+\n$/,
  );
});

test("replays the stacks and names that were sampled", async (context) => {
  needsSampling(context);
  const { bytes, profile } = await recorded();
  const { status, stderr, stdout, files } = await replay(bytes, "--json", "--rows", "0");
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  const live = stacksOf(profile);
  expect(live.length).toBeGreaterThan(10);
  expect(stacksOf(files?.pprof ?? Buffer.alloc(0))).toEqual(live);
  expect(speedscopeErrors(files?.speedscope)).toEqual([]);
  const snapshots = stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Snapshot);
  expect(snapshots).toHaveLength(SECONDS);
  for (const { samples, functions, frequency, metrics } of snapshots) {
    expect(functions.reduce((sum, row) => sum + row.self, 0)).toBe(samples);
    expect(frequency).toBe(299);
    expect(metrics.SamplesCounted).toBeGreaterThan(0);
  }
  const { stdout: folded } = await replay(bytes, "--folded");
  const total = parseFolded(folded).reduce((sum, { count }) => sum + count, 0);
  expect(total).toBe(snapshots.reduce((sum, { samples }) => sum + samples, 0));
});

test("needs no privileges, no BPF and no addon to be replayed", async (context) => {
  needsSampling(context);
  const { bytes } = await recorded();
  await withFolder(async (folder) => {
    const path = join(folder, "a.polytop");
    writeFileSync(path, bytes);
    mkdirSync(join(folder, "p/bin"), { recursive: true });
    cpSync(launcher, join(folder, "p/bin/polytop"));
    symlinkSync(join(root, "node_modules"), join(folder, "p/node_modules"));
    const isNeeded = (name: string): boolean => !/\.(node|o)$|worker\.js$/.test(name);
    cpSync(dist, join(folder, "p/dist"), { recursive: true, filter: isNeeded });
    const powerless = ["--bounding-set=-all", "--inh-caps=-all", join(folder, "p/bin/polytop")];
    const finished = await polytop([...powerless, "replay", path, "--once"], {
      command: "/usr/bin/setpriv",
    });
    expect(finished).toMatchObject({ status: 0, stderr: "" });
    expect(finished.stdout).toMatch(/^# polytop .* 299 Hz /);
  });
});

test("opens after a SIGKILL, and says that it was cut off", async (context) => {
  needsSampling(context);
  await withFolder(async (folder) => {
    const path = join(folder, "a.polytop");
    // Of one program: what others of this machine are told of would stand beside what is tested.
    await during(hotLoops(), async ([pid]) => {
      const running = start(launcher, ["record", "-o", path, "-d", "0.5", "-p", String(pid)]);
      for (let i = 0; i < 200 && countTicks(path) < 5; i++) {
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
      await running.stop();
    });
    const { status, stdout, stderr } = await polytop(["replay", path, "--json"]);
    expect(status).toBe(0);
    expect(stdout.trimEnd().split("\n").length).toBeGreaterThanOrEqual(5);
    expect(stderr).toMatch(/^polytop: \S+ is cut off at byte \d+: shown up to there\n$/);
  });
});

function countTicks(path: string): number {
  try {
    return readRecording(path).ticks.length;
  } catch {
    return 0;
  }
}

test("says that the disk is full, and keeps what was written", async (context) => {
  await withFolder(async (folder) => {
    mountSmall(context, folder);
    try {
      const path = join(folder, "a.polytop");
      const writer = new RecordingWriter(path, HEADER, { replace: true });
      const fill = (): void => {
        for (const tick of example(100_000)) writer.add(tick);
      };
      expect(fill).toThrow(
        `cannot write ${path}: the disk is full; what was written before can be`,
      );
      const { ticks, problem } = readRecording(path);
      expect(ticks.length).toBeGreaterThan(100);
      expect(problem).toMatch(/cut off/);
      // The older one stays when not even the beginning of a new one fits.
      const begin = (): unknown => new RecordingWriter(path, HEADER, { replace: true });
      expect(begin).toThrow("the disk is full; the recording that was there is as it was");
      expect(readRecording(path).ticks).toHaveLength(ticks.length);
    } finally {
      spawnSync("umount", [folder]);
    }
  });
});

/** A file system of 64 kB. */
function mountSmall(context: TestContext, folder: string): void {
  const { status, stderr } = spawnSync("mount", ["-t", "tmpfs", "-o", "size=64k", "none", folder], {
    encoding: "utf8",
  });
  if (status !== 0) context.skip(`no file system can be mounted: ${stderr.trim()}`);
}

test("is looked at in the live view, frozen at its end", async (context) => {
  needsSampling(context);
  const { bytes } = await recorded();
  await withFolder(async (folder) => {
    const path = join(folder, "a.polytop");
    writeFileSync(path, bytes);
    const size = { columns: 140, rows: 30 };
    const line = 'cd "$0" && exec "$1" replay a.polytop -d 0.1';
    const terminal = new TestTerminal("/bin/sh", ["-c", line, folder, launcher], size);
    const text = await terminal.until((it) => it.includes("recording ends here"), "its end");
    expect(text).toContain("299 Hz");
    // What is shown is written, and is the same again.
    terminal.type("w");
    const written = await terminal.until((it) => /polytop-\S+\.polytop/.test(it), "a file");
    const [copy = ""] = /polytop-\S+\.polytop/.exec(written) ?? [];
    terminal.type("q");
    expect(await terminal.exited).toMatchObject({ exitCode: 0 });
    const [first, second] = [readRecording(path), readRecording(join(folder, copy))];
    expect(second.problem).toBeUndefined();
    const content = (tick: Tick): object => plain({ ...tick, notices: [] });
    expect(second.ticks.map(content)).toEqual(first.ticks.map(content));
  });
});
