/** Profiles for other tools: `--pprof` and `--speedscope`. */
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import fc from "fast-check";
import { Profile } from "pprof-format";
import { describe, expect, test } from "vitest";
import { Exports } from "../../../src/output/exports.ts";
import { pprofFile } from "../../../src/output/pprof.ts";
import { RunProfile } from "../../../src/output/run-profile.ts";
import { speedscopeFile } from "../../../src/output/speedscope.ts";
import type { Tick } from "../../../src/tick/tick.ts";
import { inFolder, ticks } from "../../support/recordings.ts";
import { type SpeedscopeFile, speedscopeErrors } from "../../support/speedscope.ts";
import { makeTick, TickMaker, task } from "../../support/ticks.ts";

const ALL = { filter: undefined, kernel: true, nativeFrames: true };

function profileOf(list: readonly Tick[]): RunProfile {
  const profile = new RunProfile(ALL);
  for (const tick of list) profile.add(tick);
  return profile;
}

/** Two processes of one program, one of another; half of it at half the rate. */
function example(): Tick[] {
  const make = new TickMaker();
  const entry = make.stack([
    "p:Ledger::Post::entry@/srv/ledger.pl:12",
    "p:(main)@/srv/ledger.pl:3",
  ]);
  const read = make.stack(["k:copy_page@kernel", "n:read@libc.so.6", "n:main@app"]);
  const lost = make.stack(["n:[generated code]"], "broken");
  const counts = [
    { stack: entry, task: task(7, "perl"), count: 60 },
    { stack: entry, task: task(8, "perl"), count: 20 },
    { stack: read, task: task(9, "app"), count: 15 },
    { stack: lost, task: task(9, "app"), count: 5 },
  ];
  return [makeTick(counts, { frequency: 100 }), makeTick(counts, { frequency: 50 })];
}

const sum = (numbers: readonly number[]): number => numbers.reduce((a, b) => a + b, 0);

describe("pprof", () => {
  const decode = (list: readonly Tick[]): Profile =>
    Profile.decode(gunzipSync(pprofFile(profileOf(list))));

  test("holds samples and CPU time, names, modules, lines and processes", () => {
    const decoded = decode(example());
    const text = (at: number | bigint): string => decoded.stringTable.strings[Number(at)] ?? "";
    const types = decoded.sampleType.map(({ type, unit }) => `${text(type)}/${text(unit)}`);
    expect(types).toEqual(["samples/count", "cpu/nanoseconds"]);
    expect(text(decoded.defaultSampleType)).toBe("cpu");
    const samples = decoded.sample.map(({ locationId, value, label }) => ({
      frames: locationId.map((id) => {
        const location = decoded.location.find((it) => it.id === id);
        const [line] = location?.line ?? [];
        const info = decoded.function.find((it) => it.id === line?.functionId);
        const mapping = decoded.mapping.find((it) => it.id === location?.mappingId);
        return `${text(info?.name ?? 0)}@${text(info?.filename ?? 0)}:${line?.line} in ${text(mapping?.filename ?? 0)}`;
      }),
      value: value.map(Number),
      label: label.map(({ key, str, num }) => `${text(key)}=${str ? text(str) : num}`).join(),
    }));
    expect(samples).toEqual([
      {
        frames: [
          "Ledger::Post::entry@/srv/ledger.pl:12 in /srv/ledger.pl",
          "(main)@/srv/ledger.pl:3 in /srv/ledger.pl",
        ],
        value: [120, 60 * 10e6 + 60 * 20e6],
        label: "comm=perl,pid=7",
      },
      expect.objectContaining({ value: [40, 20 * 30e6], label: "comm=perl,pid=8" }),
      expect.objectContaining({
        frames: [
          "copy_page@kernel:0 in kernel",
          "read@libc.so.6:0 in libc.so.6",
          "main@app:0 in app",
        ],
        label: "comm=app,pid=9",
      }),
      expect.objectContaining({ frames: ["[generated code]@:0 in [native]"], value: [10, 15e7] }),
    ]);
    expect(decoded.mapping.every((mapping) => mapping.hasFunctions)).toBe(true);
  });

  test("adds up to what was sampled, whatever that is", () => {
    fc.assert(
      fc.property(ticks, (list) => {
        const { sample } = decode(list);
        expect(sum(sample.map(({ value }) => Number(value[0])))).toBe(
          sum(list.map(({ samples }) => samples)),
        );
      }),
      { numRuns: 50 },
    );
  });

  test("is opened by go tool pprof", (context) => {
    if (spawnSync("go", ["version"]).status !== 0)
      context.skip("Debian's golang-go is not installed");
    inFolder((folder) => {
      const path = join(folder, "a.pb.gz");
      writeFileSync(path, pprofFile(profileOf(example())));
      const top = (...args: string[]) =>
        spawnSync("go", ["tool", "pprof", "-top", ...args, path], {
          encoding: "utf8",
          env: { ...process.env, HOME: folder, PPROF_TMPDIR: folder },
        });
      const { stdout, status } = top();
      expect(status).toBe(0);
      expect(stdout).toContain("Type: cpu");
      expect(stdout).toMatch(/^ +2400ms +80\.00% +80\.00% +2400ms +80\.00% +Ledger::Post::entry$/m);
      expect(stdout).toMatch(/^ +0 +0% .* main$/m);
      const perl = top("-sample_index=samples", "-tagfocus=comm=perl");
      expect(perl.stdout).toMatch(/^ +160 .* Ledger::Post::entry$/m);
      expect(perl.stdout).not.toContain("copy_page");
    });
  });
});

