/** Processes whose first thread has ended: /proc tells nothing of them by their own number. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { ENOUGH, sampleEnough } from "../support/live.ts";
import { needsSampling } from "../support/polytop.ts";
import { during, sleep, start } from "../support/profile.ts";
import { workload } from "../support/workloads.ts";

/** Hides /tmp and the program in a mount namespace, where nobody finds them by a path of ours. */
const HIDDEN = `mount -t tmpfs none /tmp && cp "$0" /tmp/ended-hidden && exec /tmp/ended-hidden`;

test("native and generated code, in mounts of its own", async (context) => {
  needsSampling(context);
  const path = workload("ended.c");
  const program = start("unshare", ["--mount", "/bin/sh", "-c", HIDDEN, path]);
  await during([program], async (pids) => {
    await sleep(1);
    expect(readFileSync(`/proc/${program.pid}/maps`, "latin1")).toBe("");
    const stacks = await sampleEnough(["ended-hidden"], { seconds: 2, frequency: 499, pids });
    const ours = stacks.of("ended-hidden");
    expect(ours.samples).toBeGreaterThanOrEqual(ENOUGH);
    const has = (name: string) => (frames: readonly string[]) => frames.includes(name);
    expect(ours.share(has("go_on"))).toBeGreaterThan(0.95);
    expect(ours.share(has("grind")) + ours.share(has("squeeze"))).toBeGreaterThan(0.95);
    expect(ours.share(has("squeeze"))).toBeGreaterThan(0.1);
  });
});
