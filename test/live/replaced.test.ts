/** Files whose content changes under what was known of them, and different files that look like one. */
import { execFileSync, spawnSync } from "node:child_process";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  statSync,
  utimesSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { expect, type TestContext, test } from "vitest";
import { ENOUGH, Stacks, sampleEnough, withFolder } from "../support/live.ts";
import { needsSampling } from "../support/polytop.ts";
import { during, sampleFolded, sampleJson, sleep, start } from "../support/profile.ts";
import { plugin, workload } from "../support/workloads.ts";

/** They are the same but for the name. */
const libraries = (): [string, string] => [plugin("in_first"), plugin("in_other")];
const loader = (): string => workload("loader.c", { flags: ["-ldl"] });

/** Writes over a file as `rsync --inplace --times` does, to another content of the same time. */
function overwrite(path: string, content: string): void {
  const { atimeMs, mtimeMs } = statSync(path);
  writeSync(openSync(path, "r+"), readFileSync(content));
  utimesSync(path, atimeMs / 1000, mtimeMs / 1000);
}

test("a library that is overwritten in place has its new names one refresh later", async (context) => {
  needsSampling(context);
  await withFolder(async (folder) => {
    const [first, other] = libraries();
    const path = join(folder, "library.so");
    copyFileSync(first, path);
    await during([start(loader(), [path])], async (pids) => {
      await sleep(0.3);
      const { snapshots } = await sampleJson({
        seconds: 7,
        frequency: 499,
        pids,
        onLine: (line) => {
          if (line === 3) overwrite(path, other);
        },
      });
      const has = (at: number, name: string): boolean =>
        snapshots[at]?.functions.some((row) => row.name === name && row.self > 0) ?? false;
      expect([1, 2].every((at) => has(at, "in_first") && !has(at, "in_other"))).toBe(true);
      // The fourth refresh holds samples from before and after the change.
      expect([5, 6].every((at) => has(at, "in_other") && !has(at, "in_first"))).toBe(true);
    });
  });
});

test("a file in memory that is written anew and loaded again", {
  timeout: 60_000,
}, async (context) => {
  needsSampling(context);
  const program = start(loader(), libraries());
  await during([program], async (pids) => {
    const { snapshots } = await sampleJson({ seconds: 12, delay: 0.5, frequency: 499, pids });
    // Half a second apart, most refreshes hold one library alone: those whose one caller ran in the one before too.
    const callers = snapshots.map(({ functions }) =>
      ["under_first", "under_second"].filter((name) =>
        functions.some((row) => row.name === name && row.total > 0),
      ),
    );
    const settled = snapshots.filter(
      (_, at) => callers[at]?.length === 1 && callers[at - 1]?.join() === callers[at]?.join(),
    );
    expect(settled.length).toBeGreaterThan(3);
    for (const { functions } of settled) {
      const names = new Set(functions.filter(({ total }) => total > 0).map(({ name }) => name));
      expect(names.has("in_first") && names.has("under_second")).toBe(false);
      expect(names.has("in_other") && names.has("under_first")).toBe(false);
    }
  });
});

/** Mounts a new file system of a kind at a folder, for the time of `use`. */
async function withImage(
  context: TestContext,
  kind: string,
  folder: string,
  use: (mount: string) => Promise<void>,
): Promise<void> {
  const [image, mount] = [join(folder, `${kind}.image`), join(folder, kind)];
  mkdirSync(mount);
  execFileSync("truncate", ["-s", "256M", image]);
  const made = spawnSync(`mkfs.${kind}`, ["-q", image]);
  const mounted = made.status === 0 ? spawnSync("mount", ["-o", "loop", image, mount]) : made;
  if (mounted.status !== 0) return context.skip(`needs ${kind}: its mkfs and a loop device`);
  try {
    await use(mount);
  } finally {
    execFileSync("umount", ["--lazy", mount]);
  }
}

test("subvolumes of a btrfs, whose inodes have the same numbers", {
  timeout: 60_000,
}, async (context) => {
  needsSampling(context);
  await withFolder((folder) =>
    withImage(context, "btrfs", folder, async (mount) => {
      const paths = libraries().map((library, at) => {
        const volume = join(mount, `volume-${at}`);
        execFileSync("btrfs", ["subvolume", "create", volume], { stdio: "ignore" });
        copyFileSync(library, join(volume, "library.so"));
        return join(volume, "library.so");
      });
      expect(new Set(paths.map((path) => statSync(path).ino)).size).toBe(1);
      for (const [at, name] of ["in_first", "in_other"].entries()) {
        await during([start(loader(), [paths[at] ?? ""])], async (pids) => {
          const stacks = new Stacks(await sampleFolded({ seconds: 2, frequency: 999, pids }));
          expect(stacks.share((frames) => frames.includes(name))).toBeGreaterThan(0.9);
        });
      }
    }),
  );
});

test("a program in layers of different file systems", { timeout: 60_000 }, async (context) => {
  needsSampling(context);
  if (
    !existsSync("/sys/module/overlay") &&
    !/\boverlay\b/.test(readFileSync("/proc/filesystems", "utf8"))
  )
    return context.skip("needs overlayfs");
  await withFolder((folder) =>
    withImage(context, "ext4", folder, async (lower) => {
      const [upper, top] = [join(folder, "upper"), join(folder, "top")];
      for (const path of [upper, top]) mkdirSync(path);
      copyFileSync(workload("split.c"), join(lower, "split-layers"));
      execFileSync("mount", ["-t", "tmpfs", "tmpfs", upper]);
      for (const path of ["files", "work"]) mkdirSync(join(upper, path));
      const layers = `lowerdir=${lower},upperdir=${upper}/files,workdir=${upper}/work`;
      execFileSync("mount", ["-t", "overlay", "overlay", "-o", layers, top]);
      try {
        const path = join(top, "split-layers");
        await during([start(path)], async (pids) => {
          const stacks = await sampleEnough([path], { seconds: 2, frequency: 999, pids });
          expect(stacks.of(path).samples).toBeGreaterThanOrEqual(ENOUGH);
          expect(stacks.of(path).complete).toBeGreaterThanOrEqual(0.9);
        });
      } finally {
        for (const path of [top, upper]) execFileSync("umount", ["--lazy", path]);
      }
    }),
  );
});
