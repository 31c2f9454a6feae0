/** Programs on a file system that another process answers for, or does not answer any more. */
import { execFileSync } from "node:child_process";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { expect, type TestContext, test } from "vitest";
import { atOnce } from "../../src/machine/steps.ts";
import { PerfMaps } from "../../src/runtimes/jit/perf-map.ts";
import { ENOUGH, Stacks, sampleEnough, withFolder } from "../support/live.ts";
import { needsSampling } from "../support/polytop.ts";
import { during, sampleFolded, sampleJson, sleep, start } from "../support/profile.ts";
import { workload } from "../support/workloads.ts";

const NAMES = ["sixty", "thirty", "ten"];

/** A FUSE file system over a folder with copies of the program with the 60/30/10 split. */
async function withMirror(
  context: TestContext,
  names: readonly string[],
  use: (paths: readonly string[], server: number) => Promise<void>,
): Promise<void> {
  needsSampling(context);
  if (!existsSync("/usr/include/fuse3/fuse.h") || !existsSync("/dev/fuse")) {
    return context.skip("needs libfuse3-dev and /dev/fuse");
  }
  const mirror = workload("mirror.c", {
    flags: ["-I/usr/include/fuse3", "-lfuse3"],
  });
  await withFolder(async (folder) => {
    const [files, mount] = [join(folder, "files"), join(folder, "mount")];
    mkdirSync(files);
    mkdirSync(mount);
    for (const name of names) copyFileSync(workload("split.c"), join(files, name));
    const server = start(mirror, [files, mount]);
    try {
      const isMounted = (): boolean => readFileSync("/proc/mounts", "utf8").includes(mount);
      for (let wait = 0; wait < 50 && !isMounted(); wait++) await sleep(0.1);
      await use(
        names.map((name) => join(mount, name)),
        server.pid,
      );
    } finally {
      // Whoever still waits for an answer gets an error once the server is gone.
      await server.stop();
      execFileSync("umount", ["--lazy", mount]);
    }
  });
}

/** What is said of a name in the perf map of a process that has its root there. */
function perfMapBelow(root: string): string | undefined {
  const proc = join(dirname(root), "proc");
  mkdirSync(join(proc, "7"), { recursive: true });
  writeFileSync(join(proc, "7", "status"), "Uid:\t0\t0\nNSpid:\t7\n");
  symlinkSync(root, join(proc, "7", "root"));
  const maps = new PerfMaps({ proc });
  atOnce(maps.reading([7]));
  return maps.find(7, 0x1000n).whyUnnamed;
}

test("a file system that answers: its programs are named", async (context) => {
  await withMirror(context, ["fuse-good"], async ([path = ""]) => {
    const stacks = await during([start(path)], (pids) =>
      sampleEnough([path], { seconds: 6, frequency: 999, pids }),
    );
    const ours = stacks.of(path);
    expect(ours.samples).toBeGreaterThanOrEqual(ENOUGH);
    expect(ours.complete).toBeGreaterThanOrEqual(0.9);
    const named = ours.share((frames) => frames.some((frame) => NAMES.includes(frame)));
    expect(named).toBeGreaterThanOrEqual(0.9);
  });
});

test("a file system that hangs: its programs say so, others are as ever", {
  timeout: 120_000,
}, async (context) => {
  const names = ["fuse-hang-1", "fuse-hang-2"];
  await withMirror(context, names, async (paths, server) => {
    const local = workload("split.c", { as: "fuse-local" });
    const programs = [...paths, local].map((path) => start(path));
    await during(programs, async (pids) => {
      await sleep(0.5);
      process.kill(server, "SIGSTOP");
      try {
        expect(perfMapBelow(dirname(paths[0] ?? ""))).toMatch(/is on fuse.*not waited for/);
        const options = { seconds: 6, frequency: 499, pids };
        const sums = await sampleJson(options);
        expect(sums.snapshots).toHaveLength(6);
        expect(sums.snapshots.at(-1)?.metrics.UnwindNativeErrFileUnreadable).toBeGreaterThan(0);
        const stacks = new Stacks(await sampleFolded(options));
        const ours = stacks.of(local);
        expect(ours.samples).toBeGreaterThanOrEqual(ENOUGH);
        expect(ours.complete).toBeGreaterThanOrEqual(0.9);
        for (const path of paths) {
          const theirs = stacks.of(path);
          expect(theirs.samples).toBeGreaterThanOrEqual(ENOUGH);
          expect(theirs.complete).toBe(0);
          expect([...theirs.names].filter((name) => NAMES.includes(name))).toEqual([]);
        }
      } finally {
        process.kill(server, "SIGCONT");
      }
    });
  });
});

test("a process whose root lies within a mount: its perf map is not touched", async (context) => {
  needsSampling(context);
  const program = workload("split.c", { as: "static-split", flags: ["-static"] });
  await withFolder(async (folder) => {
    // A mount that nobody else sees, and the process sees from below alone.
    const script = [
      `mount -t tmpfs none ${folder}`,
      `mkdir -p ${folder}/below/tmp`,
      `cp ${program} ${folder}/below/split`,
      `exec chroot ${folder}/below /split`,
    ].join(" && ");
    const running = start("unshare", ["--mount", "/bin/sh", "-c", script]);
    try {
      const isThere = (): boolean =>
        readFileSync(`/proc/${running.pid}/comm`, "latin1").startsWith("split");
      for (let wait = 0; wait < 50 && !isThere(); wait++) await sleep(0.1);
      const maps = new PerfMaps();
      atOnce(maps.reading([running.pid]));
      expect(maps.find(running.pid, 0x1000n).whyUnnamed).toMatch(/is on .* not told/);
    } finally {
      await running.stop();
    }
  });
});
