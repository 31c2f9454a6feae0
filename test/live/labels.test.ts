/** Names of code that assemblers and linkers wrote: labels, parts of functions, stubs, and code that nothing tells of. */
import { expect, test } from "vitest";
import { ENOUGH, sampleEnough } from "../support/live.ts";
import { needsSampling } from "../support/polytop.ts";
import { during, start } from "../support/profile.ts";
import { workload } from "../support/workloads.ts";

test("labels, functions of several unwind entries, stubs, and gaps between symbols", async (context) => {
  needsSampling(context);
  const library = workload("labels.c", {
    as: "liblabels.so",
    flags: ["-shared", "-fPIC", "-DLIBRARY"],
  });
  const path = workload("labels.c", {
    as: "labels",
    flags: ["-O2", "-mno-red-zone", library, "-Wl,-z,lazy"],
  });
  const stacks = await during([start(path)], (pids) =>
    sampleEnough([path], { seconds: 2, frequency: 499, pids }),
  );
  expect(stacks.samples).toBeGreaterThanOrEqual(ENOUGH);
  const leaf = (name: string): number => stacks.share((frames) => frames.includes(name));
  expect(leaf("bare")).toBeGreaterThan(0.1);
  expect(leaf("parts")).toBeGreaterThan(0.1);
  expect(leaf("empty@plt")).toBeGreaterThan(0.05);
  // Each is told apart by the symbols around it, and begins where the jump to it goes.
  const gaps = [...stacks.names].filter((name) => /^labels\+0x[0-9a-f]+$/.test(name));
  expect(gaps.length).toBe(2);
  for (const gap of gaps) expect(leaf(gap)).toBeGreaterThan(0.1);
});
