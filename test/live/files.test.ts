/** Files that are not where, or what, they seem to be: moved, replaced, deleted, in a chroot, no ELF. */
import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { ENOUGH, once, Stacks, sampleEnough, withFolder } from "../support/live.ts";
import { needsSampling } from "../support/polytop.ts";
import { during, sampleFolded, sleep, start } from "../support/profile.ts";
import { workload } from "../support/workloads.ts";

const NAMES = ["sixty", "thirty", "ten"];
const BEING_BUILT = "[native: unwind table being built]";

/** A copy of the program with the 60/30/10 split. */
function splitIn(folder: string, name: string): string {
  const path = join(folder, name);
  copyFileSync(workload("split.c"), path);
  return path;
}

/** What happens to a file between the start of the program and the first sample. */
const CHANGES: Readonly<Record<string, (path: string) => void>> = {
  moved: (path) => renameSync(path, `${path}.old`),
  deleted: (path) => rmSync(path),
  "replaced by a rename": (path) => {
    copyFileSync("/bin/true", `${path}.new`);
    renameSync(`${path}.new`, path);
  },
  "written anew in its place": (path) => {
    rmSync(path);
    copyFileSync("/bin/true", path);
  },
  "a FIFO now": (path) => {
    rmSync(path);
    execFileSync("mkfifo", [path]);
  },
  "a link to a device now": (path) => {
    rmSync(path);
    execFileSync("ln", ["-s", "/dev/zero", path]);
  },
};

/** Starts a program for each change, changes the files and samples them all. */
const changed = once(() =>
  withFolder(async (folder) => {
    const paths = Object.keys(CHANGES).map((_, at) => splitIn(folder, `changed-${at}`));
    const programs = paths.map((path) => start(path));
    return during(programs, async (pids) => {
      await sleep(0.1);
      Object.values(CHANGES).forEach((change, at) => {
        change(paths[at] ?? "");
      });
      return sampleEnough(paths, { seconds: 3, frequency: 999, pids });
    });
  }),
);

function expectNamed(stacks: Stacks): void {
  expect(stacks.samples).toBeGreaterThanOrEqual(ENOUGH);
  expect(stacks.complete).toBeGreaterThanOrEqual(0.99);
  const named = stacks.share((frames) => frames.some((frame) => NAMES.includes(frame)));
  expect(named).toBeGreaterThanOrEqual(0.99);
}

describe("the file of a running program", () => {
  test.for(Object.keys(CHANGES))("is %s", { timeout: 60_000 }, async (name, context) => {
    needsSampling(context);
    expectNamed((await changed()).of(`changed-${Object.keys(CHANGES).indexOf(name)}`));
  });

  test("is replaced while it is sampled, and the new one started", async (context) => {
    needsSampling(context);
    await withFolder(async (folder) => {
      const path = splitIn(folder, "replaced");
      const first = start(path);
      await during([first], async () => {
        const sampling = sampleEnough([path], { seconds: 7, delay: 0.5, frequency: 499 });
        // What was met before the change is named by then, however slowly polytop starts.
        await sleep(4);
        copyFileSync(workload("deep.c"), join(folder, "other"));
        renameSync(join(folder, "other"), path);
        const stacks = await during([start(path, ["3"])], () => sampling);
        const ours = stacks.of(path);
        const mixed = ours.all.filter(
          ({ frames }) =>
            frames.some((frame) => NAMES.includes(frame)) &&
            frames.some((frame) => ["descend", "leaf"].includes(frame)),
        );
        expect(mixed).toEqual([]);
        expect(ours.names).toContain("leaf");
        expect(ours.names).toContain("sixty");
        // The new program's table is built while it runs: on a busy machine that takes a moment.
        const known = new Stacks(ours.all.filter(({ frames }) => frames[0] !== BEING_BUILT));
        expect(known.complete).toBeGreaterThanOrEqual(0.98);
      });
    });
  });
});

test("short programs whose files are deleted, renamed and changed in mode behind them", async (context) => {
  needsSampling(context);
  await withFolder(async (folder) => {
    const short = workload("execs.c", {
      as: "short",
      flags: ["-DFUNCTION=in_short", "-DDEPTH=1", "-DROUNDS=100000000"],
    });
    const rounds = ["rm short-1", "mv short-2 other", "chmod 700 short-3", "ln short-4 more"].map(
      (change, at) => `cp ${short} short-${at + 1}; ./short-${at + 1}; ${change}`,
    );
    const script = `while :; do ${rounds.join("; ")}; rm -f short-* other more; done`;
    await during([start("sh", ["-c", script], { cwd: folder })], async () => {
      const all = new Stacks(await sampleFolded({ seconds: 4, frequency: 499 }));
      for (const name of ["short-1", "short-2", "short-3", "short-4"]) {
        const stacks = all.of(name);
        expect(stacks.samples).toBeGreaterThan(0);
        // What the loader does before, and a table that is built, are the rest.
        expect(stacks.share((frames) => frames.includes("in_short"))).toBeGreaterThan(0.8);
      }
    });
  });
});

test("a program in a chroot", async (context) => {
  needsSampling(context);
  await withFolder(async (folder) => {
    const path = splitIn(folder, "split-chroot");
    for (const library of execFileSync("ldd", [path], { encoding: "utf8" }).matchAll(
      /(\/\S+) \(/g,
    )) {
      const copy = join(folder, library[1] ?? "");
      mkdirSync(dirname(copy), { recursive: true });
      copyFileSync(library[1] ?? "", copy);
    }
    const program = start("/usr/sbin/chroot", [folder, "/split-chroot"]);
    const stacks = await during([program], async (pids) => {
      await sleep(0.2);
      return sampleEnough([path], { seconds: 2, frequency: 999, pids });
    });
    expectNamed(stacks);
  });
});

/** Memory of a file that is none, pages of a device that all or one may see, a file of something else. */
const KINDS = ["memfd", "device", "private", "file"];

const generated = once(() =>
  withFolder(async (folder) => {
    const paths = KINDS.map((kind) => workload("generated.c", { as: `code-${kind}` }));
    const programs = paths.map((path, at) => start(path, [KINDS[at] ?? "", join(folder, "code")]));
    return during(programs, (pids) => sampleEnough(paths, { seconds: 2, frequency: 999, pids }));
  }),
);

test.for(KINDS)("code that is no ELF file: %s", async (kind, context) => {
  needsSampling(context);
  const stacks = (await generated()).of(`code-${kind}`);
  expect(stacks.samples).toBeGreaterThanOrEqual(ENOUGH);
  // It says nothing of its frame: its caller is found, and said to be a guess.
  expect(stacks.guessed).toBeGreaterThanOrEqual(0.98);
  // Its own name is not known, and none is made up: it is the frame below its caller.
  const nameless = stacks.share(
    (frames) => frames[frames.indexOf("above_generated") + 1]?.startsWith("[") ?? true,
  );
  expect(nameless).toBeGreaterThanOrEqual(0.98);
});
