/** What is kept of files from one run to the next. */
import { execFileSync } from "node:child_process";
import { chmodSync, copyFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Sampler, SamplerOptions } from "../../src/addon/sampler.ts";
import { EVENTS } from "../../src/tick/events.ts";
import { folderOnDisk } from "../support/live.ts";
import { dist, needsSampling } from "../support/polytop.ts";
import { sleep } from "../support/profile.ts";
import { workload } from "../support/workloads.ts";

test("what was made of a part of a file is there in the next run, until the file changes", async (context) => {
  needsSampling(context);
  const folder = folderOnDisk(context);
  const path = join(folder, "program");
  copyFileSync(workload("split.c"), path);
  chmodSync(path, 0o755);
  const before = join(folder, "before");
  execFileSync("cp", ["-p", path, before]);
  const addon = createRequire(import.meta.url)(`${dist}polytop.node`) as {
    Sampler: new (options: SamplerOptions) => Sampler;
  };
  /** One run, in which the file has an id. */
  const run = async (use: (sampler: Sampler, file: number) => void): Promise<void> => {
    const sampler = new addon.Sampler({
      objectPath: `${dist}polytop.bpf.o`,
      sources: EVENTS.cpu.sources,
      frequency: 99,
      drainSeconds: 1,
      targets: [process.pid],
      cacheFolder: folder,
    });
    try {
      sampler.prepare([path]);
      let id: number | undefined;
      for (let look = 0; look < 100 && id === undefined; look++) {
        id = (await sampler.drain()).files.find((it) => it.path === path)?.id;
        await sleep(0.1);
      }
      use(sampler, id ?? expect.fail("the file was not read"));
    } finally {
      sampler.close();
    }
  };
  const bytes = Buffer.from("what was made of it");
  await run((sampler, file) => {
    expect(sampler.kept(file, 0, "maker")).toHaveLength(0);
    sampler.keep(file, 0, "maker", bytes);
  });
  await run((sampler, file) => {
    expect(sampler.kept(file, 0, "maker")).toEqual(bytes);
    expect(sampler.kept(file, 4096, "maker")).toHaveLength(0);
    expect(sampler.kept(file, 0, "another maker")).toHaveLength(0);
    // Another mode leaves the content alone. What is written does not, whatever time the file is given afterwards.
    chmodSync(path, 0o700);
    expect(sampler.kept(file, 0, "maker")).toEqual(bytes);
    chmodSync(path, 0o755);
    copyFileSync(workload("split.c"), path);
    execFileSync("touch", ["-r", before, path]);
    expect(sampler.kept(file, 0, "maker")).toHaveLength(0);
    sampler.keep(file, 0, "maker", Buffer.from("what it was"));
  });
  await run((sampler, file) => {
    expect(sampler.kept(file, 0, "maker")).toHaveLength(0);
  });
});
