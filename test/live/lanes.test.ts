/** In what order files are read: none waits for one that takes long, unless it takes as long. */
import { copyFileSync, symlinkSync, truncateSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import type { Sampler, SamplerOptions } from "../../src/addon/sampler.ts";
import { EVENTS } from "../../src/tick/events.ts";
import { BUILD_MILLISECONDS, buildTools, tool } from "../native/tools.ts";
import { folderOnDisk } from "../support/live.ts";
import { dist, needsSampling } from "../support/polytop.ts";
import { sleep } from "../support/profile.ts";
import { workload } from "../support/workloads.ts";

/** Sizes of files that slow_parser reads slowly: of a small one in 0.6 s, of a large one in 6 s. */
const SMALL = 1_077_777;
const LARGE = 30_077_777;

beforeAll(buildTools, BUILD_MILLISECONDS);

test("a small file that takes long is read late, and does not wait for a large one", async (context) => {
  needsSampling(context);
  const folder = folderOnDisk(context);
  // An addon finds its programs beside itself, so this one is a copy.
  const programs = folderOnDisk(context);
  copyFileSync(`${dist}polytop.node`, join(programs, "polytop.node"));
  symlinkSync(`${dist}polytop-reader`, join(programs, "polytop-reader"));
  copyFileSync(tool("slow_parser"), join(programs, "polytop-parser"));
  const made = (name: string, size: number): string => {
    const path = join(folder, name);
    copyFileSync(workload("split.c"), path);
    truncateSync(path, size);
    return path;
  };
  const [large, small, quick] = [
    made("large", LARGE),
    made("small", SMALL),
    made("quick", 1_000_000),
  ];
  const addon = createRequire(import.meta.url)(join(programs, "polytop.node")) as {
    Sampler: new (options: SamplerOptions) => Sampler;
  };
  const sampler = new addon.Sampler({
    objectPath: `${dist}polytop.bpf.o`,
    sources: EVENTS.cpu.sources,
    frequency: 99,
    drainSeconds: 1,
    targets: [process.pid],
  });
  /** Those of the three that were read since the last call, with the reason where that failed. */
  const read = async (): Promise<string[]> =>
    (await sampler.drain()).files
      .filter(({ path }) => path.startsWith(folder))
      .map(({ path, why }) => `${path}${why}`);
  try {
    sampler.prepare([large, small, quick]);
    const order: string[] = [];
    for (let look = 0; look < 600 && order.length < 3; look++) {
      order.push(...(await read()).toSorted());
      await sleep(0.1);
    }
    expect(order.toSorted()).toEqual([large, quick, small]);
    expect(order.at(-1)).toBe(large);
  } finally {
    sampler.close();
  }
});