describe("speedscope", () => {
  const read = (list: readonly Tick[]): SpeedscopeFile =>
    JSON.parse(speedscopeFile(profileOf(list))) as SpeedscopeFile;

  test("holds all, and each program with its processes together", () => {
    const { profiles, shared } = read(example());
    const names = (stack: readonly number[]): string[] =>
      stack.map((frame) => shared.frames[frame]?.name ?? "");
    expect(profiles.map(({ name, endValue }) => [name, endValue])).toEqual([
      ["all of web-3", 3e9],
      ["perl", 24e8],
      ["app", 6e8],
    ]);
    expect(profiles[0]?.samples.map(names)[0]).toEqual(["perl", "(main)", "Ledger::Post::entry"]);
    expect(profiles[2]?.samples.map(names)).toEqual([
      ["main", "read", "copy_page"],
      ["[generated code]"],
    ]);
    expect(shared.frames[0]).toEqual({ name: "(main)", file: "/srv/ledger.pl", line: 3 });
  });

  test("is as its schema says, whatever was sampled", () => {
    fc.assert(
      fc.property(ticks, (list) => {
        const file = read(list);
        expect(speedscopeErrors(file)).toEqual([]);
        const ns = list.flatMap(({ counts, frequency }) =>
          Array.from(counts.weights, (weight) => (weight * 1e9) / frequency),
        );
        const all = file.profiles[0]?.endValue ?? 0;
        expect(Math.abs(all - sum(ns))).toBeLessThanOrEqual(ns.length + sum(ns) * 1e-9);
      }),
      { numRuns: 50 },
    );
  });
});

describe("the files", () => {
  const write = async (path: string): Promise<void> => {
    const exports = await Exports.open({ pprof: path }, ALL);
    for (const tick of example()) exports.add(tick);
    exports.write();
  };

  test("replace what was there, as a whole", async () => {
    await inFolder(async (folder) => {
      const path = join(folder, "a");
      writeFileSync(path, "old");
      await write(path);
      expect(gunzipSync(readFileSync(path)).length).toBeGreaterThan(100);
      expect(readdirSync(folder)).toEqual(["a"]);
    });
  });

  test("that could not be written are named before anything is sampled", async () => {
    await inFolder(async (folder) => {
      const open = (pprof: string) => Exports.open({ pprof }, ALL);
      await expect(open(join(folder, "x/y"))).rejects.toThrow(`cannot write ${folder}/x/y: ENOENT`);
      await expect(open(folder)).rejects.toThrow("is a directory");
    });
  });

  test("say that the disk is full", async (context) => {
    if (!existsSync("/dev/full")) context.skip("there is no /dev/full here");
    await expect(write("/dev/full")).rejects.toThrow("cannot write /dev/full: the disk is full");
  });
});
